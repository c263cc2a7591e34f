"""Tables of a store that deduce where publishes ended, if they can, instead of looking it up."""

from __future__ import annotations

import threading
from datetime import datetime

from pyspark.sql import SparkSession

from pubsub_delta.policy.ack_state import Absorbed
from pubsub_delta.policy.filters import Filter
from pubsub_delta.server.numbering import Numbering
from pubsub_delta.tables.commits import Commits
from pubsub_delta.tables.history import Commit, History
from pubsub_delta.tables.messages import Messages
from pubsub_delta.tables.remembered import Remembered
from pubsub_delta.tables.store import Tables


class NumberedTables(Tables):
    """The tables of a store for a server, which publishes and pulls many times a minute."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        super().__init__(spark, root)
        self._lock = threading.Lock()
        self._numberings: dict[str, Numbering] = {}

    def messages(self, topic_uid: str) -> Messages:
        with self._lock:
            numbering = self._numberings.setdefault(topic_uid, Numbering())
        table = self._layout.messages(topic_uid)
        return NumberedMessages(self.spark, table, self._commits, self.remembered, numbering)


class NumberedHistory(History):
    """The commits of a topic; whoever reads them teaches the numbering."""

    def __init__(
        self, spark: SparkSession, table: str, remembered: Remembered, numbering: Numbering
    ) -> None:
        super().__init__(spark, table, remembered)
        self._numbering = numbering

    def _look(self, limit: int | None) -> list[Commit]:
        commits = super()._look(limit)
        self._numbering.see(commits)
        return commits


class NumberedMessages(Messages):
    """The messages of a topic; where publishes ended is deduced, if it can be."""

    def __init__(
        self,
        spark: SparkSession,
        table: str,
        commits: Commits,
        remembered: Remembered,
        numbering: Numbering,
    ) -> None:
        super().__init__(spark, table, commits, remembered)
        self.history = NumberedHistory(spark, table, remembered, numbering)
        self._numbering = numbering

    def absorb(
        self,
        after_version: int,
        commits: list[Commit],
        known: bool,
        filter_: Filter | None = None,
        earliest: datetime | None = None,
        before: datetime | None = None,
    ) -> list[Absorbed]:
        whole = known and filter_ is None and earliest is None and before is None
        if whole:
            deduced = self._deduced(commits)
            if deduced is not None:
                return deduced
        found = super().absorb(after_version, commits, known, filter_, earliest, before)
        adding = [commit for commit in commits if commit.adds_messages]
        if whole and len(adding) == len(found):
            for commit, part in zip(adding, found, strict=True):
                if part.publish_time_min == part.publish_time_max == commit.publish_time:
                    self._numbering.learn(commit, part.positions)
        return found

    def _deduced(self, commits: list[Commit]) -> list[Absorbed] | None:
        found = []
        for commit in commits:
            if not commit.adds_messages and not commit.moves_messages:
                continue
            positions = self._numbering.positions(commit)
            if positions is None or commit.publish_time is None:
                return None
            found.append(Absorbed(positions, commit.publish_time, commit.publish_time))
        return found
