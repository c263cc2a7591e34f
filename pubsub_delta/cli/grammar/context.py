"""What a filter or a projection needs besides the record: the time, the zone, options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Any

from pubsub_delta.clock import FIRST_TIME

SERVICE = "https://pubsub.googleapis.com/v1/"
"""What stands before a full name in the URI of a resource, as gcloud prints it."""


def uri_of(record: Any) -> str | None:
    """Return the URI of a resource, or None of what has no full name.

    >>> uri_of({"name": "projects/p/topics/t"})
    'https://pubsub.googleapis.com/v1/projects/p/topics/t'
    """
    name = record.get("name") if isinstance(record, Mapping) else record
    known = isinstance(name, str) and name.startswith("projects/")
    return f"{SERVICE}{name}" if known else None


@dataclass(frozen=True)
class Context:
    """What filters and transforms are told besides the record.

    Args:
        now: what durations are up to, and relative times are relative to.
        zone: the time zone of times that name none; None is that of this machine.
        options: those of the command, by name: ``ackId.if(NOT auto_ack)``.
    """

    now: datetime = FIRST_TIME
    zone: tzinfo | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
