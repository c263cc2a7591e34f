"""Forwarding to dead-letter topics, and who dies on the way (spec section 4)."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import Any

import pytest

from pubsub_delta import DeadLetterPolicy, DeadLetterWarning, Message, PubSub, ReceivedMessage
from pubsub_delta.delivery import dead_letters
from pubsub_delta.policy.ack_state import AckState, State
from pubsub_delta.policy.spans import with_spans
from tests.conftest import Bench

FIVE = 5
PREFIX = "CloudPubSubDeadLetterSource"


class Setting:
    """A topic with a subscription whose failures go to another topic, and one there."""

    def __init__(self, bench: Bench, project: str = "local", **fields: Any) -> None:
        self.bench, self.store = bench, bench.store
        self.dead = f"projects/{project}/topics/{bench.unused('dead')}"
        self.store.create_topic(self.dead)
        self.topic = bench.topic()
        self.source = bench.subscription(
            self.topic, dead_letter_policy=DeadLetterPolicy(self.dead, FIVE), **fields
        )
        self.letters = bench.subscription(self.dead)

    def exhaust(
        self, *messages: Message | str, again: int = 0, store: PubSub | None = None
    ) -> None:
        """Publish messages, and have them fail their last permitted attempt, with some others."""
        store = store or self.store
        store.publish(self.topic, messages)
        batch = store.pull(self.source)
        assert batch.message_count == len(messages) + again

        def hurry(state: AckState) -> tuple[AckState, None]:
            leased = [
                replace(span, delivery_attempt=FIVE) if span.state is State.LEASED else span
                for span in state.spans
            ]
            return with_spans(state, leased), None

        uid = store.get_subscription(self.source).uid
        store._tables.ack_states.change(uid, hurry)
        batch.nack()

    def forwarded(self) -> list[ReceivedMessage]:
        batch = self.store.pull(self.letters)
        found = list(batch)
        batch.ack()
        return found

    def count(self) -> int:
        return int(self.store.metrics(self.source)["dead_letter_message_count"])


@pytest.fixture(scope="module")
def setting(bench: Bench) -> Setting:
    return Setting(bench)


def test_after_the_last_permitted_attempt_a_message_is_forwarded_by_a_pull(bench: Bench) -> None:
    # "a new message (new id and publish time) … with the original data, attributes and ordering
    # key plus … SourceDeliveryCount, …Subscription (id), …Project, …TopicPublishTime (RFC 3339)"
    it = Setting(bench, project="elsewhere")
    published = bench.clock.now()
    attributes = {"lang": "en", f"{PREFIX}Subscription": "of an earlier one"}
    it.store.publish(it.topic, [Message(b"bad", attributes, "key")])
    for attempt in range(1, FIVE):
        batch = it.store.pull(it.source)
        assert [message.delivery_attempt for message in batch] == [attempt]
        batch.nack()
    assert it.store.pull(it.source).message_count == 1
    bench.clock.advance(10)
    assert it.store.metrics(it.source)["num_undelivered_messages"] == 1  # "Until then … backlog"
    assert it.store.pull(it.source).message_count == 0
    assert it.store.metrics(it.source)["num_undelivered_messages"] == 0
    assert it.count() == 1
    (letter,) = it.forwarded()
    assert (letter.data, letter.ordering_key) == (b"bad", "key")
    assert letter.publish_time == bench.clock.now() > published
    assert letter.attributes == {
        "lang": "en",
        f"{PREFIX}DeliveryCount": "5",
        f"{PREFIX}Subscription": it.source,
        f"{PREFIX}SubscriptionProject": "local",
        f"{PREFIX}TopicPublishTime": published.isoformat().replace("+00:00", "Z"),
    }


class Dies(BaseException):
    """The process stops here; nobody handles it."""


@pytest.mark.parametrize("after_the_append", [pytest.param(False, marks=pytest.mark.trial), True])
def test_a_crash_on_the_way_neither_loses_nor_duplicates(
    bench: Bench, setting: Setting, monkeypatch: pytest.MonkeyPatch, after_the_append: bool
) -> None:
    # "A crash between those two steps must neither lose nor duplicate the forwarded message."
    it, before = setting, setting.count()
    it.exhaust("first")
    append = dead_letters._append

    def dying(*args: Any) -> bool:
        if after_the_append:
            append(*args)
        raise Dies

    with monkeypatch.context() as patch:
        patch.setattr(dead_letters, "_append", dying)
        with pytest.raises(Dies):
            it.store.pull(it.source)
    assert it.count() == before
    states = [row["state"] for row in it.store.backlog(it.source).select("state").collect()]
    assert states == ["forwarding"]
    # Somebody else comes, and another message is exhausted by then: in the order of their numbers.
    other = bench.another()
    it.exhaust("second", store=other)
    # "Forwarding happens at pull and in the maintenance job."
    if after_the_append:
        assert other.pull(it.source).message_count == 0
    else:
        assert other.maintain().dead_letters[f"projects/local/subscriptions/{it.source}"] == 1
    assert [letter.data for letter in it.forwarded()] == [b"first", b"second"]
    told = it.store.metrics(it.source)
    assert told["dead_letter_message_count"] == before + 2
    assert told["num_undelivered_messages"] == 0


@pytest.mark.trial
def test_without_its_topic_nothing_is_forwarded_or_lost(bench: Bench) -> None:
    # "If the dead-letter topic cannot be written (gone) … the message stays on the source and the
    # failure is reported."
    it = Setting(bench)
    it.exhaust("a")
    shutil.rmtree(bench.messages_table(it.dead).split("`")[1])
    it.store.publish(it.topic, ["b"])
    with pytest.warns(
        DeadLetterWarning, match="1 message of .* nothing is lost: .* cannot be written: .* is gone"
    ):
        batch = it.store.pull(it.source)
    assert [message.data for message in batch] == [b"b"]  # others keep flowing
    problems = it.store.maintain().problems  # and the subscription there has one, too
    assert it.dead in problems[f"projects/local/subscriptions/{it.source}"]
    assert (it.count(), it.store.metrics(it.source)["num_undelivered_messages"]) == (0, 2)
    # Another topic helps; so would clearing the policy.
    another = bench.topic()
    letters = bench.subscription(another)
    it.store.update_subscription(it.source, dead_letter_policy=DeadLetterPolicy(another))
    assert it.store.pull(it.source).message_count == 0
    assert [letter.data for letter in it.store.pull(letters)] == [b"a"]


def test_messages_of_different_attempts_share_a_batch(bench: Bench, setting: Setting) -> None:
    it = setting
    first = int(it.store.publish(it.topic, [f"{n}" for n in range(120)]).message_ids[0])
    batch = it.store.pull(it.source)
    odd = batch.df.where(f"(CAST(message_id AS BIGINT) - {first}) % 2 = 1").select("ack_id")
    batch.nack(odd)
    bench.clock.advance(10)
    it.store.pull(it.source, 60).nack()
    rows = it.store.pull(it.source).df.select("message_id", "delivery_attempt").collect()
    attempts = {int(row[0]) - first: row[1] for row in rows}
    assert attempts == {n: 2 + (n < 60) for n in range(120)}


def test_after_a_restore_of_the_ack_state_what_is_forwarded_then_arrives(bench: Bench) -> None:
    """The dead-letter topic knows the numbers that were given out before: Delta skips them."""
    it = Setting(bench)
    it.store._tables.ack_states._lease_id_gap = lambda: 0  # so that they are given out again
    it.exhaust("first")
    assert it.store.pull(it.source).message_count == 0  # forwards it
    bench.spark.sql(f"RESTORE TABLE {bench.ack_state_table(it.source)} TO VERSION AS OF 0")
    other = bench.another()
    other._tables.ack_states._lease_id_gap = lambda: 0
    it.exhaust("later", again=1, store=other)
    assert other.pull(it.source).message_count == 0
    letters = sorted(letter.data for letter in it.forwarded())
    assert letters == [b"first", b"first", b"later"]
    assert it.store.metrics(it.source)["num_undelivered_messages"] == 0
