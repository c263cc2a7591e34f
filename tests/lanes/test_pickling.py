"""What a function refers to that is sent to Spark's executors, or to a pool of processes."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from queue import Queue

import pytest

from pubsub_delta import PubSub
from pubsub_delta.callbacks import PulledMessage


def test_what_belongs_to_its_process_tells_what_another_one_does(tmp_path: Path) -> None:
    """A clear error says what was expected, what came and what to do."""
    store = PubSub(None, str(tmp_path))
    store.create_topic("orders")
    store.create_subscription("billing", "orders")
    store.publish("orders", ["a"])
    called: Queue[PulledMessage] = Queue()
    with store.subscribe("billing", called.put) as pull, store.publisher("orders") as publisher:
        for each in (store, store.pull("billing"), pull, publisher, called.get(timeout=60)):
            why = f"^a {type(each).__name__} cannot be pickled, .* opens the store there"
            with pytest.raises(TypeError, match=why):
                pickle.dumps(each)


def test_messages_and_resources_go_to_other_processes(tmp_path: Path) -> None:
    store = PubSub(None, str(tmp_path))
    topic = store.create_topic("orders")
    subscription = store.create_subscription("billing", "orders")
    store.publish("orders", ["a"])
    values = [topic, subscription, *store.pull("billing")]
    assert pickle.loads(pickle.dumps(values)) == values
    assert copy.deepcopy(values) == values


def test_results_come_from_other_processes(tmp_path: Path) -> None:
    """What a worker of a pool returns: else the pool raises, though the messages are published."""
    store = PubSub(None, str(tmp_path))
    store.create_topic("orders")
    store.create_subscription("billing", "orders")
    published = store.publish("orders", ["a", "b"], idempotency_id=("app", 1))
    earlier = store.publish("orders", ["a", "b"], idempotency_id=("app", 1))
    for result in (published, earlier):
        for came in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
            assert came.publish_time == published.publish_time
            assert (came.message_count, list(came.message_ids)) == (2, ["0", "1"])
    for answers in (store.pull("billing").ack(), store.metrics("billing"), store.metrics("orders")):
        assert pickle.loads(pickle.dumps(answers)) == answers
        assert copy.deepcopy(answers) == answers
    metrics = store.metrics("billing")
    came = pickle.loads(pickle.dumps(metrics))
    assert (came.labels, list(came.rows())) == (metrics.labels, list(metrics.rows()))
