"""Topics and subscriptions as rows of the registry (Pub/Sub: sections on names and resources)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from pyspark.sql import SparkSession

from pubsub_delta import (
    AlreadyExists,
    ExpirationPolicy,
    FailedPrecondition,
    InvalidArgument,
    ManualClock,
    NotFound,
    PubSub,
)
from tests.conftest import Bench


def test_a_store_that_was_never_written_to_is_empty(spark: SparkSession, tmp_path: object) -> None:
    store = PubSub(spark, f"{tmp_path}/nothing", clock=ManualClock())
    assert store.list_topics() == []
    assert store.list_subscriptions() == []
    with pytest.raises(NotFound, match="projects/local/topics/flights"):
        store.publish("flights", ["x"])


def test_a_topic_lives_from_create_to_delete(bench: Bench) -> None:
    created = bench.store.create_topic("lifecycle", labels={"team": "a"})
    assert created.name == "projects/local/topics/lifecycle"
    assert bench.store.get_topic("projects/local/topics/lifecycle") == created
    # "ALREADY_EXISTS, also when the configuration is identical"
    with pytest.raises(AlreadyExists, match="lifecycle"):
        bench.store.create_topic("lifecycle", labels={"team": "a"})
    # "only the named fields change; None clears an optional one"
    assert bench.store.update_topic("lifecycle", labels={"x": "y"}).labels == {"x": "y"}
    assert bench.store.update_topic("lifecycle", labels=None).labels == {}
    bench.store.delete_topic("lifecycle")
    for gone in (bench.store.get_topic, bench.store.delete_topic, bench.store.update_topic):
        with pytest.raises(NotFound, match="lifecycle"):
            gone("lifecycle")


def test_of_deletions_at_the_same_time_each_is_done_once(bench: Bench) -> None:
    topics = [bench.topic() for _ in range(6)]
    subscriptions = [bench.subscription(topics[0]) for _ in range(4)]

    def delete(delete: Callable[[str], None], name: str) -> bool:
        try:
            delete(name)
        except NotFound:
            return False
        return True

    of_topics = [(bench.store.delete_topic, name) for name in (*topics, topics[-1])]
    of_subscriptions = [(bench.store.delete_subscription, name) for name in subscriptions]
    with ThreadPoolExecutor(11) as pool:
        done = list(pool.map(lambda each: delete(*each), [*of_topics, *of_subscriptions]))
    assert done.count(False) == 1
    assert not all(done[5:7])  # one of the two who deleted the same topic
    there = [each.name for each in bench.store.list_topics()]
    there += [each.name for each in bench.store.list_subscriptions()]
    assert not {name.rpartition("/")[2] for name in there} & {*topics, *subscriptions}


def test_a_subscription_lives_from_create_to_delete(bench: Bench) -> None:
    topic = bench.topic()
    created = bench.store.create_subscription(
        "lives", topic, ack_deadline_seconds=0, message_retention_duration="1d12h", labels={"a": ""}
    )
    assert created.ack_deadline_seconds == 10  # "0 means 10"
    assert created.message_retention_duration == timedelta(days=1, hours=12)
    assert created.create_time == bench.clock.now()
    assert bench.store.get_subscription("lives") == created
    with pytest.raises(AlreadyExists, match="lives"):
        bench.store.create_subscription("lives", topic)
    changed = bench.store.update_subscription(
        "lives", ack_deadline_seconds=600, message_retention_duration="10m"
    )
    assert (changed.ack_deadline_seconds, changed.labels) == (600, {"a": ""})
    assert bench.store.get_subscription("lives") == changed
    bench.store.delete_subscription("lives")
    with pytest.raises(NotFound, match="lives"):
        bench.store.pull("lives")
    # "the name can be used again for an unrelated subscription"
    again = bench.store.create_subscription("lives", topic)
    assert again.uid != created.uid


def test_updates_refuse_unknown_and_immutable_fields(bench: Bench) -> None:
    topic, subscription = bench.pair()
    for fields, told in (
        ({"color": "red"}, "color"),
        ({"topic": "other"}, "cannot be changed"),
        ({"filter": "attributes:a"}, "cannot be changed"),
        ({"enable_message_ordering": True}, "cannot be changed"),
        ({"ack_deadline_seconds": 9}, "9"),
    ):
        with pytest.raises(InvalidArgument, match=told):
            bench.store.update_subscription(subscription, **fields)
    with pytest.raises(InvalidArgument, match="color"):
        bench.store.update_topic(topic, color="red")


def test_retention_and_expiration_are_kept_and_shown(bench: Bench) -> None:
    topic, subscription = bench.topic(), bench.unused("kept")
    changed = bench.store.update_topic(topic, message_retention_duration="2d")
    assert changed.message_retention_duration == timedelta(days=2)
    assert changed.retained_from == bench.clock.now()
    created = bench.store.create_subscription(
        subscription, topic, retain_acked_messages=True, expiration_policy=ExpirationPolicy("8d")
    )
    assert bench.store.get_subscription(subscription) == created
    assert created.topic_message_retention_duration == timedelta(days=2)
    # "≥ 1 d and > message_retention_duration"
    with pytest.raises(InvalidArgument, match="expiration_policy"):
        bench.store.update_subscription(subscription, expiration_policy=ExpirationPolicy("7d"))
    never = bench.store.update_subscription(subscription, expiration_policy=ExpirationPolicy(None))
    assert never.expiration_policy.ttl is None
    cleared = bench.store.update_topic(topic, message_retention_duration=None)
    assert (cleared.message_retention_duration, cleared.retained_from) == (None, None)


def test_a_subscription_needs_a_topic(bench: Bench) -> None:
    with pytest.raises(NotFound, match="projects/local/topics/nowhere"):
        bench.store.create_subscription("lost", "nowhere")
    with pytest.raises(InvalidArgument, match="_deleted-topic_"):
        bench.store.create_subscription("lost", "_deleted-topic_")


@pytest.mark.trial
def test_listings_are_by_project_and_name_and_page(spark: SparkSession, tmp_path: object) -> None:
    store = PubSub(spark, f"{tmp_path}/store", clock=ManualClock())
    for name in ("bravo", "alpha", "projects/other/topics/alpha"):
        store.create_topic(name)
    for name in ("second", "first"):
        store.create_subscription(name, "alpha")
    first = store.list_topics(page_size=1)
    assert [topic.name for topic in first] == ["projects/local/topics/alpha"]
    rest = store.list_topics(page_size=1, page_token=first.next_page_token)
    assert [topic.name for topic in rest] == ["projects/local/topics/bravo"]
    assert rest.next_page_token == ""
    assert [t.name for t in store.list_topics(project="other")] == ["projects/other/topics/alpha"]
    names = ["projects/local/subscriptions/first", "projects/local/subscriptions/second"]
    assert [each.name for each in store.list_subscriptions()] == names
    assert store.list_topic_subscriptions("alpha") == names
    with pytest.raises(InvalidArgument, match="page_token"):
        store.list_topics(page_token="nonsense")


def test_a_deleted_topic_leaves_its_subscriptions_their_backlog(bench: Bench) -> None:
    topic, subscription = bench.pair()
    bench.store.publish(topic, ["kept"])
    bench.store.delete_topic(topic)
    # "its subscriptions survive with topic = _deleted-topic_ and keep their backlog"
    assert bench.store.get_subscription(subscription).topic == "_deleted-topic_"
    with pytest.raises(NotFound, match=topic):
        bench.store.publish(topic, ["x"])
    # "a new topic of the same name has nothing of the old one"
    bench.store.create_topic(topic)
    assert bench.store.list_topic_subscriptions(topic) == []
    assert bench.store.metrics(f"projects/local/topics/{topic}")["message_count"] == 0
    bench.store.publish(topic, ["new"])
    batch = bench.store.pull(subscription)
    assert [message.data for message in batch] == [b"kept"]
    assert batch.ack().counts["success"] == 1


def test_a_detached_subscription_has_nothing_and_gives_nothing(bench: Bench) -> None:
    topic, subscription = bench.pair()
    bench.store.publish(topic, ["dropped"])
    bench.store.detach_subscription(subscription)
    assert bench.store.get_subscription(subscription).detached
    assert bench.store.metrics(subscription)["num_undelivered_messages"] == 0
    assert bench.store.list_topic_subscriptions(topic) == []
    # "pull afterwards → FAILED_PRECONDITION"
    with pytest.raises(FailedPrecondition, match="detached"):
        bench.store.pull(subscription)


@pytest.mark.trial
def test_a_store_lives_in_a_catalog_schema_too(spark: SparkSession) -> None:
    store = PubSub(spark, "pubsub_tables", clock=ManualClock())
    store.create_topic("flights")
    store.create_subscription("delays", "flights")
    store.publish("flights", ["a", "b"])
    batch = store.pull("delays", 1)
    assert [message.data for message in batch] == [b"a"]
    assert batch.ack().counts["success"] == 1
    assert store.metrics("delays")["num_undelivered_messages"] == 1
    assert spark.table("pubsub_tables.topics").count() == 1
