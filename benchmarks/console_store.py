"""The store that the console is measured on: one large topic, and subscriptions in all states."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pyspark.sql import functions as F

from benchmarks.floor import make_payloads
from benchmarks.measuring import Bench
from pubsub_delta import DeadLetterPolicy, ManualClock, PubSub
from pubsub_delta.operations.pull import exchange
from pubsub_delta.policy.ack_requests import AckRequest

TOPIC, LETTERS = "messages", "letters"
DAYS, COMMITS_A_DAY = 5, 2
DAY = 86_400
FILTER = 'attributes.k = "v7"'
ATTEMPTS = 5
FEW = 1_000
SMALL_BATCHES = 30

SUBSCRIPTIONS: dict[str, dict[str, Any]] = {
    "untouched": {},
    "half": {},
    "leased": {},
    "filtered": {"filter": FILTER},
    "filtered-untouched": {"filter": FILTER},
    "lettered": {"dead_letter_policy": DeadLetterPolicy(LETTERS, max_delivery_attempts=ATTEMPTS)},
    "sought-back": {},
    "retaining": {"retain_acked_messages": True, "message_retention_duration": "3d"},
    "busy": {},
}
STATES = {
    "untouched": "nobody has pulled",
    "half": "all were leased, a random half acknowledged, and the other half's leases are over",
    "leased": "half are leased",
    "filtered": "a tenth pass the filter, of which 1,000 are acknowledged",
    "filtered-untouched": "the same filter, and nobody has pulled",
    "lettered": "1,000 were forwarded to the dead-letter topic",
    "sought-back": "all are acknowledged, and a seek to the middle is noted",
    "retaining": "all are acknowledged, and kept for three of the five days",
    "busy": "30 batches of 1,000 were pulled and acknowledged",
}
SNAPSHOTS = {"of-all": "untouched", "of-half": "half"}


@dataclass(frozen=True)
class Filled:
    """A store that is in use. ``middle``: when half of the messages had been published."""

    store: PubSub
    clock: ManualClock
    middle: datetime


def filled(bench: Bench) -> Filled:
    """Publish the messages over some days, and bring each subscription into its state."""
    clock = ManualClock()
    store = PubSub(bench.spark, f"{bench.directory}/store", clock=clock)
    store.create_topic(TOPIC, message_retention_duration="31d")
    store.create_topic(LETTERS)
    store.create_subscription("letters-kept", LETTERS)
    for name, fields in SUBSCRIPTIONS.items():
        store.create_subscription(name, TOPIC, ack_deadline_seconds=600, **fields)
    commits = DAYS * COMMITS_A_DAY
    payloads = make_payloads(bench.spark, f"{bench.directory}/payloads", bench.messages // commits)
    stamps = []
    for _ in range(commits):
        clock.advance(DAY / COMMITS_A_DAY)
        stamps.append(clock.now())
        store.publish(TOPIC, payloads)
    made = Filled(store, clock, stamps[commits // 2])
    clock.advance(60)
    _use(made, bench.messages)
    for snapshot, of in SNAPSHOTS.items():
        store.create_snapshot(snapshot, of)
    return made


def _use(made: Filled, count: int) -> None:
    store, clock = made.store, made.clock
    batch = store.pull("half")
    some = batch.df.where(F.xxhash64("message_id") % 2 == 0).select("ack_id")
    assert 0.4 * count < batch.ack(some).counts["success"] < 0.6 * count
    store.pull("filtered", FEW).ack()
    _wear_out(store, clock.now())
    for name in ("sought-back", "retaining"):
        assert store.pull(name).ack().counts["success"] == count
    for _ in range(SMALL_BATCHES):
        clock.advance(20)
        store.pull("busy", FEW).ack()
    clock.advance(60)
    store.seek("sought-back", time=made.middle)
    store.pull("leased", count // 2)
    assert store.metrics("lettered")["dead_letter_message_count"] == FEW
    assert store.metrics("untouched")["num_undelivered_messages"] == count


def _wear_out(store: PubSub, now: datetime) -> None:
    """Let a few messages fail all their attempts. The others would come first, and so are held."""
    batch, others = store.pull("lettered", FEW), store.pull("lettered")
    for _ in range(ATTEMPTS):
        assert batch.nack().counts["success"] == FEW
        batch = store.pull("lettered", FEW)
    assert others._lease is not None
    held = {others._lease.lease_id: others._lease.positions}
    name, uid = store._subscription("lettered"), store.get_subscription("lettered").uid
    exchange(store._tables, name, AckRequest(given_back=held), max_messages=0, now=now, uid=uid)
