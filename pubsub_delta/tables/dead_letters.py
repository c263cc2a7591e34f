"""Dead letters: exhausted messages go to another topic, once each, whoever dies in between.

Three steps, each of which can be repeated. A commit of the ack state moves the messages to a
forwarding with a number of its own; they are appended to the dead-letter topic under that number,
which Delta skips if it has landed before; another commit forgets them. Forwardings are taken up in
the order of their numbers, by whoever comes next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pubsub_delta.names import subscription_name
from pubsub_delta.policy import redelivery
from pubsub_delta.policy.ack_state import AckState, Span
from pubsub_delta.resources import Subscription
from pubsub_delta.tables.columns import rfc3339, value_of_span
from pubsub_delta.tables.commits import repeat_on_conflict
from pubsub_delta.tables.ordering import in_key_order
from pubsub_delta.tables.store import Source, Tables

GONE = "does not exist any more; create it, or set another dead_letter_policy"
_PREFIX = "CloudPubSubDeadLetterSource"


@dataclass(frozen=True)
class Forwarded:
    """How many messages were forwarded, and what kept others from it."""

    count: int = 0
    problem: str | None = None


def decide_forwarding(
    tables: Tables, source: Source, state: AckState
) -> tuple[AckState, str | None]:
    """Move exhausted messages to a forwarding; say what is wrong if there is nowhere to go."""
    policy = source.subscription.dead_letter_policy
    exhausted = redelivery.exhausted(state, source.subscription)
    if policy is None or not exhausted:
        return state, None
    topic = tables.registry.topic(policy.dead_letter_topic)
    if topic is None or not tables.messages(topic.uid).exists():
        count = sum(map(len, exhausted))
        return state, _kept(source, count, f"{policy.dead_letter_topic} {GONE}")
    return redelivery.decide_forwarding(state, source.subscription, topic.uid), None


def forward(tables: Tables, source: Source, now: datetime) -> Forwarded:
    """Write what is being forwarded to its dead-letter topic, and forget it here."""
    count, problem = 0, None
    forwarded = partial(redelivery.forwarded, retain=source.subscription.retain_acked_messages)
    for number, spans in redelivery.forwardings(tables.ack_states.read(source.uid)).items():
        messages = sum(map(len, spans))
        target = spans[0].forward_to
        assert target is not None
        done: _Step = forwarded
        topic = tables.registry.topic_of_uid(target)
        if topic is None or not tables.messages(target).exists():
            done, problem = redelivery.give_back, _kept(source, messages, GONE)
        else:
            try:
                _append(tables, source, target, number, spans, now)
            except Exception as error:
                why = next(iter(str(error).splitlines()), repr(error))
                return Forwarded(
                    count, _kept(source, messages, f"{topic.name} cannot be written: {why}")
                )
            count += messages
        tables.ack_states.change(source.uid, partial(_finish, done, number))
    return Forwarded(count, problem)


_Step = Callable[[AckState, int], AckState]


def _finish(step: _Step, number: int, state: AckState) -> tuple[AckState, None]:
    return step(state, number), None


def _append(
    tables: Tables, source: Source, target: str, number: int, spans: Sequence[Span], now: datetime
) -> None:
    uid = source.uid
    rows = source.messages.read(spans, source.messages.history.version())
    letters = _letters(in_key_order(rows, F.col("position")), source.subscription, spans)
    repeat_on_conflict(
        lambda: tables.messages(target).append(letters, now, f"{uid}:{number}", (uid, number)),
        f"dead letters of {source.subscription.name}",
    )


def _letters(rows: DataFrame, subscription: Subscription, spans: Sequence[Span]) -> DataFrame:
    """Give messages the attributes that tell where they come from."""
    own_name = subscription_name(subscription.name, project="")
    deliveries = value_of_span([span.delivery_attempt - 1 for span in spans])
    told = {
        "DeliveryCount": deliveries.cast("string"),
        "Subscription": F.lit(own_name.id),
        "SubscriptionProject": F.lit(own_name.project),
        "TopicPublishTime": rfc3339(F.col("publish_time")),
    }
    added = [part for key, value in told.items() for part in (F.lit(_PREFIX + key), value)]
    own = F.map_filter(
        F.coalesce("attributes", F.create_map().cast("map<string,string>")),
        lambda key, _: ~key.isin([_PREFIX + each for each in told]),
    )
    return rows.select(
        "data", F.map_concat(own, F.create_map(*added)).alias("attributes"), "ordering_key"
    )


def _kept(source: Source, count: int, why: str) -> str:
    return (
        f"{count:,} message{'s' * (count != 1)} of {source.subscription.name} could not be "
        f"forwarded, and nothing is lost: the dead-letter topic {why}"
    )
