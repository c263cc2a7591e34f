"""The outcomes of the ack ids of one request to a server."""

from __future__ import annotations

from collections.abc import Callable

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.server.ack_failures import INVALID_ACK_ID


class AckFuture:
    """The failed ack ids of one request, and why, once all of them are settled.

    ``malformed``: texts that are not ack ids. ``foreign``: ids of another subscription.
    """

    def __init__(self) -> None:
        self.malformed: list[str] = []
        self.foreign: list[str] = []
        self.failures: dict[str, str] = {}
        self._awaited = 0
        self._callbacks: list[Callable[[], object]] = []

    @property
    def done(self) -> bool:
        """Whether every id is written, or has failed."""
        return not self._awaited

    def add_done_callback(self, callback: Callable[[], object]) -> None:
        """Call a function when every id is settled, or at once if they are."""
        if self.done:
            callback()
        else:
            self._callbacks.append(callback)

    def fail(self, ack_id: str, reason: str = INVALID_ACK_ID) -> None:
        """Record the failure of an id."""
        self.failures[ack_id] = reason

    def check(self, subscription: str) -> None:
        """Raise InvalidArgument for malformed ids and ids of another subscription.

        All others were accepted. With exactly-once delivery each id has its own outcome instead.
        """
        if self.malformed:
            raise InvalidArgument(
                f"ack_ids: {self.malformed[0]!r} is not an ack id; "
                "the ack_id of a message that was delivered is accepted"
            )
        if self.foreign:
            raise InvalidArgument(
                f"ack_ids: {self.foreign[0]!r} is of another subscription, or of one that was "
                f"deleted; those that {subscription} has delivered are accepted"
            )

    def expect(self) -> None:
        """Wait for the outcome of one more id."""
        self._awaited += 1

    def settle(self) -> None:
        """Count one outcome that has come."""
        self._awaited -= 1
        if not self._awaited:
            callbacks, self._callbacks = self._callbacks, []
            for callback in callbacks:
                callback()
