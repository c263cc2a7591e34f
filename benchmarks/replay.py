"""What a seek and a snapshot cost, with a large backlog against a small one, and the pull after.

Two topics, published in ten commits each, with a subscription that retains acknowledged messages
and has acknowledged half. Each round seeks to the middle, pulls one message, takes a snapshot,
seeks to it and pulls again; and a new subscription seeks to the beginning, which the topic's own
retention covers. Medians of the counted rounds after two warm-ups. A first pull is compared with
the absorb and the second pull of the same round, so that a slow minute weighs on both.

    python benchmarks/replay.py [--messages 5000000] [--rounds 9] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

from drain import make_payloads
from pyspark.sql import SparkSession

from pubsub_delta import ManualClock, PubSub, local_session

T = TypeVar("T")

SMALL = 5_000
COMMITS = 10
WARM_UPS = 2
FIRST_PULLS = {
    "first pull after it": "a normal pull",
    "first pull after that": "a normal pull",
    "its first pull": "its second pull",
}


class Backlog:
    """A topic with so many messages, and a subscription that knows them all."""

    def __init__(self, spark: SparkSession, root: str, count: int) -> None:
        self.clock = ManualClock()
        self.store = PubSub(spark, f"{root}/store-{count}", clock=self.clock)
        self.count = count
        topic = self.store.create_topic("messages", message_retention_duration="31d")
        self.messages = self.store._tables.messages(topic.uid)
        self.store.create_subscription("reader", "messages", retain_acked_messages=True)
        payloads = make_payloads(spark, f"{root}/payloads-{count}", count // COMMITS)
        stamps = []
        for _ in range(COMMITS):
            self.clock.advance(60)
            stamps.append(self.clock.now())
            self.store.publish("messages", payloads)
        self.middle = stamps[COMMITS // 2]
        self.store.pull("reader", count // 2).ack()
        self.seconds: dict[str, list[float]] = {}
        self.turn = 0

    def timed(self, what: str, step: Callable[[], T]) -> T:
        start = time.perf_counter()
        result = step()
        if self.turn > WARM_UPS:
            self.seconds.setdefault(what, []).append(time.perf_counter() - start)
        return result

    def round(self) -> None:
        """Do everything once."""
        self.turn += 1
        store, clock, name = self.store, self.clock, f"snapshot-{self.turn}"
        clock.advance(3600)  # the leases of the round before are over
        middle = self.middle
        self.timed("seek to a time", lambda: store.seek("reader", time=middle))
        self.timed("first pull after it", lambda: store.pull("reader", 1))
        self.timed("a normal pull", lambda: store.pull("reader", 1))
        self.timed("create_snapshot", lambda: store.create_snapshot(name, "reader"))
        self.timed("seek to a snapshot", lambda: store.seek("reader", snapshot=name))
        self.timed("first pull after that", lambda: store.pull("reader", 1))
        late = f"late-{self.turn}"
        store.create_subscription(late, "messages")
        beginning = middle - timedelta(days=1)
        self.timed("seek of a new subscription", lambda: store.seek(late, time=beginning))
        batch = self.timed("its first pull", lambda: store.pull(late, 1))
        assert batch.message_count == 1
        self.timed("its second pull", lambda: store.pull(late, 1))
        assert store.metrics(late)["num_undelivered_messages"] == self.count
        commits, known = self.messages.history.commits_after(-1)
        self.timed("absorb of all", lambda: self.messages.absorb(-1, commits, known))
        store.delete_subscription(late)
        store.delete_snapshot(name)

    def median(self, what: str) -> float:
        """Return the median of the counted rounds."""
        return statistics.median(self.seconds[what])

    def paired(self, first: str, second: str) -> float:
        """Return the median over the rounds of a first pull against an absorb and a second."""
        rounds = zip(
            self.seconds[first], self.seconds["absorb of all"], self.seconds[second], strict=True
        )
        return statistics.median(one / (absorb + other) for one, absorb, other in rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--messages", type=int, default=5_000_000, help="default: 5,000,000")
    parser.add_argument("--rounds", type=int, default=9, help="counted rounds, default: 9")
    parser.add_argument("--json", type=Path, help="write the figures here too")
    args = parser.parse_args()
    spark = local_session(driver_memory="4g", master="local[2]")
    spark.sparkContext.setLogLevel("ERROR")
    root = tempfile.mkdtemp(prefix="pubsub_delta-replay-")
    try:
        small, large = Backlog(spark, root, SMALL), Backlog(spark, root, args.messages)
        for _ in range(args.rounds + WARM_UPS):
            small.round()
            large.round()
    finally:
        shutil.rmtree(root, ignore_errors=True)
    print(f"{SMALL:,} against {args.messages:,} messages; {args.rounds} rounds, in turn\n")
    print(f"| step | {SMALL:,}, s | {args.messages:,}, s | ratio |\n|---|---:|---:|---:|")
    for what in large.seconds:
        a, b = small.median(what), large.median(what)
        print(f"| {what} | {a:.2f} | {b:.2f} | {b / a:.2f} |")
    print("\nA first pull against an absorb of all and a second pull of the same round (≤ 1):")
    for first, second in FIRST_PULLS.items():
        print(f"{first}: {large.paired(first, second):.2f}")
    if args.json:
        args.json.write_text(json.dumps({"small": small.seconds, "large": large.seconds}, indent=2))


if __name__ == "__main__":
    main()
