"""The store that the console is measured on: a large topic, dead letters, and 500 subscriptions.

It is written by the direct lane, up to the present, so that a console that is started as a program
shows it. ``python -m benchmarks.console_store DIRECTORY`` writes it to be looked at.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pubsub_delta import (
    DeadLetterPolicy,
    ManualClock,
    Message,
    PubSub,
    RetryPolicy,
    SystemClock,
)

LARGE, LETTERS, REPAIR = "orders", "orders-dead-letters", "orders-repair"
SMALL_TOPICS = 24
SUBSCRIPTIONS = 500
ON_THE_LARGE = 240
DAYS, COMMITS_A_DAY = 5, 4
LETTER_COUNT = 200_000
OF_A_SMALL_ONE = 200
"""Messages a day of each small topic."""
POISONED = b'{"order": 4711, "total": "poisoned"}'
DAY = 86_400
FEW, WINDOW, SMALL_BATCHES = 1_000, 100_000, 10
FILTER = 'attributes.carrier = "UA"'
FILTERED = 8
"""Subscriptions of the large topic that have a filter."""
CARRIERS = ("UA", "AA", "DL", "B6", "WN")


@dataclass(frozen=True)
class Filled:
    """A store that is in use. ``middle``: when half of the messages had been published."""

    store: PubSub
    clock: ManualClock
    middle: datetime


@dataclass(frozen=True)
class _Kind:
    """Subscriptions in one state: how they are created, and what brings them into it."""

    fields: dict[str, Any]
    use: Callable[[Filled, str, int], None]
    state: str


def _leave(_: Filled, __: str, ___: int) -> None:
    pass


def _ack_all(made: Filled, name: str, _: int) -> None:
    made.store.pull(name).ack()


def _ack_half(made: Filled, name: str, count: int) -> None:
    made.store.pull(name, count // 2).ack()


def _lease(made: Filled, name: str, count: int) -> None:
    made.store.pull(name, count // 10)


def _ack_at_random(made: Filled, name: str, count: int) -> None:
    """Acknowledge half of a window, each message with the chance of a coin: many ranges."""
    batch = made.store.pull(name, min(WINDOW, count))
    ids = batch.arrow()["ack_id"].combine_chunks()
    chance = random.Random(name)
    batch.ack(ids.filter(pa.array([chance.random() < 0.5 for _ in range(len(ids))])))


def _nack(made: Filled, name: str, _: int) -> None:
    made.store.pull(name, FEW).nack()


def _ack_often(made: Filled, name: str, _: int) -> None:
    for _ in range(SMALL_BATCHES):
        made.store.pull(name, FEW).ack()


def _seek_back(made: Filled, name: str, _: int) -> None:
    made.store.pull(name).ack()
    made.store.seek(name, time=made.middle)


KINDS = {
    "untouched": _Kind({}, _leave, "nobody has pulled"),
    "drained": _Kind({}, _ack_all, "all are acknowledged"),
    "half": _Kind({}, _ack_half, "the older half is acknowledged"),
    "leased": _Kind({}, _lease, "a tenth was leased, and the leases are over"),
    "scattered": _Kind({}, _ack_at_random, f"of {WINDOW:,} a random half is acknowledged"),
    "failing": _Kind(
        {"retry_policy": RetryPolicy("60s", "600s"), "dead_letter_policy": True},
        _nack,
        "1,000 back off, on their way to dead letters",
    ),
    "busy": _Kind({}, _ack_often, f"{SMALL_BATCHES} batches of 1,000 are acknowledged"),
    "sought-back": _Kind(
        {"retain_acked_messages": True}, _seek_back, "all were acknowledged, and sought back"
    ),
}


def filled(directory: str, messages: int) -> Filled:
    """Publish the messages over some days, and bring each subscription into its state."""
    start = SystemClock().now() - timedelta(days=DAYS, minutes=30)
    clock = ManualClock(start)
    store = PubSub(None, directory, clock=clock)
    store.create_topic(LARGE, message_retention_duration="7d", labels={"team": "orders"})
    store.create_topic(LETTERS)
    store.create_subscription(REPAIR, LETTERS)
    smalls = [f"events-{number:02}" for number in range(SMALL_TOPICS)]
    for name in smalls:
        store.create_topic(name, message_retention_duration="7d", labels={"team": name[-2:]})
    made = Filled(store, clock, start + timedelta(days=DAYS / 2))
    named = dict(_named(smalls))
    for name, (topic, kind, is_filtered) in named.items():
        fields = dict(KINDS[kind].fields)
        if fields.pop("dead_letter_policy", None):
            fields["dead_letter_policy"] = DeadLetterPolicy(LETTERS)
        if is_filtered:
            fields["filter"] = FILTER
        store.create_subscription(name, topic, ack_deadline_seconds=600, **fields)
    commits = DAYS * COMMITS_A_DAY
    for number in range(commits):
        clock.advance(DAY / COMMITS_A_DAY)
        store.publish(LARGE, _orders(number * messages // commits, messages // commits))
        if number % COMMITS_A_DAY == 0:
            for name in smalls:
                store.publish(name, _orders(number * OF_A_SMALL_ONE, OF_A_SMALL_ONE))
    for name, (topic, kind, _) in named.items():
        KINDS[kind].use(made, name, messages if topic == LARGE else OF_A_SMALL_ONE * DAYS)
    _write_letters(made)
    store.create_snapshot("before-deploy", next(iter(named)))
    return made


def _named(smalls: list[str]) -> Any:
    kinds = list(KINDS)
    for number in range(SUBSCRIPTIONS - 2):  # and those of dead letters
        kind = kinds[number % len(kinds)]
        is_large = number < ON_THE_LARGE
        topic = LARGE if is_large else smalls[number % len(smalls)]
        is_filtered = is_large and number >= ON_THE_LARGE - FILTERED
        filtered = "filtered-" if is_filtered else ""
        yield f"{topic}-{filtered}{kind}-{number:03}", (topic, kind, is_filtered)


def _orders(first: int, count: int) -> pa.Table:
    numbers = pa.array(range(first, first + count))
    data = pc.binary_join_element_wise('{"order": ', pc.cast(numbers, pa.string()), "}", "")
    keys = pa.array(["carrier"] * count)
    offsets = pa.array(range(count + 1), pa.int32())
    values = pa.DictionaryArray.from_arrays(
        pc.cast(pa.array([n % len(CARRIERS) for n in range(count)]), pa.int32()), pa.array(CARRIERS)
    ).cast(pa.string())
    attributes = pa.MapArray.from_arrays(offsets, keys, values)
    return pa.table({"data": data.cast(pa.binary()), "attributes": attributes})


def _write_letters(made: Filled) -> None:
    """Let one message fail all its attempts, among many other dead letters."""
    store, clock = made.store, made.clock
    store.create_subscription(
        "billing", LARGE, ack_deadline_seconds=600, dead_letter_policy=DeadLetterPolicy(LETTERS)
    )
    store.publish(LETTERS, _orders(0, LETTER_COUNT // 2))
    store.publish(LARGE, [Message(POISONED, {"carrier": "UA"}, "customer-17")])
    for _ in range(6):
        batch = store.pull("billing")
        if batch.message_count:
            batch.nack()
        clock.advance(1)
    store.publish(LETTERS, _orders(LETTER_COUNT // 2, LETTER_COUNT // 2))


if __name__ == "__main__":
    begun = time.perf_counter()
    filled(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10_000_000)
    print(f"{time.perf_counter() - begun:.0f} s")
