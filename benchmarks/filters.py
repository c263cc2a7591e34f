"""What a filter costs: absorb messages of which a tenth match, against absorbing all of them.

Two subscriptions of one topic, one with a filter; each round publishes the messages to a fresh
topic and looks at both backlogs in turn, which absorbs without writing. Medians of the counted
rounds after one warm-up.

    python benchmarks/filters.py [--messages 10000000] [--rounds 5] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from drain import make_payloads

from pubsub_delta import PubSub, local_session
from pubsub_delta.policy.filters import parse_filter

FILTER = 'attributes.k = "v7"'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--messages", type=int, default=10_000_000, help="default: 10,000,000")
    parser.add_argument("--rounds", type=int, default=5, help="counted runs, default: 5")
    parser.add_argument("--json", type=Path, help="write the figures here too")
    args = parser.parse_args()
    spark = local_session(driver_memory="4g", master="local[2]")
    spark.sparkContext.setLogLevel("ERROR")
    root = tempfile.mkdtemp(prefix="pubsub_delta-filters-")
    seconds: dict[str, list[float]] = {"by files": [], "by rows": [], "filtered": []}
    try:
        store = PubSub(spark, root)
        topic = store.create_topic("messages")
        store.publish("messages", make_payloads(spark, f"{root}/payloads", args.messages))
        messages = store._tables.messages(topic.uid)
        after = 0
        for turn in range(args.rounds + 1):
            for what in seconds:
                start = time.perf_counter()
                commits, known = messages.history.commits_after(after)
                if what == "by rows":
                    found = messages.absorb(after, commits, known=False)
                else:
                    wanted = parse_filter(FILTER) if what == "filtered" else None
                    found = messages.absorb(after, commits, known, wanted)
                count = sum(len(part.positions) for part in found)
                if turn:
                    seconds[what].append(time.perf_counter() - start)
                assert count == (args.messages // 10 if what == "filtered" else args.messages)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    print(f"{args.messages:,} messages, a tenth match; {args.rounds} rounds after a warm-up\n")
    print("| absorb | median s | min | max |\n|---|---:|---:|---:|")
    for what, found_in in seconds.items():
        median = statistics.median(found_in)
        print(f"| {what} | {median:.2f} | {min(found_in):.2f} | {max(found_in):.2f} |")
    medians = {what: statistics.median(found_in) for what, found_in in seconds.items()}
    print(f"\nfiltered against unfiltered, by files (≤ 1.5): "
          f"{medians['filtered'] / medians['by files']:.2f}")  # fmt: skip
    print(f"filtered against unfiltered, by rows: {medians['filtered'] / medians['by rows']:.2f}")
    if args.json:
        args.json.write_text(json.dumps(seconds, indent=2))


if __name__ == "__main__":
    main()
