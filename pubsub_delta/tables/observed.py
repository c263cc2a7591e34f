"""A topic that many subscriptions ask at one moment: each question is put to it once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from datetime import datetime
from typing import Any, TypeVar

from pyspark.sql import SparkSession

from pubsub_delta.policy.ack_state import Absorbed
from pubsub_delta.policy.filters import Filter
from pubsub_delta.tables.history import Commit, History
from pubsub_delta.tables.messages import Messages
from pubsub_delta.tables.remembered import Remembered

T = TypeVar("T")


class _Answers:
    """Answers by question; a thread that asks what another is finding out waits for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: dict[Hashable, Future[Any]] = {}

    def ask(self, question: Hashable, find: Callable[[], T]) -> T:
        with self._lock:
            known = self._answers.get(question)
            answer: Future[T] = known if known is not None else Future()
            self._answers[question] = answer
        if known is None:
            try:
                answer.set_result(find())
            except BaseException as error:
                answer.set_exception(error)
        return answer.result()


class ObservedHistory(History):
    """The commits of a topic, read once from the lowest version on that is asked for."""

    def __init__(self, spark: SparkSession, table: str, remembered: Remembered) -> None:
        super().__init__(spark, table, remembered)
        self._lock = threading.Lock()
        self._lowest: int | None = None
        self._highest = 0
        self._seen: list[Commit] = []

    def commits_after(self, version: int) -> tuple[list[Commit], bool]:
        """Return the commits after a version as of the first look, and whether all are known."""
        with self._lock:
            if self._lowest is None or version < self._lowest:
                self._seen, _ = super().commits_after(version)
                self._lowest, self._highest = version, super().newest_version()
            new = [commit for commit in self._seen if commit.version > version]
            return new, len(new) == max(self._highest - version, 0)

    def newest_version(self) -> int:
        """Return the version of the last commit as of that look."""
        return self._highest if self._lowest is not None else super().newest_version()


class ObservedMessages(Messages):
    """The messages of a topic as they are while a store is measured."""

    def __init__(self, messages: Messages) -> None:
        table, remembered = messages._table, messages._remembered
        history = ObservedHistory(messages.history._spark, table, remembered)
        super().__init__(messages._spark, table, messages._commits, remembered, history)
        self._answers = _Answers()

    def absorb(
        self,
        after_version: int,
        commits: list[Commit],
        known: bool,
        filter_: Filter | None = None,
        earliest: datetime | None = None,
        before: datetime | None = None,
    ) -> list[Absorbed]:
        """Find the messages that the given commits have added, once for all who ask alike."""
        numbers = tuple(commit.version for commit in commits)
        question = (after_version, numbers, known, filter_, earliest, before)
        found = super().absorb
        return list(
            self._answers.ask(
                question,
                lambda: found(after_version, commits, known, filter_, earliest, before),
            )
        )
