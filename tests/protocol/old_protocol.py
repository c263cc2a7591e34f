"""The protocol as it was: each variant is put into the library, and the search must fail on it.

These are faults that the first edition had, and steps that a later one might take to be needless.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any
from unittest import mock

from pubsub_delta.delivery import dead_letters, discard
from pubsub_delta.delivery.sources import Source
from pubsub_delta.operations import seek
from pubsub_delta.policy import redelivery
from pubsub_delta.resources import Snapshot
from pubsub_delta.tables.lanes.retries import repeat_on_conflict
from pubsub_delta.tables.messages.messages import Messages
from pubsub_delta.tables.messages.stored import StoredMessages
from pubsub_delta.tables.registry import Registry
from pubsub_delta.tables.store import Tables
from tests.protocol.stepping import StepLane


@contextmanager
def retention_that_looks_once() -> Iterator[None]:
    """Retention found once what is needed, and deleted it whatever came in between."""
    needed = discard._needed_from
    known: dict[int, Any] = {}

    def once(tables: Any, kept: Any, now: datetime, *_: Any) -> Any:
        if id(kept) not in known:
            known[id(kept)] = (needed(tables, kept, now, None), kept)
        return known[id(kept)][0]

    with mock.patch.object(discard, "_needed_from", once):
        yield


@contextmanager
def seek_that_does_not_look_again() -> Iterator[None]:
    """A seek to a snapshot did not ask whether that still exists once it was noted."""
    with mock.patch.object(seek, "_still_exists", return_value=True):
        yield


@contextmanager
def snapshot_that_is_not_announced() -> Iterator[None]:
    """A snapshot was captured first, and then added: retention did not know of it meanwhile."""
    announce, finish = Registry.announce_snapshot, Registry.finish_snapshot
    wanted: dict[str, tuple[Snapshot, str, str]] = {}

    def later(_: Registry, made: Snapshot, topic_uid: str, filter_: str) -> bool:
        wanted[made.uid] = (made, topic_uid, filter_)
        return True

    def add(registry: Registry, uid: str, expire_time: datetime) -> bool:
        made, topic_uid, filter_ = wanted[uid]
        row = replace(made, expire_time=expire_time)
        return announce(registry, row, topic_uid, filter_) and finish(registry, uid, expire_time)

    with (
        mock.patch.object(Registry, "announce_snapshot", later),
        mock.patch.object(Registry, "finish_snapshot", add),
    ):
        yield


@contextmanager
def dead_letters_without_a_transaction() -> Iterator[None]:
    """Dead letters were appended by a plain publish: two processes could both append them."""

    def append(
        tables: Any, source: Any, target: str, number: int, spans: Sequence[Any], now: datetime
    ) -> bool:
        letters, messages = dead_letters._letters(tables, source, spans), tables.messages(target)
        made = partial(messages.append, letters, now, tables.new_id())
        return repeat_on_conflict(made, "dead letters") is not None

    with mock.patch.object(dead_letters, "_append", append):
        yield


@contextmanager
def dead_letters_that_are_taken_for_landed() -> Iterator[None]:
    """What Delta skipped was taken for landed, also where other messages had used the number."""
    append = dead_letters._append

    def landed(*args: Any) -> bool:
        append(*args)
        return True

    with mock.patch.object(dead_letters, "_append", landed):
        yield


@contextmanager
def dead_letters_that_are_acknowledged_first() -> Iterator[None]:
    """Dead letters were acknowledged on the source, and then appended: a crash lost them."""
    append = dead_letters._append

    def acknowledged_first(
        tables: Any, source: Any, target: str, number: int, spans: Sequence[Any], now: datetime
    ) -> bool:
        tables.ack_states.update(source.uid, partial(redelivery.forwarded, number=number))
        return append(tables, source, target, number, spans, now)

    with mock.patch.object(dead_letters, "_append", acknowledged_first):
        yield


@contextmanager
def dead_letters_that_go_back_with_their_topic() -> Iterator[None]:
    """A dead letter was given back as its topic was deleted, also where it had landed there."""
    received = Tables.is_received

    def living(self: Any, uid: str) -> bool:
        frame = sys._getframe(1)
        at_first = frame.f_code.co_name == "forward" and "landed" not in frame.f_locals
        return self.registry.topic_of_uid(uid) is not None if at_first else received(self, uid)

    with mock.patch.object(Tables, "is_received", living):
        yield


@contextmanager
def retention_that_does_not_announce() -> Iterator[None]:
    """Whoever carried out a seek was not told that retention had had its last look."""
    with mock.patch.object(Messages, "announce_discard"):
        yield


@contextmanager
def retention_that_heeds_its_announcement() -> Iterator[None]:
    """Retention took what it had announced for gone, where a seek had not seen that."""
    with mock.patch.object(Source, "heeding_no_announcement", lambda source: source):
        yield


@contextmanager
def seek_that_counts_what_is_stored() -> Iterator[None]:
    """A seek to a deleted snapshot succeeded though retention had had its last look."""
    with mock.patch.object(StoredMessages, "not_discarded", StoredMessages.positions_within):
        yield


@contextmanager
def deletion_of_what_came_late() -> Iterator[None]:
    """Retention deleted what was stored by then, and not what it had looked at."""
    delete = StepLane.delete

    def all_of_it(lane: Any, table: str, where: Any, *_: Any) -> Any:
        return delete(lane, table, where)

    with mock.patch.object(StepLane, "delete", all_of_it):
        yield


VARIANTS: dict[str, tuple[Callable[[], Any], str]] = {
    "retention that looks once": (
        retention_that_looks_once,
        "a snapshot of what a seek brought back",
    ),
    "a seek that does not look again": (
        seek_that_does_not_look_again,
        "a seek to a snapshot that is deleted",
    ),
    "retention that does not announce": (
        retention_that_does_not_announce,
        "a snapshot of what a seek brought back",
    ),
    "retention that heeds its announcement": (
        retention_that_heeds_its_announcement,
        "a seek to a time beside retention",
    ),
    "a seek that counts what is stored": (
        seek_that_counts_what_is_stored,
        "a seek to a snapshot that is deleted",
    ),
    "a deletion of what came late": (
        deletion_of_what_came_late,
        "a slow publisher beside retention",
    ),
    "dead letters that go back with their topic": (
        dead_letters_that_go_back_with_their_topic,
        "a dead letter whose topic is deleted",
    ),
    "a snapshot that is not announced": (
        snapshot_that_is_not_announced,
        "a snapshot beside retention",
    ),
    "dead letters without a transaction": (dead_letters_without_a_transaction, "a dead letter"),
    "dead letters that are taken for landed": (
        dead_letters_that_are_taken_for_landed,
        "dead letters and a RESTORE",
    ),
    "dead letters that are acknowledged first": (
        dead_letters_that_are_acknowledged_first,
        "a dead letter",
    ),
}
"""By name: how the protocol was, and the scenario that shows its fault."""
WITHOUT_LOCKS = {"a deletion of what came late"}
"""Variants that a lock makes up for: their fault shows where tables have none."""
