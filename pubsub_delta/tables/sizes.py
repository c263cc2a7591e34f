"""How many bytes messages are: by reading them where that is quick, else by a sample."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cached_property

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pubsub_delta.metrics import Measured
from pubsub_delta.policy.ack_state import Span
from pubsub_delta.policy.sampling import spread
from pubsub_delta.tables.columns import instant, message_bytes
from pubsub_delta.tables.messages import Messages

QUICK_FILE_BYTES = 32 * 1024 * 1024
"""A topic whose files are no larger is read rather than estimated."""
SAMPLED_COMMITS = 500
"""The last commits of a topic among which publishes are chosen."""
SAMPLED_PUBLISHES = 5
SAMPLED_MESSAGES = 400
"""Of each of the publishes."""


class Sizes:
    """The sizes of the messages of one topic at one moment. What was found out is kept."""

    def __init__(self, messages: Messages, *, exact: bool = False) -> None:
        self._messages = messages
        self._exact = exact

    @cached_property
    def count(self) -> int:
        """How many messages are stored."""
        return self._messages.count()

    @cached_property
    def stored(self) -> Measured:
        """The bytes of all stored messages."""
        if self.count == 0:
            return Measured(0)
        if self._exact or self._is_quick:
            return Measured(_sum(self._messages.everything()))
        return Measured(round(self._sampled_mean() * self.count), is_estimate=True)

    def of(self, spans: Sequence[Span], version: int, *, read_if_quick: bool) -> Measured:
        """Return the bytes of the messages of spans, as they stand at a version.

        An estimate is their number by the mean of all messages of the topic. ``read_if_quick``:
        read a small topic for it; else only with ``exact``.
        """
        number = sum(len(span.positions) for span in spans)
        if number == 0:
            return Measured(0)
        if self._exact or (read_if_quick and self._is_quick):
            return Measured(_sum(self._messages.read(spans, version)))
        mean = self.stored.value / self.count if self.count else 0
        return Measured(round(number * mean), is_estimate=True)

    @cached_property
    def _is_quick(self) -> bool:
        return self._messages.file_bytes() <= QUICK_FILE_BYTES

    def _sampled_mean(self) -> float:
        """Return the mean size of messages of some of the last publishes, or of any messages."""
        history = self._messages.history
        commits, _ = history.commits_after(max(-1, history.version() - SAMPLED_COMMITS))
        publishes = [each for each in commits if each.publish_time is not None]
        rows = self._messages.everything()

        def means(times: Sequence[datetime]) -> dict[datetime, float]:
            sampled = {t: _mean(rows.where(F.col("publish_time") == instant(t))) for t in times}
            return {time: mean for time, mean in sampled.items() if mean is not None}

        places = spread([each.message_count for each in publishes], SAMPLED_PUBLISHES)
        times = [time for place in places if (time := publishes[place].publish_time) is not None]
        found = self._messages.facts(list(dict.fromkeys(times)), means)
        known = [found[time] for time in times if time in found]
        if known:
            return sum(known) / len(known)
        return _mean(rows) or 0.0


def _sum(messages: DataFrame) -> int:
    return int(messages.agg(F.sum(message_bytes())).collect()[0][0] or 0)


def _mean(messages: DataFrame) -> float | None:
    """Return the mean size of the first few messages that Spark comes upon, None without any."""
    # collect() of a limit reads one file after another, and stops: an aggregate would read all
    sizes = [row[0] for row in messages.select(message_bytes()).limit(SAMPLED_MESSAGES).collect()]
    return sum(sizes) / len(sizes) if sizes else None
