"""What was pulled by hand and is not answered yet: it stays on its page until it is."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime

from pubsub_delta.operations.find import FoundMessage

KEPT = 20
"""So many pulled batches are remembered, the last ones."""


@dataclass(frozen=True)
class HeldMessage:
    """A message under a lease of this console."""

    ack_id: str
    message: FoundMessage


@dataclass(frozen=True)
class HeldBatch:
    """What one pull has leased and is not answered yet, and until when the lease lasts."""

    id: str
    subscription: str
    messages: tuple[HeldMessage, ...]
    until: datetime | None

    def without(self, ack_ids: Collection[str]) -> HeldBatch:
        """Return what is left when some are answered."""
        left = tuple(each for each in self.messages if each.ack_id not in ack_ids)
        return replace(self, messages=left)


class HeldBatches:
    """The batches that were pulled last, by an id that stands in the address of their page."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[str, HeldBatch] = OrderedDict()

    def add(
        self, subscription: str, messages: Collection[HeldMessage], until: datetime | None
    ) -> HeldBatch:
        """Remember what was pulled."""
        batch = HeldBatch(secrets.token_urlsafe(12), subscription, tuple(messages), until)
        self.change(batch)
        return batch

    def change(self, batch: HeldBatch) -> None:
        """Remember a batch as it is now."""
        with self._lock:
            self._known[batch.id] = batch
            self._known.move_to_end(batch.id)
            while len(self._known) > KEPT:
                self._known.popitem(last=False)

    def find(self, id_: str, subscription: str) -> HeldBatch | None:
        """Return a batch of a subscription, None where it is not known any more."""
        with self._lock:
            found = self._known.get(id_)
        return found if found is not None and found.subscription == subscription else None
