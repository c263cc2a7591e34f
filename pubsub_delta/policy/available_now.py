"""The end of a query with the trigger ``availableNow``: after all messages that were available."""

from __future__ import annotations

from pubsub_delta.policy.ack_state import AckState, State, union
from pubsub_delta.policy.positions import Positions


class AvailableNow:
    """Ends a query when each message that was available at its start was in a micro-batch.

    It ends once the last micro-batch is acknowledged, too. Messages that come later, are leased by
    others or back off are left for the next query.

    Args:
        end: the end of the positions at the start.
    """

    def __init__(self, end: int) -> None:
        self.is_finishing = False
        self.is_over = False
        self.end = end
        self._offered = Positions()

    def note(self, leased: Positions | None, state: AckState, *, again: bool) -> None:
        """Record the messages of a micro-batch, and the ack state after it.

        ``again``: whether the micro-batch is repeated, and had messages before.
        """
        if leased is None:
            self.is_over = not again
            return
        new = leased - self._offered
        self._offered |= leased
        left = union(state.in_state(State.AVAILABLE)) - self._offered
        self.is_finishing = not new or not left or left.min >= self.end
