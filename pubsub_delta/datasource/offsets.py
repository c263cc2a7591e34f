"""The offsets of a stream over a subscription, which Spark writes into its checkpoint.

An offset names the micro-batch that ends there: the id of the reader, which a query generates at
its first messages, and the number of the batch. The subscription stores the lease under that name,
so a repeated batch has the same messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pubsub_delta.errors import FailedPrecondition

_FORMAT = 1


@dataclass(frozen=True)
class Offset:
    """The end of a micro-batch; batch -1 of no reader is before the first one.

    ``subscription``: its uid; a subscription that was created again under the name has another.

    >>> Offset("0" * 32, "reader", 3).following("other")
    Offset(subscription='00000000000000000000000000000000', reader='reader', batch=4)
    """

    subscription: str
    reader: str = ""
    batch: int = -1

    def following(self, reader: str) -> Offset:
        """Return the next micro-batch, of ``reader`` if this offset has no reader yet."""
        return Offset(self.subscription, self.reader or reader, self.batch + 1)

    def as_json(self) -> dict[str, Any]:
        """Return the JSON text of the checkpoint."""
        return {
            "format": _FORMAT,
            "subscription": self.subscription,
            "reader": self.reader,
            "batch": self.batch,
        }


def read_offset(kept: Mapping[str, Any]) -> Offset:
    """Parse the JSON text of a checkpoint; FailedPrecondition if it is not such an offset."""
    try:
        if kept["format"] != _FORMAT:
            raise KeyError("format")
        return Offset(str(kept["subscription"]), str(kept["reader"]), int(kept["batch"]))
    except (KeyError, TypeError, ValueError):
        raise FailedPrecondition(
            f"checkpoint: {kept!r} is not an offset of format('pubsub_delta') that this version "
            "reads; use a checkpoint of such a query, or a new one"
        ) from None
