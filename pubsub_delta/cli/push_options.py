"""Options of push subscriptions."""

from __future__ import annotations

from typing import Any

import click

from pubsub_delta.cli.arguments import Switch
from pubsub_delta.jobs.option_groups import options
from pubsub_delta.resources import NoWrapper, OidcToken, PushConfig

push_options = options(
    click.option(
        "--push-endpoint",
        metavar="URL",
        help="The URL to which a running server pushes messages; empty for pull.",
    ),
    click.option(
        "--push-auth-service-account",
        metavar="EMAIL",
        help="The account in the token that push requests carry.",
    ),
    click.option(
        "--push-auth-token-audience",
        metavar="AUDIENCE",
        help="The audience of the token. Default: the endpoint.",
    ),
    click.option(
        "--push-no-wrapper", cls=Switch, help="Push the bare data, without JSON around it."
    ),
    click.option(
        "--push-no-wrapper-write-metadata",
        cls=Switch,
        help="With --push-no-wrapper: send id, time, key and attributes as headers.",
    ),
)
"""The options of push delivery."""


def push_fields(given: dict[str, Any]) -> dict[str, Any]:
    """Return the push config that the options give; an empty endpoint clears it."""
    endpoint, bare = given["push_endpoint"], given["push_no_wrapper"]
    metadata = given["push_no_wrapper_write_metadata"]
    if metadata and not bare:
        raise click.UsageError("--push-no-wrapper-write-metadata needs --push-no-wrapper")
    if bare and not endpoint:
        raise click.UsageError("--push-no-wrapper needs --push-endpoint")
    account, audience = given["push_auth_service_account"], given["push_auth_token_audience"]
    if audience and not account:
        raise click.UsageError("--push-auth-token-audience needs --push-auth-service-account")
    if account and not endpoint:
        raise click.UsageError("--push-auth-service-account needs --push-endpoint")
    if not endpoint:
        return {} if endpoint is None else {"push_config": None}
    wrapper = NoWrapper(write_metadata=bool(metadata)) if bare else None
    token = OidcToken(account, audience or "") if account else None
    return {"push_config": PushConfig(endpoint, no_wrapper=wrapper, oidc_token=token)}
