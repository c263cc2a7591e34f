"""Answers that are lost, requests that fail, and processes that die, at every put of an operation.

Design, section 8: a commit is found again by what it carries when its answer is lost.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from pubsub_delta import DeadLetterPolicy, ManualClock, PubSub, TableConfig, Unavailable
from pubsub_delta.callbacks import PulledMessage
from tests.acceptance.processes import environment
from tests.acceptance.serving import eventually
from tests.storages.proxy import Action, Fault
from tests.storages.servers import Storage

pytestmark = [pytest.mark.storages, pytest.mark.timeout(900)]

COMMIT = r"_delta_log/\d{20}\.json"
MOST_COMMITS = 12


def prepared(root: str) -> PubSub:
    """Return a store with two messages: one is leased, and one is available."""
    store = PubSub(None, root)
    store.create_topic("orders")
    store.create_subscription("billing", "orders", ack_deadline_seconds=600)
    store.create_subscription("audit", "orders", ack_deadline_seconds=600)
    DeltaTable.create(f"{root}/tables/rows", pa.schema([("data", pa.binary())]))
    store.create_subscription("rows", "orders", table_config=TableConfig("rows"))
    store.create_topic("dead")
    store.create_subscription("dead", "dead")
    store.create_subscription("failing", "orders", dead_letter_policy=DeadLetterPolicy("dead", 5))
    store.publish("orders", ["a", "b"])
    for _ in range(5):
        store.pull("failing").nack()
    return store


def state(store: PubSub, name: str = "billing") -> tuple[float, float]:
    told = store.metrics(name)
    return told["num_undelivered_messages"], told["num_outstanding_messages"]


def publish(store: PubSub) -> None:
    """Pub/Sub: the server assigns an id to each message, and one publish is one message."""
    ids = list(store.publish("orders", ["c"]).message_ids)
    found = {m.message_id: m.data for m in store.pull("audit") if m.data == b"c"}
    assert found == {ids[0]: b"c"}
    assert state(store) == (3, 0)


def pull(store: PubSub) -> None:
    """Pub/Sub: while leased a message is not delivered again."""
    assert [m.data for m in store.pull("billing", 1)] == [b"a"]
    assert state(store) == (2, 1)
    assert [m.data for m in store.pull("billing", 1)] == [b"b"]


def ack(store: PubSub) -> None:
    """The outcome of each id is reported; what is acknowledged does not come again."""
    assert store.pull("billing").ack().counts == {"success": 2, "expired": 0, "invalid": 0}
    assert state(store) == (0, 0)
    assert store.metrics("billing")["ack_message_count"]["success"] == 2


def nack(store: PubSub) -> None:
    """Pub/Sub: a deadline of 0 makes a message available at once."""
    assert store.pull("billing").nack().counts["success"] == 2
    assert state(store) == (2, 0)


def seek(store: PubSub) -> None:
    """Pub/Sub: a time in the future purges."""
    store.seek("billing", time=datetime.now(timezone.utc) + timedelta(seconds=1))
    assert state(store) == (0, 0)


def snapshot(store: PubSub) -> None:
    """A snapshot holds what was unacknowledged, and its name is taken once."""
    store.create_snapshot("noon", "billing")
    assert [each.name for each in store.list_snapshots()] == ["projects/local/snapshots/noon"]
    store.seek("billing", time=datetime.now(timezone.utc) + timedelta(seconds=1))
    store.seek("billing", snapshot="noon")
    assert state(store) == (2, 0)
    store.delete_snapshot("noon")
    assert list(store.list_snapshots()) == []


def administer(store: PubSub) -> None:
    """Names are unique, changes are made once, and what is deleted is gone."""
    topics = list(store.list_topics())
    store.create_topic("letters")
    store.create_subscription("letters", "letters")
    store.update_subscription("letters", labels={"team": "a"})
    assert store.get_subscription("letters").labels == {"team": "a"}
    store.delete_subscription("letters")
    store.delete_topic("letters")
    assert list(store.list_topics()) == topics


def write_table(store: PubSub) -> None:
    """A table gets each message once, and its messages are acknowledged then."""
    done = store.write_table("rows")
    assert (done.written, done.problem) == (2, "")
    rows = DeltaTable(f"{store.tables.layout.base}/tables/rows").to_pyarrow_table()
    assert sorted(rows["data"].to_pylist()) == [b"a", b"b"]
    assert state(store, "rows") == (0, 0)


def dead_letter(store: PubSub) -> None:
    """A message is forwarded once, and acknowledged on its source."""
    assert list(store.pull("failing")) == []
    assert sorted(m.data for m in store.pull("dead")) == [b"a", b"b"]
    assert state(store, "failing") == (0, 0)


OPERATIONS = [publish, pull, ack, nack, seek, snapshot, administer, write_table, dead_letter]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("action", ["lose", "reset", "refuse"])
def test_every_commit_of_an_operation_may_fail_once(
    storage: Storage, root: str, action: Action, operation: Callable[[PubSub], None]
) -> None:
    """Whatever becomes of the put, and of its answer, the operation is done once."""
    for place in range(MOST_COMMITS):
        store = prepared(f"{root}/{place}")
        storage.proxy.set(Fault(action, "PUT", COMMIT, after=place))
        operation(store)
        (fault,) = storage.proxy.left()
        storage.proxy.set()
        if fault.times:  # it has fewer commits
            assert place > 0
            return


@pytest.mark.parametrize("method", ["GET", "PUT"])
@pytest.mark.parametrize("action", ["reset", "refuse"])
def test_requests_that_fail_are_sent_again(
    storage: Storage, root: str, method: str, action: Action
) -> None:
    store = prepared(root)
    faults = [Fault(action, method, after=2 * place) for place in range(8)]
    storage.proxy.set(*faults)
    ack(store)
    assert not all(each.times for each in storage.proxy.left())


AWAY = [
    Fault("refuse", "*", times=None, status=503),
    Fault("refuse", "*", times=None, status=429),
    Fault("reset", "*", times=None),
    Fault("lose", "*", times=None),
]


@pytest.mark.parametrize("fault", AWAY, ids=["busy", "slow down", "unreachable", "no answers"])
def test_a_storage_that_is_away_is_unavailable(storage: Storage, root: str, fault: Fault) -> None:
    """Unavailable: no message was published, and the call can be repeated."""
    store = prepared(root)
    calls: list[Callable[[], object]] = [
        lambda: store.publish("orders", ["c"]),
        lambda: store.pull("billing"),
        lambda: store.metrics("billing"),
    ]
    for call in calls:
        storage.proxy.set(fault)
        with pytest.raises(Unavailable):
            call()
        storage.proxy.set()
        call()
    assert store.metrics("audit")["num_undelivered_messages"] == 3


def test_a_storage_that_is_busy_for_a_while_ends_no_program(storage: Storage, root: str) -> None:
    """docs/guarantees.md: "A storage that fails for a while ends no consumer." """
    store, received = prepared(root), list[bytes]()

    def receive(message: PulledMessage) -> None:
        received.append(message.data)
        message.ack()

    future = store.subscribe("billing", receive)
    with store.publisher("orders") as publisher:
        eventually(lambda: len(received) == 2)
        storage.proxy.set(AWAY[0])
        published = publisher.publish(b"c")
        time.sleep(20)
        assert future.running()
        assert not published.done()
        storage.proxy.set()
        assert published.result(120)
        eventually(lambda: received[2:] == [b"c"])
    future.cancel()
    assert state(store) == (0, 0)


def test_slow_answers_are_waited_for(storage: Storage, root: str) -> None:
    store = prepared(root)
    storage.proxy.set(Fault("hold", "*", times=3, seconds=4.0))
    ack(store)


def test_a_commit_of_which_no_answer_ever_comes_is_found(storage: Storage, root: str) -> None:
    """The client sends the put again until it gives up, and every answer is lost."""
    store = prepared(root)
    batch = store.pull("billing")
    storage.proxy.set(Fault("lose", "PUT", r"ack_state/.*" + COMMIT, times=None))
    assert batch.ack().counts["success"] == 2
    storage.proxy.set()
    assert state(store) == (0, 0)


def test_a_table_of_whose_creation_no_answer_ever_comes_is_there(
    storage: Storage, root: str
) -> None:
    """Its name has a uid that nobody else has, so it is the own one; or it is of all alike."""
    store = PubSub(None, root)
    storage.proxy.set(Fault("lose", "PUT", r"_delta_log/0{20}\.json", times=None))
    store.create_topic("orders")
    store.create_subscription("billing", "orders")
    store.create_snapshot("noon", "billing")
    storage.proxy.set()
    store.publish("orders", ["a"])
    store.seek("billing", snapshot="noon")
    assert [message.data for message in store.pull("billing")] == [b"a"]
    assert [each.name for each in store.list_snapshots()] == ["projects/local/snapshots/noon"]


DIES = """
import sys
from pubsub_delta import PubSub
store = PubSub(None, sys.argv[1])
store.publish("orders", ["c"], idempotency_id=("till", 1))
batch = store.pull("billing")
batch.ack()
store.create_snapshot("noon", "billing")
print("done", flush=True)
"""


def test_a_process_may_be_killed_at_any_put(storage: Storage, root: str, tmp_path: Path) -> None:
    """What it was doing is done or not, and whoever comes next finds a store that is whole."""
    place = 0
    while place < 30:
        own = f"{root}/{place}"
        prepared(own)
        storage.proxy.set(Fault("hold", "PUT", after=place, seconds=3600.0))
        child = subprocess.Popen(
            [sys.executable, "-c", DIES, own], cwd=tmp_path, env=environment(),
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            while child.poll() is None and storage.proxy.left()[0].times:
                time.sleep(0.02)
        finally:
            child.kill()
            ended = child.communicate()[0]
        storage.proxy.set()
        left_over(own)
        if ended:
            assert place > 8
            return
        place += 2


def left_over(root: str) -> None:
    """Go on where a process died, when its leases are over."""
    clock = ManualClock(datetime.now(timezone.utc) + timedelta(seconds=700))
    store = PubSub(None, root, clock=clock)
    store.publish("orders", ["c"], idempotency_id=("till", 1))
    assert Counter(m.data for m in store.pull("audit")) == Counter([b"a", b"b", b"c"])
    left = [m.data for m in store.pull("billing")]
    assert left in ([], [b"c"], [b"a", b"b", b"c"])  # it acknowledged all it had, or nothing
    store.pull("billing").ack()
    clock.advance(2 * 3600)  # an announced snapshot is given up after an hour
    assert store.maintain().problems == {}
    store.create_snapshot("later", "billing")
    assert "later" in str(list(store.list_snapshots()))
