"""``add-iam-policy-binding``: stores a binding on a server; a store itself needs none."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import click

from pubsub_delta.cli.application import App
from pubsub_delta.cli.arguments import ResourceType
from pubsub_delta.cli.commands import Command
from pubsub_delta.cli.service import Service
from pubsub_delta.errors import Unimplemented


def binding_command(
    kind: str,
    forwarding: str,
    full_name: Callable[[App, str], str],
    get: Callable[[Service, str], Any],
) -> click.Command:
    """Return the command for a kind of resource; ``forwarding`` is the role that it accepts.

    A store has no access control: storage or catalog decide who may read and write. So the command
    accepts the role for forwarding without a change, and refuses other roles. With --endpoint the
    server stores the binding, and enforces it if it has a policy file.
    """

    @click.pass_obj
    def add(app: App, name: str, member: str, role: str) -> None:
        found = full_name(app, name)
        if app.settings.endpoint is not None:
            app.call(partial(_add_on_server, resource=found, member=member, role=role))
            app.print_status(f"Updated IAM policy for {kind} [{found}].")
            return
        if role != forwarding:
            raise Unimplemented(
                f"role: {role!r}: the storage or the catalog decides who can read and write a "
                f"store; only {forwarding} is accepted, which Google needs to forward dead "
                "letters, and it changes nothing here"
            )
        app.call(lambda store: get(store, found))
        app.print_status(
            f"Nothing needs to be done for {kind} [{found}]: whoever can write the store's "
            f"tables can forward messages. No permission was changed for [{member}]."
        )

    return Command(
        "add-iam-policy-binding",
        callback=add,
        examples=[
            f"{kind}s add-iam-policy-binding {'failed' if kind == 'topic' else 'delays'} "
            f"--member=serviceAccount:ID --role={forwarding}"
        ],
        help="Give a role to a member on a server; a store without a server needs no roles.",
        params=[
            click.Argument(["name"], metavar=kind.upper(), type=ResourceType(f"{kind}s")),
            click.Option(["--member"], required=True, help="The member that gets the role."),
            click.Option(
                ["--role"], required=True, help=f"{forwarding}; with --endpoint any role."
            ),
        ],
    )


def _add_on_server(service: Service, *, resource: str, member: str, role: str) -> None:
    # Imported here: it needs the extra ``server``.
    from pubsub_delta.cli.endpoint.client import EndpointClient
    from pubsub_delta.cli.endpoint.policies import add_binding

    assert isinstance(service, EndpointClient)
    add_binding(service, resource, member, role)
