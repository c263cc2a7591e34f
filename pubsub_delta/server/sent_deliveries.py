"""The deliveries that consumers have, by ack id, and until when they have them."""

from __future__ import annotations

import heapq
from datetime import datetime

from pubsub_delta.server.assigner import Delivery

_DEADLINES_THAT_NO_LONGER_COUNT = 1_000
"""The least number of deadlines to keep, besides one for each message: a client can move a deadline
for ever.
"""


class SentDeliveries:
    """Deliveries by their ack id, and the order in which their deadlines pass."""

    def __init__(self) -> None:
        self._by_ack_id: dict[str, Delivery] = {}
        self._deadlines: list[tuple[datetime, str]] = []  # also some that no longer count

    def get(self, ack_id: str) -> Delivery | None:
        """Return the delivery of an ack id, if a consumer has it."""
        return self._by_ack_id.get(ack_id)

    def set_deadline(self, delivery: Delivery, deadline: datetime) -> None:
        """Note that a consumer has a delivery until then."""
        delivery.deadline = deadline
        self._by_ack_id[delivery.received.ack_id] = delivery
        heapq.heappush(self._deadlines, (deadline, delivery.received.ack_id))
        if len(self._deadlines) > 2 * len(self._by_ack_id) + _DEADLINES_THAT_NO_LONGER_COUNT:
            given = self._by_ack_id.items()
            self._deadlines = [(d.deadline, of) for of, d in given if d.deadline is not None]
            heapq.heapify(self._deadlines)

    def remove(self, delivery: Delivery) -> None:
        """Forget a delivery, which was answered."""
        self._by_ack_id.pop(delivery.received.ack_id, None)

    def take_expired(self, now: datetime) -> list[Delivery]:
        """Remove the deliveries whose deadline has passed, and return them."""
        expired = []
        while self._deadlines and self._deadlines[0][0] <= now:
            at, ack_id = heapq.heappop(self._deadlines)
            delivery = self._by_ack_id.get(ack_id)
            if delivery is not None and delivery.deadline == at:
                expired.append(self._by_ack_id.pop(ack_id))
        return expired

    def clear(self) -> None:
        """Forget all of them."""
        self._by_ack_id.clear()
        self._deadlines.clear()
