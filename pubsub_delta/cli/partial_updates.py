"""Updates by options that leave a part of a field as it is stored.

``--update-labels`` leaves the other labels, ``--max-delivery-attempts`` the dead-letter topic. So
the new value of the field depends on the stored one. If somebody changes the resource in between,
or creates it again, the value is found anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import click

from pubsub_delta.cli.application import App
from pubsub_delta.cli.arguments import changed_labels, mutually_exclusive
from pubsub_delta.cli.service import Service
from pubsub_delta.errors import Aborted
from pubsub_delta.resources import Snapshot, Subscription, Topic

R = TypeVar("R", Topic, Subscription, Snapshot)

_ATTEMPTS = 20


@dataclass(frozen=True)
class Part(Generic[R]):
    """The new value of a field that depends on the stored resource.

    ``subfields``: what changes within the field; for labels their keys.
    """

    value: Callable[[R], Any]
    subfields: Iterable[str]


def update(
    app: App,
    fields: Mapping[str, Any],
    parts: Mapping[str, Part[R]],
    read: Callable[[Service], R],
    write: Callable[[Service, Mapping[str, Any]], R],
) -> R:
    """Change fields of a resource, and parts of other fields; UsageError if there are none.

    A store writes only over the resource that was read; Aborted after ``_ATTEMPTS`` changes by
    others. A server is told the parts by its update mask, and does the same.

    Args:
        app: the context of the command.
        fields: the fields that are replaced as a whole.
        parts: what changes within other fields, by field.
        read: returns the stored resource.
        write: updates the resource with the arguments of ``update_topic`` and its like.
    """
    if not fields and not parts:
        raise click.UsageError("nothing to update; at least one option is needed")
    if not parts:
        return app.call(lambda service: write(service, fields))
    on_server = app.settings.endpoint is not None

    def once(service: Service) -> R:
        stored = read(service)
        given = {**fields, **{name: part.value(stored) for name, part in parts.items()}}
        how = {"update_mask": _mask(fields, parts)} if on_server else {"if_unchanged": stored}
        return write(service, {**given, **how})

    for _ in range(0 if on_server else _ATTEMPTS - 1):
        try:
            return app.call(once)
        except Aborted:
            continue
    return app.call(once)


def label_changes(
    update: Mapping[str, str], remove: Sequence[str], *, clear: bool
) -> tuple[dict[str, Any], dict[str, Part[Any]]]:
    """Return the fields and the parts that the options of labels change; see ``update``."""
    mutually_exclusive(clear_labels=clear, remove_labels=remove)
    if clear:  # nothing of the stored labels is left
        return {"labels": changed_labels({}, update, remove, clear=True)}, {}
    if not update and not remove:
        return {}, {}

    def value(stored: Topic | Subscription | Snapshot) -> dict[str, str]:
        return changed_labels(stored.labels, update, remove, clear=False)

    return {}, {"labels": Part(value, [*update, *remove])}


def _mask(fields: Mapping[str, Any], parts: Mapping[str, Part[Any]]) -> list[str]:
    # Imported here: it needs the extra ``server``.
    from pubsub_delta.server.update_masks import label_path

    return [
        *fields,
        *(
            label_path(each) if name == "labels" else f"{name}.{each}"
            for name, part in parts.items()
            for each in part.subfields
        ),
    ]
