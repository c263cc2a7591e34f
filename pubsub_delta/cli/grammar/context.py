"""The context of filters and projections: the time, the zone, and options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Any

from pubsub_delta.clock import FIRST_TIME

SERVICE = "https://pubsub.googleapis.com/v1/"
"""The prefix of a full name in a URI, as gcloud prints it."""


def uri_of(record: Any) -> str | None:
    """Return the URI of a resource; None without a full name.

    >>> uri_of({"name": "projects/p/topics/t"})
    'https://pubsub.googleapis.com/v1/projects/p/topics/t'
    """
    name = record.get("name") if isinstance(record, Mapping) else record
    known = isinstance(name, str) and name.startswith("projects/")
    return f"{SERVICE}{name}" if known else None


@dataclass(frozen=True)
class Context:
    """The context of filters and transforms.

    Args:
        now: the time that relative times and durations refer to.
        zone: the time zone of times without one; None is that of this machine.
        options: the options of the command, for ``ackId.if(NOT auto_ack)``.
    """

    now: datetime = FIRST_TIME
    zone: tzinfo | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
