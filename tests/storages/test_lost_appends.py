"""An append whose answer is lost is one commit: its messages come once.

docs/guarantees.md: "A publish lands once, whatever becomes of its answer."
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from pubsub_delta import PubSub, Unknown
from pubsub_delta.clock import SystemClock
from pubsub_delta.datasource import writing
from tests.storages.proxy import Fault
from tests.storages.servers import Storage
from tests.storages.test_faults import COMMIT

pytestmark = [pytest.mark.storages, pytest.mark.timeout(600)]

COMMIT_OF_MESSAGES = r"messages/.*" + COMMIT
LOST = Fault("lose", "PUT", COMMIT_OF_MESSAGES)
LOST_FOR_GOOD = Fault("lose", "PUT", COMMIT_OF_MESSAGES, times=None)
TOLD_AS_FAILED = Fault("deny", "PUT", COMMIT_OF_MESSAGES, status=500)
TOLD_AS_CONFLICT = Fault("deny", "PUT", COMMIT_OF_MESSAGES, status=409)


def publishes(store: PubSub) -> list[str]:
    """Return the metadata of the publishes in the log of a topic."""
    root, uid = store.tables.layout.base, store.get_topic("orders").uid
    address = f"{root}/messages/{uid}".replace("s3a:", "s3:")
    told = [each.get("userMetadata") for each in DeltaTable(address).history()]
    return [each for each in told if each is not None]


def a_list(store: PubSub) -> None:
    store.publish("orders", ["a", "b"])


def files_of_tasks(store: PubSub) -> None:
    """As ``format("pubsub_delta")`` publishes a DataFrame."""
    reserved = writing.reserve(store.tables, store._topic("orders"), SystemClock().now())
    rows = pa.record_batch({"data": pa.array([b"a", b"b"])})
    file = writing.write_messages(store.tables, reserved, 0, [rows])
    assert file is not None
    assert writing.commit(store.tables, reserved, [file], None)


def under_an_id(store: PubSub) -> None:
    store.publish("orders", ["a", "b"], idempotency_id=("till", 1))


@pytest.mark.parametrize(
    ("publish", "fault"),
    [
        (a_list, LOST),
        (a_list, LOST_FOR_GOOD),
        (a_list, TOLD_AS_FAILED),
        (a_list, TOLD_AS_CONFLICT),
        (files_of_tasks, LOST),
        (files_of_tasks, LOST_FOR_GOOD),
        (under_an_id, LOST),
        (under_an_id, LOST_FOR_GOOD),
    ],
)
def test_a_publish_whose_answer_is_lost_is_one_commit(
    storage: Storage, store: PubSub, publish: Callable[[PubSub], None], fault: Fault
) -> None:
    storage.proxy.set(fault)
    publish(store)
    storage.proxy.set()
    assert len(publishes(store)) == 1
    assert [m.data for m in store.pull("billing")] == [b"a", b"b"]


def test_a_publish_whose_storage_goes_away_with_its_answer_is_in_doubt(
    storage: Storage, store: PubSub
) -> None:
    """Unknown: a commit was sent, and nobody can tell; Unavailable would say it was not written."""
    storage.proxy.take()
    storage.proxy.set(LOST)

    def go_away() -> None:
        while storage.proxy.left()[0].times:
            time.sleep(0.01)
        storage.proxy.set(Fault("reset", "*", times=None))

    away = threading.Thread(target=go_away)
    away.start()
    with pytest.raises(Unknown, match="it may have landed"):
        store.publish("orders", ["a"])
    away.join()
    storage.proxy.set()
    assert [m.data for m in store.pull("billing")] == [b"a"]


def test_what_was_acknowledged_does_not_come_again_with_a_second_attempt_of_its_publish(
    storage: Storage, store: PubSub, root: str
) -> None:
    """Exactly once: "Nothing is redelivered after a successful ack." The put that is sent again
    takes some seconds here, in which another process gets the messages of the first one.
    """
    other = PubSub(None, root)
    store.update_subscription("billing", enable_exactly_once_delivery=True)
    slow = Fault("hold", "PUT", COMMIT_OF_MESSAGES, seconds=5.0)
    storage.proxy.set(LOST, slow)
    publisher = threading.Thread(target=lambda: store.publish("orders", ["a"]))
    publisher.start()
    received: list[bytes] = []
    while not received:
        batch = other.pull("billing")
        received += [message.data for message in batch]
    assert publisher.is_alive()
    assert batch.ack().counts["success"] == 1
    publisher.join()
    received += [message.data for message in other.pull("billing")]
    assert received == [b"a"]
