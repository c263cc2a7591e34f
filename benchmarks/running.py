"""Run sections in one process and one session, and print one table.

The session is started by the first section that asks for it.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from functools import cache
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.measuring import Bench, Section, machine, markdown, write_json
from pubsub_delta import local_session


def main(sections: Mapping[str, Callable[[Bench], Section]]) -> None:
    """Run the sections that the command line names, or all of these."""
    parser = argparse.ArgumentParser(description="Time sections, and print ratios.")
    parser.add_argument("sections", nargs="*", help=f"of {', '.join(sections)}; default: all")
    parser.add_argument("--full", action="store_true", help="also what takes hours")
    parser.add_argument("--messages", type=int, default=10_000_000, help="default: 10,000,000")
    parser.add_argument("--rounds", type=int, default=3, help="counted rounds, default: 3")
    parser.add_argument("--spark-on-s3", action="store_true", help="fetches 0.7 GB once")
    parser.add_argument("--json", type=Path, help="put every run in here")
    parser.add_argument("--markdown", type=Path, help="write the tables here too")
    args = parser.parse_args()
    wanted = args.sections or list(sections)
    if unknown := [name for name in wanted if name not in sections]:
        parser.error(f"{unknown[0]!r} is not a section; {', '.join(sections)} are")
    conditions = f"{datetime.now(timezone.utc):%Y-%m-%d}; {machine()}; local[2], 4 GB heap"
    done = []
    for name in wanted:
        directory = tempfile.mkdtemp(prefix=f"pubsub_delta-{name}-")
        start = time.perf_counter()
        try:
            bench = Bench(
                _session, directory, args.messages, args.rounds, args.full, args.spark_on_s3
            )
            done.append(sections[name](bench))
        finally:
            shutil.rmtree(directory, ignore_errors=True)
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
        if args.markdown:
            args.markdown.write_text(markdown(done, conditions))
        if args.json:
            write_json(args.json, done, conditions)
    print(f"\n{markdown(done, conditions)}")


@cache
def _session() -> SparkSession:
    spark = local_session(driver_memory="4g", master="local[2]")
    spark.sparkContext.setLogLevel("ERROR")
    return spark
