"""Which messages of a topic share an ordering key, or come later in one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pubsub_delta.policy.ack_state import Span
from pubsub_delta.policy.positions import Positions

if TYPE_CHECKING:
    from pubsub_delta.tables.messages.messages import Messages


class OrderingKeys:
    """Knows the ordering keys of a topic's messages: policy's ``Keys``, answered by the table."""

    def __init__(self, messages: Messages) -> None:
        self._messages = messages

    def sharing(self, of: Sequence[Span], among: Sequence[Span]) -> Positions:
        """Return the messages of ``among`` whose key is that of a message of ``of``."""
        scans, first, second = self._messages.keys(of, among)
        return scans.sharing(self._messages.table, first, second)

    def followers(self, of: Sequence[Span], among: Sequence[Span]) -> Positions:
        """Return the messages of ``among`` that come later than one of ``of`` of the same key."""
        scans, first, second = self._messages.keys(of, among)
        return scans.followers(self._messages.table, first, second)
