"""Update masks: the fields that an update changes, and the parts of a field."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from google.protobuf.descriptor import Descriptor
from google.protobuf.field_mask_pb2 import FieldMask

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.server import wire
from pubsub_delta.server.rest.payload import is_repeated

_LABEL = re.compile(r"labels\.(?:([^.`]+)|`((?:[^`]|``)+)`)", re.DOTALL)


def label_path(key: str) -> str:
    """Return the path of one label; AIP-161: "labels.key", in backticks if it is no plain word.

    >>> label_path("env"), label_path("a.b"), label_path("c`d")
    ('labels.env', 'labels.`a.b`', 'labels.`c``d`')
    """
    return f"labels.{key}" if re.fullmatch("[A-Za-z0-9_]+", key) else f"labels.`{_doubled(key)}`"


def changed_fields(resource: Any, mask: Any, present: Any, known: Iterable[str]) -> wire.Fields:
    """Return the new values of the fields that an update mask names.

    A path may lead into a field, as in ``dead_letter_policy.max_delivery_attempts``; its other
    subfields keep their values in ``present``. So do the other labels, if it names one.
    """
    if not mask.paths:
        raise InvalidArgument(
            "update_mask: it names no field; the names of the fields that change are accepted"
        )
    keys = {path: _key_of(path) for path in mask.paths}
    paths = [path for path, key in keys.items() if key is None]
    for path in paths:
        _check_path(resource.DESCRIPTOR, path, known)
    named = dict.fromkeys(path.split(".")[0] for path in mask.paths)
    chosen = type(resource)()
    for name in named:
        if name in {each.name for each, _ in resource.ListFields()}:
            FieldMask(paths=[name]).MergeMessage(resource, chosen, True, True)
    wire.refuse_unknown(chosen, {"name", "topic", *known})
    merged = type(present)()
    merged.CopyFrom(present)
    _replace_labels(merged.labels, resource.labels, [key for key in keys.values() if key])
    FieldMask(paths=paths).MergeMessage(_with_parents(resource, merged, paths), merged, True, True)
    unknown = dict.fromkeys(name for name in named if name not in known)
    return {**unknown, **wire.read_fields(merged, (name for name in named if name in known))}


def _with_parents(resource: Any, present: Any, paths: Iterable[str]) -> Any:
    """Return a resource that has each message whose subfield a path names, if ``present`` has it.

    ``MergeMessage`` passes over the others, and would clear no subfield of them.
    """
    made = type(resource)()
    made.CopyFrom(resource)
    for path in paths:
        inside, stored = made, present
        for part in path.split(".")[:-1]:
            if not stored.HasField(part):
                break
            inside, stored = getattr(inside, part), getattr(stored, part)
            inside.SetInParent()
    return made


def _check_path(of: Descriptor, path: str, known: Iterable[str]) -> None:
    """Raise InvalidArgument unless a path leads to a field, or to a subfield of one."""
    first, *inner = path.split(".")
    field = of.fields_by_name.get(first)
    if field is None:
        raise InvalidArgument(
            f"update_mask: {path!r} is not a field of {of.name}; {', '.join(sorted(known))} are "
            "accepted"
        )
    for part in inner:
        within = None if is_repeated(field) else field.message_type
        if within is None:
            raise InvalidArgument(
                f"update_mask: {path!r}: {field.name} is a field without subfields; names of "
                "fields are accepted"
            )
        field = within.fields_by_name.get(part)
        if field is None:
            raise InvalidArgument(
                f"update_mask: {path!r}: {part!r} is not a field of {within.name}; "
                f"{', '.join(sorted(within.fields_by_name))} are accepted"
            )


def _key_of(path: str) -> str | None:
    """Return the key of the label that a path names; None if it names no label."""
    found = _LABEL.fullmatch(path)
    if found is None:
        return None
    plain, quoted = found.groups()
    return plain if plain is not None else quoted.replace("``", "`")


def _doubled(key: str) -> str:
    return key.replace("`", "``")


def _replace_labels(labels: Any, given: Mapping[str, str], keys: Iterable[str]) -> None:
    """Replace labels by those that are given; a key that is not given is removed."""
    for key in keys:
        if key in given:
            labels[key] = given[key]
        else:
            labels.pop(key, None)
