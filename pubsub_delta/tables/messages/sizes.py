"""The bytes of messages: read if that is quick, else estimated by a sample."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cached_property

from pubsub_delta.metrics import Measured
from pubsub_delta.policy.ack_state import Span, State
from pubsub_delta.policy.sampling import spread
from pubsub_delta.tables.messages.commits import Commit
from pubsub_delta.tables.messages.stored import StoredMessages

QUICK_FILE_BYTES = 32 * 1024 * 1024
QUICK_MESSAGES = 100_000
"""A topic whose files are no larger, with no more messages, is read rather than estimated."""
SAMPLED_COMMITS = 500
"""The last commits of a topic among which publishes are chosen."""
SAMPLED_PUBLISHES = 5
SAMPLED_MESSAGES = 400
"""The messages that are read of each of these publishes."""


class Sizes:
    """The sizes of the messages of one topic at one moment, each measured once."""

    def __init__(self, messages: StoredMessages, *, exact: bool = False) -> None:
        self._messages = messages
        self._exact = exact

    @property
    def count(self) -> int:
        """How many messages are stored."""
        return self._counted[0]

    @cached_property
    def _counted(self) -> tuple[int, datetime | None]:
        return self._messages.count()

    @cached_property
    def stored(self) -> Measured:
        """The bytes of all stored messages."""
        if self.count == 0:
            return Measured(0)
        if self._exact or self._is_quick:
            return Measured(self._messages.byte_count())
        mean = self._sampled_mean()
        if mean is None:
            return Measured(self._messages.byte_count())
        return Measured(round(mean * self.count), is_estimate=True)

    def of(self, spans: Sequence[Span], *, read_if_quick: bool) -> Measured:
        """Return the bytes of the messages of spans.

        An estimate is their number by the mean of all messages of the topic. ``read_if_quick``:
        read a small topic for it; else only with ``exact``.
        """
        number = sum(len(span.positions) for span in spans)
        if number == 0:
            return Measured(0)
        if self._exact or (read_if_quick and self._is_quick):
            return Measured(self._messages.byte_count(spans))
        mean = self.stored.value / self.count if self.count else 0
        return Measured(round(number * mean), is_estimate=True)

    @cached_property
    def _is_quick(self) -> bool:
        return self.count <= QUICK_MESSAGES and self._messages.file_bytes() <= QUICK_FILE_BYTES

    def _sampled_mean(self) -> float | None:
        """Return the mean size of messages of some of the last publishes; None without any."""
        history = self._messages.history
        new = history.commits_after(max(-1, history.version() - SAMPLED_COMMITS))
        publishes = self._stored_publishes(new.commits)
        places = spread([each.message_count for each in publishes], SAMPLED_PUBLISHES)
        means = [self._mean(publishes[place]) for place in places]
        known = [mean for mean in means if mean is not None]
        return sum(known) / len(known) if known else None

    def _stored_publishes(self, commits: Sequence[Commit]) -> list[Commit]:
        """Return the publishes among commits whose messages retention has not deleted."""
        _, oldest = self._counted
        return [
            each
            for each in commits
            if each.publish_time is not None and oldest is not None and each.publish_time >= oldest
        ]

    def _mean(self, publish: Commit) -> float | None:
        """Return the mean size of the first messages of a publish, None if none is left."""
        assert publish.publish_time is not None
        time = publish.publish_time
        first = self._messages.positions_of(publish).first(SAMPLED_MESSAGES)
        if not first:
            return None
        sample = [Span(State.AVAILABLE, first, time, time)]
        return self._messages.byte_count(sample) / len(first)
