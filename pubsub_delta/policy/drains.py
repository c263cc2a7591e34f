"""How far a query has come with what was available when it began."""

from __future__ import annotations

from pubsub_delta.policy.ack_state import AckState, State, union
from pubsub_delta.policy.positions import Positions


class Drain:
    """Ends a query when it was offered each message that was available when it began.

    It is over when the last micro-batch is acknowledged, too. Messages that come later, or are held
    by others or waiting, are left for the next time.

    Args:
        end: where the positions end of what is there; None: of what the first micro-batch finds.
    """

    def __init__(self, end: int | None = None) -> None:
        self.is_finishing = False
        self.is_over = False
        self.end = end
        self._offered = Positions()

    def note(self, leased: Positions | None, state: AckState, *, again: bool) -> None:
        """Take note of what a micro-batch was given, and of the ack state that is left.

        ``again``: it was given messages before, of which some may be left while others wait.
        """
        if self.end is None:
            self.end = state.absorbed_below
        if leased is None:
            self.is_over = not again
            return
        new = leased - self._offered
        self._offered |= leased
        left = union(state.in_state(State.AVAILABLE)) - self._offered
        self.is_finishing = not new or not left or left.min >= self.end
