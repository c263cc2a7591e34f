"""The batches that were pulled in the console and are not yet acknowledged."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime

from pubsub_delta.operations.find import FoundMessage

MAX_KEPT = 20
"""The number of batches that are kept; the oldest are dropped."""


@dataclass(frozen=True)
class LeasedMessage:
    """A message under a lease of this console."""

    ack_id: str
    message: FoundMessage


@dataclass(frozen=True)
class LeasedBatch:
    """The leased messages of one pull. ``until``: the ack deadline; None without messages."""

    id: str
    subscription: str
    messages: tuple[LeasedMessage, ...]
    until: datetime | None

    def without(self, ack_ids: Collection[str]) -> LeasedBatch:
        """Return the batch without some messages."""
        left = tuple(each for each in self.messages if each.ack_id not in ack_ids)
        return replace(self, messages=left)


class LeasedBatches:
    """The last batches, by the ID in the address of their page."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._batches: OrderedDict[str, LeasedBatch] = OrderedDict()

    def add(
        self, subscription: str, messages: Collection[LeasedMessage], until: datetime | None
    ) -> LeasedBatch:
        """Add a batch."""
        batch = LeasedBatch(secrets.token_urlsafe(12), subscription, tuple(messages), until)
        self.change(batch)
        return batch

    def change(self, batch: LeasedBatch) -> None:
        """Replace a batch."""
        with self._lock:
            self._batches[batch.id] = batch
            self._batches.move_to_end(batch.id)
            while len(self._batches) > MAX_KEPT:
                self._batches.popitem(last=False)

    def find(self, id_: str, subscription: str) -> LeasedBatch | None:
        """Return a batch of a subscription; None if it is not kept."""
        with self._lock:
            found = self._batches.get(id_)
        return found if found is not None and found.subscription == subscription else None
