"""Ten thousand random partial acks, nacks, new deadlines and expiries: do the spans stay few?

The operations are done in memory, which is where they are decided; every thousandth state is
stored in a real ack-state table and read again, to see what its size costs. A backlog of a million
messages, 600 s of simulated time between the first and the last tenth of the operations.
"""

from __future__ import annotations

import random
import statistics
import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

from benchmarks.measuring import Bench, Section
from pubsub_delta import DeadLetterPolicy, PubSub, RetryPolicy
from pubsub_delta.delivery.sources import Source, source
from pubsub_delta.policy import delivery, redelivery
from pubsub_delta.policy.ack_state import Absorbed, AckState, State
from pubsub_delta.policy.delivery import Terms
from pubsub_delta.policy.positions import Positions

OPERATIONS, SEED = 10_000, 7
BACKLOG = 1_000_000
BATCH = 1_000
READS = 15
START = datetime(2026, 1, 1, tzinfo=timezone.utc)


@dataclass
class Consumer:
    """Pulls, and then says something random of a random part of a random lease."""

    terms: Terms
    random: random.Random
    now: datetime = START
    state: AckState = field(default_factory=lambda: AckState(after_version=0))
    published: int = 0

    def publish(self) -> None:
        positions = Positions.between(self.published, self.published + BACKLOG // 100 - 1)
        self.published += BACKLOG // 100
        part = Absorbed(positions, self.now, self.now)
        self.state = delivery.absorb(self.state, [part], self.state.after_version + 1)

    def step(self) -> None:
        """Do one operation; a second or so passes."""
        self.now += timedelta(seconds=self.random.uniform(0, 2))
        if self.state.count(State.AVAILABLE) < BACKLOG // 2:
            self.publish()
        leases = self.state.in_state(State.LEASED)
        if not leases or self.random.random() < 0.4:
            self.state = delivery.settle(self.state, self.terms, self.now)
            self.state = redelivery.decide_forwarding(
                self.state, self.terms.subscription, "dead letters"
            )
            for number in redelivery.forwardings(self.state):
                self.state = redelivery.forwarded(self.state, number)
            self.state, _ = delivery.lease(self.state, BATCH, self.terms, self.now)
            return
        span = self.random.choice(leases)
        share = self.random.choice([0.01, 0.3, 0.7, 1.0])
        chosen = Positions.of(p for p in span.positions if self.random.random() < share)
        named = {span.lease_id or 0: chosen}
        what = self.random.random()
        if what < 0.5:
            self.state, _ = delivery.acknowledge(self.state, named, self.terms, self.now)
            return
        deadline = timedelta(0 if what < 0.8 else self.random.randint(1, 600) / 86_400)
        self.state, _ = delivery.modify_ack_deadline(
            self.state, named, self.terms, self.now, deadline
        )


def stored(store: PubSub, found: Source, state: AckState) -> tuple[float, float, int]:
    """Store a state and read it again; return the seconds of both and the bytes of its bitmaps.

    A read is a matter of milliseconds, so the median of several counts.
    """
    states = store._tables.ack_states
    start = time.perf_counter()
    states.change(found.uid, lambda _: (state, None))
    written = time.perf_counter()
    states.read(found.uid)  # the first read after a commit pays for the new snapshot
    reads = []
    for _ in range(READS):
        begun = time.perf_counter()
        assert states.read(found.uid) == state
        reads.append(time.perf_counter() - begun)
    size = sum(len(span.positions.to_bytes()) for span in state.spans)
    return written - start, statistics.median(reads), size


def spans(bench: Bench) -> Section:
    """Do random operations on one subscription; count its spans and time its reads."""
    section = Section(
        "spans", f"{OPERATIONS:,} random operations on {BACKLOG:,} messages, seed {SEED}."
    )
    store = PubSub(None, f"{bench.directory}/store")
    store.create_topic("messages")
    store.create_topic("dead-letters")
    store.create_subscription(
        "random",
        "messages",
        ack_deadline_seconds=60,
        retry_policy=RetryPolicy("1s", "600s"),
        dead_letter_policy=DeadLetterPolicy("dead-letters", 100),
    )
    found = source(store._tables, store._subscription("random"))
    consumer = Consumer(found.terms, random.Random(SEED))
    most, kilobytes = 0, 0
    for number in range(1, OPERATIONS + 1):
        section.time("an operation, in memory", consumer.step)
        most = max(most, len(consumer.state.spans))
        if number % (OPERATIONS // 10) == 0:
            write, read, size = stored(store, found, consumer.state)
            section.add("store the state", write)
            section.add("read it again", read)
            kilobytes = max(kilobytes, size // 1000)
    reads = section.seconds["read it again"]
    section.ratio("most spans at any time", most, 2000)
    half = len(reads) // 2
    flat = statistics.median(reads[half:]) / statistics.median(reads[:half])
    section.ratio("reads: × in the second half against the first", flat, 1.3)
    section.facts["bitmaps of a state at most, kB"] = f"{kilobytes:,}"
    return section
