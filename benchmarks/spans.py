"""Ten thousand random partial acks, nacks, new deadlines and expiries: do the spans stay few?

The operations are done in memory, which is where they are decided; every thousandth state is
stored in a real ack-state table and read again, to see what its size costs. A backlog of a million
messages, 600 s of simulated time between the first and the last tenth of the operations.

    python benchmarks/spans.py [--operations 10000] [--seed 7] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import tempfile
import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path

from pubsub_delta import DeadLetterPolicy, PubSub, RetryPolicy, Subscription, local_session
from pubsub_delta.policy import delivery, redelivery
from pubsub_delta.policy.ack_state import Absorbed, AckState, State
from pubsub_delta.policy.delivery import Terms
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.store import Source

BACKLOG = 1_000_000
BATCH = 1_000
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


def stored(store: PubSub, source: Source, state: AckState) -> tuple[float, float, int]:
    """Store a state and read it again; return the seconds of both and the bytes of its bitmaps."""
    states = store._tables.ack_states
    start = time.perf_counter()
    states.change(source.uid, lambda _: (state, None))
    written = time.perf_counter()
    states.read(source.uid)  # the first read after a commit pays for the new snapshot
    warm = time.perf_counter()
    assert states.read(source.uid) == state
    size = sum(len(span.positions.to_bytes()) for span in state.spans)
    return written - start, time.perf_counter() - warm, size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--operations", type=int, default=10_000, help="default: 10,000")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", type=Path, help="write the figures here too")
    args = parser.parse_args()
    spark = local_session(driver_memory="2g", master="local[2]")
    spark.sparkContext.setLogLevel("ERROR")
    root = tempfile.mkdtemp(prefix="pubsub_delta-spans-")
    try:
        store = PubSub(spark, root)
        store.create_topic("messages")
        store.create_topic("dead-letters")
        subscription: Subscription = store.create_subscription(
            "random",
            "messages",
            ack_deadline_seconds=60,
            retry_policy=RetryPolicy("1s", "600s"),
            dead_letter_policy=DeadLetterPolicy("dead-letters", 100),
        )
        source = store._tables.source(store._subscription(subscription.name))
        consumer = Consumer(source.terms, random.Random(args.seed))
        most, rows, busy = 0, [], 0.0
        for number in range(1, args.operations + 1):
            start = time.perf_counter()
            consumer.step()
            busy += time.perf_counter() - start
            most = max(most, len(consumer.state.spans))
            if number % (args.operations // 10) == 0:
                write, read, size = stored(store, source, consumer.state)
                rows.append(
                    {
                        "operations": number,
                        "spans": len(consumer.state.spans),
                        "kB": round(size / 1000),
                        "ms an operation": round(busy / (args.operations // 10) * 1000, 1),
                        "write s": round(write, 2),
                        "read s": round(read, 3),
                    }
                )
                busy = 0.0
    finally:
        shutil.rmtree(root, ignore_errors=True)
    print(f"| {' | '.join(rows[0])} |\n|{'---:|' * len(rows[0])}")
    for row in rows:
        print(f"| {' | '.join(map(str, row.values()))} |")
    half = len(rows) // 2
    flat = statistics.median(float(r["read s"]) for r in rows[half:]) / statistics.median(
        float(r["read s"]) for r in rows[:half]
    )
    print(f"\nmost spans at any time (≤ 2,000): {most}")
    print(f"reads, second half against first half (flat): {flat:.2f}")
    if args.json:
        args.json.write_text(json.dumps({"rows": rows, "most": most, "flat": flat}, indent=2))


if __name__ == "__main__":
    main()
