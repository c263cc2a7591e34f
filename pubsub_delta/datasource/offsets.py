"""Where a stream over a subscription stands: what Spark writes into its checkpoint.

An offset names the micro-batch that ends there: the reader, which is made up when a query takes its
first messages and goes from offset to offset, and the number of the batch. The subscription
stores what it leased to that name. So a batch that is run again finds the same messages.
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

    ``subscription``: the uid. One of the same name that was created anew has another.

    >>> Offset("0" * 32, "reader", 3).following("other")
    Offset(subscription='00000000000000000000000000000000', reader='reader', batch=4)
    """

    subscription: str
    reader: str = ""
    batch: int = -1

    def following(self, reader: str, batch: int | None = None) -> Offset:
        """Return the next micro-batch, of this reader, or of the given one if there is none yet."""
        number = self.batch + 1 if batch is None else batch
        return Offset(self.subscription, self.reader or reader, number)

    def as_json(self) -> dict[str, Any]:
        """Return what Spark keeps."""
        return {
            "format": _FORMAT,
            "subscription": self.subscription,
            "reader": self.reader,
            "batch": self.batch,
        }


def read_offset(kept: Mapping[str, Any]) -> Offset:
    """Read what Spark kept; FailedPrecondition where it is of something else."""
    try:
        if kept["format"] != _FORMAT:
            raise KeyError("format")
        return Offset(str(kept["subscription"]), str(kept["reader"]), int(kept["batch"]))
    except (KeyError, TypeError, ValueError):
        raise FailedPrecondition(
            f"checkpoint: {kept!r} is not an offset of format('pubsub_delta') that this version "
            "reads; a checkpoint of such a query is accepted, or a new one"
        ) from None
