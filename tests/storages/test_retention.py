"""Retention in object storage, where no lock keeps publishers and seeks away from a deletion."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from pubsub_delta import ManualClock, PubSub
from tests.acceptance.processes import environment
from tests.storages.servers import Storage
from tests.storages.test_lost_appends import LOST
from tests.unit.builders import START, at

pytestmark = [pytest.mark.storages, pytest.mark.timeout(600)]

SLOW_PUBLISHER = """
import random, sys, time
from datetime import datetime, timedelta, timezone
from pubsub_delta import PubSub

class Behind:
    def now(self):
        return datetime.now(timezone.utc) - timedelta(seconds=1)

store = PubSub(None, sys.argv[1], clock=Behind())
pauses = random.Random(sys.argv[2])
for n in range(25):
    time.sleep(pauses.uniform(0, 1.5))
    print(*store.publish("orders", [str(n)]).message_ids, flush=True)
"""

RETENTION = """
import sys
from pubsub_delta import PubSub
store = PubSub(None, sys.argv[1])
while True:
    done = store.maintain(exact=True, dead_letters=False, expiration=False)
    print(*done.discarded.values(), flush=True)
"""


def test_what_slow_publishers_commit_beside_a_deletion_is_received(
    store: PubSub, root: str, tmp_path: Path
) -> None:
    """A message that was published comes until it is acknowledged."""

    def started(program: str, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", program, root, *arguments],
            stdout=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env=environment(),
        )

    retention = started(RETENTION)
    publishers = [started(SLOW_PUBLISHER, seed) for seed in "12"]
    received: Counter[str] = Counter()
    try:
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            are_done = all(each.poll() is not None for each in publishers)
            batch = store.pull("billing")
            received.update(each.message_id for each in batch)
            batch.ack()
            if are_done and not batch.message_count:
                break
        told = [each.communicate(timeout=60)[0].split() for each in publishers]
        assert [each.returncode for each in publishers] == [0, 0]
    finally:
        for each in (retention, *publishers):
            each.kill()
    deleted = sum(map(int, retention.communicate()[0].split()))
    assert received == Counter(told[0] + told[1])
    assert received.total() == 50
    assert deleted > 0


def test_a_seek_beside_a_deletion_gives_what_is_there(root: str) -> None:
    """It sees what retention has announced."""
    clock = ManualClock(START)
    store = PubSub(None, root, clock=clock)
    store.create_topic("orders", message_retention_duration="10m")
    store.create_subscription("billing", "orders")
    store.publish("orders", ["a"])
    store.pull("billing").ack()
    other = PubSub(None, root, clock=ManualClock(at(600)))
    assert not other.pull("billing")
    clock.advance(601)
    messages = store.tables.messages(store.get_topic("orders").uid)
    bound, version = clock.now() - timedelta(minutes=10), messages.history.version()
    messages.announce_discard(bound, "1")
    other.seek("billing", time=START)
    assert not other.pull("billing")
    assert messages.discard_before(bound, version, "1")
    assert messages.count() == (0, None)


def test_a_deletion_whose_answer_is_lost_is_told(storage: Storage, root: str) -> None:
    """So is its announcement's: each is found in the log by what its commit carries."""
    clock = ManualClock(START)
    store = PubSub(None, root, clock=clock)
    store.create_topic("orders")
    store.publish("orders", ["a", "b"])
    clock.advance(1)
    storage.proxy.set(replace(LOST), replace(LOST, after=1))  # the second passes a repeated put
    report = store.maintain(exact=True)
    assert (report.discarded, report.problems) == ({"projects/local/topics/orders": 2}, {})
    messages = store.tables.messages(store.get_topic("orders").uid)
    announced = [each.discards_before for each in messages.history.commits_after(0).commits]
    assert [each for each in announced if each] == [clock.now()]
