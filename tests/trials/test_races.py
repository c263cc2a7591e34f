"""Four processes that change one ack state as quickly as they can: each change is made once.

"4 processes × 200 conditional changes on one ack state: nothing lost." ``TURNS=20`` makes it
shorter. Publishers race in ``tests/delta/test_publishers.py``.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pubsub_delta import PubSub
from tests.journal import entries
from tests.trials.children import Worker
from tests.trials.crowd import SUBSCRIPTION, TOPIC, prepare

pytestmark = [pytest.mark.trial, pytest.mark.timeout(3600)]

TURNS = int(os.environ.get("TURNS", "200"))
"""How often each process changes the table."""
PATIENCE = 3000.0
"""Seconds that a race may take on a slow machine."""


@contextmanager
def workers(place: Path) -> Iterator[list[Worker]]:
    """Start four processes that go by the direct lane."""
    found = [Worker(place, "tests.trials.crowd") for _ in range(4)]
    try:
        yield [worker.wait_until_ready() for worker in found]
    finally:
        for worker in found:
            worker.kill()


@pytest.fixture
def store(tmp_path: Path) -> PubSub:
    """A store with a topic and a subscription whose leases outlast the race."""
    store = PubSub(None, str(tmp_path / "store"))
    prepare(store, ack_deadline_seconds=600)
    return store


def race(racing: list[Worker], place: Path, role: str) -> list[dict[str, Any]]:
    """Let all do one thing ``TURNS`` times, at the same time; return what they wrote down."""
    journals = [place / f"{number}.jsonl" for number in range(len(racing))]
    for number, worker in enumerate(racing):
        worker.tell(
            name=str(number),
            journal=str(journals[number]),
            roles=[role],
            root=str(place / "store"),
            seconds=PATIENCE,
            turns=TURNS,
            seed=0,
        )
    assert [worker.answer(PATIENCE) for worker in racing] == [{"turns": [TURNS]}] * len(racing)
    return [entry for journal in journals for entry in entries(journal)]


def all_of(events: list[dict[str, Any]], key: str) -> Counter[str]:
    return Counter(each for event in events for each in event.get(key, ()))


def test_of_many_changes_of_one_ack_state_each_is_made(
    store: PubSub, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    ids = store.publish(TOPIC, [f"{n}" for n in range(4 * TURNS)]).message_ids
    with workers(tmp_path) as racing:
        events = race(racing, tmp_path, "lease")
    leased = all_of(events, "leased")
    aborted = sum("aborted" in event for event in events)
    assert len(leased) == leased.total() == 4 * TURNS - aborted, "one was leased twice"
    assert leased.keys() <= set(ids)
    assert store.metrics(SUBSCRIPTION)["num_outstanding_messages"] == leased.total()
    tell(f"{leased.total()} leases of 4 processes, {aborted} were given up")
    assert aborted == 0
