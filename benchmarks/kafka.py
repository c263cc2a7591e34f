"""Kafka 4.1 as a peer: produce, consume, and consume with a share group, by Kafka's own tools.

One broker and one client at a time share the machine, as a store and its Spark do. Each round has a
topic of its own; a smaller one before them warms the broker up and is not counted. Settings follow
what Kafka's documentation advises for throughput (TUNED): large batches that wait a little, no
compression, large fetches, many records at a time with share consumers. Or they are Kafka's own
(AS_IT_COMES).

What a rate is: messages by the seconds that the tool itself reports, without the start of its JVM
and without joining the group. ProducerPerformance: from the first send to the last answer of the
broker. ConsumerPerformance: its fetch.time.ms; joining is its rebalance.time.ms, and offsets are
committed every 5 s. ShareConsumerPerformance: its fetch.time.ms, which has joining in it, less
what a run of one message takes, in a share group of its own, just before. In the table, "s" is with
"joining s", and "wall s" is the whole process. A rate needs millions of messages to mean anything.

What is acknowledged: ShareConsumerPerformance uses implicit acknowledgement, so each poll accepts
all records of the poll before. It never acknowledges records one by one, and it leaves those of its
last poll unacknowledged: this is the cheapest kind of acknowledgement that a share group has.
"acknowledged" is what the broker says afterwards: the start offsets of the group, added up.

    python benchmarks/kafka.py [--messages N] [--size 64] [--partitions P] [--acks 1]
        [--rounds R] [--as-it-comes] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.kafka_broker import VERSION, Broker, KafkaFailed, KafkaUnavailable, broker


@dataclass(frozen=True)
class Tuning:
    """What is set in place of Kafka's defaults, of the broker and of each tool."""

    broker: Mapping[str, str] = field(default_factory=dict)
    producer: Mapping[str, str] = field(default_factory=dict)
    consumer: Mapping[str, str] = field(default_factory=dict)
    share_consumer: Mapping[str, str] = field(default_factory=dict)
    fetch_bytes: int | None = None


TUNED = Tuning(
    # The most records of a partition that may be with share consumers; the default is 2,000.
    broker={"group.share.partition.max.record.locks": "10000"},
    producer={
        "compression.type": "none",
        "batch.size": "524288",
        "linger.ms": "50",
        "buffer.memory": "134217728",
    },
    consumer={"fetch.max.bytes": "67108864", "max.poll.records": "5000"},
    share_consumer={"max.poll.records": "10000"},
    fetch_bytes=8 * 2**20,
)
AS_IT_COMES = Tuning()
IDLE_SECONDS = 60
"""A consumer that gets nothing for so long ends."""
LIMIT_SECONDS = 900
"""A tool that takes longer is ended; the share consumer then tells how far it came."""


@dataclass(frozen=True)
class Run:
    """One run of a tool: its messages, the seconds that it tells, and those of its process.

    ``joining_seconds``: those of ``seconds`` that joining the group took, which a rate leaves out.
    ``acknowledged``: messages that the broker then holds for acknowledged, of a share group.
    """

    messages: int
    seconds: float
    wall_seconds: float
    joining_seconds: float = 0.0
    acknowledged: int | None = None

    @property
    def per_second(self) -> float:
        if self.seconds <= self.joining_seconds:
            raise KafkaFailed(
                f"{self.messages:,} messages are too few to tell from joining a group"
            )
        return self.messages / (self.seconds - self.joining_seconds)


@dataclass(frozen=True)
class Rate:
    """The runs of one tool; of several rounds, the median counts."""

    runs: tuple[Run, ...]

    @property
    def per_second(self) -> float:
        return statistics.median(run.per_second for run in self.runs)


@dataclass(frozen=True)
class KafkaFigures:
    """What Kafka does a second, with what it was asked."""

    messages: int
    size: int
    partitions: int
    acks: str
    producer: Rate
    consumer: Rate
    share_consumer: Rate


def measure(
    messages: int,
    size: int = 64,
    *,
    partitions: int = 1,
    acks: str = "1",
    rounds: int = 1,
    tuning: Tuning = TUNED,
) -> KafkaFigures:
    """Start a broker, measure by Kafka's tools, and stop it.

    ``partitions``: of the topic, and consumers of the share group. KafkaUnavailable where Kafka's
    JARs cannot be had; KafkaFailed where a tool fails, or not all messages arrive.
    """
    with (
        tempfile.TemporaryDirectory(prefix="pubsub_delta-kafka-") as directory,
        broker(directory, tuning.broker) as kafka,
    ):
        asked = size, partitions, acks, tuning
        _round(kafka, "warm-up", max(messages // 10, 1), *asked)
        runs = [_round(kafka, f"round-{n}", messages, *asked) for n in range(1, rounds + 1)]
    producer, consumer, share_consumer = (Rate(each) for each in zip(*runs, strict=True))
    return KafkaFigures(messages, size, partitions, acks, producer, consumer, share_consumer)


def _round(
    kafka: Broker, topic: str, messages: int, size: int, partitions: int, acks: str, tuning: Tuning
) -> tuple[Run, Run, Run]:
    kafka.create_topic(topic, partitions)
    runs = (
        _produce(kafka, topic, messages, size, acks, tuning),
        _consume(kafka, topic, messages, tuning),
        _consume_shared(kafka, topic, messages, partitions, tuning),
    )
    kafka.delete_topic(topic)
    if short := [run for run in runs if run.messages < messages]:
        raise KafkaFailed(f"{topic}: {short[0].messages:,} of {messages:,} messages arrived")
    return runs


def _produce(kafka: Broker, topic: str, messages: int, size: int, acks: str, tuning: Tuning) -> Run:
    settings = {"bootstrap.servers": kafka.address, "acks": acks, **tuning.producer}
    what = ("--topic", topic, "--num-records", str(messages), "--record-size", str(size))
    how = ("--throughput", "-1", "--producer-props", *(f"{k}={v}" for k, v in settings.items()))
    told, wall = _timed(
        lambda: kafka.run(
            "ProducerPerformance", *what, *how, bootstrap=False, timeout_seconds=LIMIT_SECONDS
        )
    )
    return parse_producer(told, wall)


def _consume(kafka: Broker, topic: str, messages: int, tuning: Tuning) -> Run:
    told, wall = _timed(
        lambda: kafka.run(
            "ConsumerPerformance",
            *("--topic", topic, "--messages", str(messages), *_fetching(tuning)),
            *("--timeout", str(IDLE_SECONDS * 1000)),
            *("--consumer.config", kafka.settings_file("consumer", tuning.consumer)),
            timeout_seconds=LIMIT_SECONDS,
        )
    )
    return parse_consumer(told, wall)


def _fetching(tuning: Tuning) -> list[str]:
    return ["--fetch-size", str(tuning.fetch_bytes)] if tuning.fetch_bytes else []


def _consume_shared(
    kafka: Broker, topic: str, messages: int, consumers: int, tuning: Tuning
) -> Run:
    """Consume by a share group, after another one that consumes one message, for the start."""
    joining, _ = _share(kafka, topic, f"{topic}-start", 1, consumers, tuning)
    run, wall = _share(kafka, topic, f"{topic}-share", messages, consumers, tuning)
    group = ("--describe", "--group", f"{topic}-share", "--offsets")
    told = kafka.run("consumer.group.ShareGroupCommand", *group)
    return Run(run.messages, run.seconds, wall, joining.seconds, parse_start_offsets(told))


def _share(
    kafka: Broker, topic: str, group: str, messages: int, consumers: int, tuning: Tuning
) -> tuple[Run, float]:
    kafka.share_from_earliest(group)
    told, wall = _timed(
        lambda: kafka.run(
            "ShareConsumerPerformance",
            *("--topic", topic, "--group", group, "--messages", str(messages)),
            *("--threads", str(consumers), *_fetching(tuning)),
            # Here the time-out is of the whole run; for ConsumerPerformance it is between messages.
            *("--timeout", str(LIMIT_SECONDS * 1000)),
            *("--consumer.config", kafka.settings_file("share-consumer", tuning.share_consumer)),
            timeout_seconds=LIMIT_SECONDS + 60,
        )
    )
    return parse_share_consumer(told, wall), wall


def _timed(run: Callable[[], str]) -> tuple[str, float]:
    start = time.perf_counter()
    told = run()
    return told, time.perf_counter() - start


def parse_producer(told: str, wall_seconds: float) -> Run:
    """Read the last line of ProducerPerformance: messages, and the rate over all of them."""
    found = re.findall(r"^(\d+) records sent, ([\d.]+) records/sec .* 99\.9th\.$", told, re.M)
    if not found:
        raise KafkaFailed(f"ProducerPerformance printed no total:\n{told}")
    messages, rate = int(found[-1][0]), float(found[-1][1])
    return Run(messages, messages / rate, wall_seconds)


def parse_consumer(told: str, wall_seconds: float) -> Run:
    """Read the line of ConsumerPerformance: messages, fetching, and joining the group."""
    row = _row("ConsumerPerformance", told)
    joining, fetching = int(row["rebalance.time.ms"]) / 1000, int(row["fetch.time.ms"]) / 1000
    return Run(int(row["data.consumed.in.nMsg"]), joining + fetching, wall_seconds, joining)


def parse_share_consumer(told: str, wall_seconds: float) -> Run:
    """Read the last line of ShareConsumerPerformance: messages, and the time with joining."""
    row = _row("ShareConsumerPerformance", told)
    messages, seconds = int(row["data.consumed.in.nMsg"]), int(row["fetch.time.ms"]) / 1000
    return Run(messages, seconds, wall_seconds)


def parse_start_offsets(told: str) -> int:
    """Add up the START-OFFSET of each partition, as ShareGroupCommand lists them."""
    lines = [line.split() for line in told.splitlines() if line.strip()]
    heads = [line for line in lines if "START-OFFSET" in line]
    if not heads:
        raise KafkaFailed(f"ShareGroupCommand listed no offsets:\n{told}")
    column = heads[0].index("START-OFFSET")
    return sum(int(line[column]) for line in lines if line not in heads and line[column].isdigit())


def _row(tool: str, told: str) -> dict[str, str]:
    lines = [line.split(", ") for line in told.splitlines() if not line.startswith("WARNING")]
    heads = [line for line in lines if line[0] == "start.time"]
    if not heads or len(lines[-1]) != len(heads[0]) or lines[-1] == heads[0]:
        raise KafkaFailed(f"{tool} printed no total:\n{told}")
    return dict(zip(heads[0], lines[-1], strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--messages", type=int, default=5_000_000, help="default: 5,000,000")
    parser.add_argument("--size", type=int, default=64, help="bytes of a message, default: 64")
    parser.add_argument("--partitions", type=int, help="default: 1, and one for each core")
    parser.add_argument("--acks", choices=("1", "all"), default="1", help="default: 1")
    parser.add_argument("--rounds", type=int, default=1, help="counted runs, default: 1")
    parser.add_argument("--as-it-comes", action="store_true", help="with Kafka's own settings")
    parser.add_argument("--json", type=Path, help="write the figures here too")
    args = parser.parse_args()
    wanted = [args.partitions] if args.partitions else sorted({1, os.cpu_count() or 1})
    load = os.getloadavg()[0]
    try:
        figures = [
            measure(
                args.messages,
                args.size,
                partitions=count,
                acks=args.acks,
                rounds=args.rounds,
                tuning=AS_IT_COMES if args.as_it_comes else TUNED,
            )
            for count in wanted
        ]
    except (KafkaUnavailable, KafkaFailed) as error:
        sys.exit(str(error))
    print(
        f"\nKafka {VERSION}: {args.messages:,} messages of {args.size} bytes, acks={args.acks}; "
        f"{args.rounds} counted rounds after a warm-up;\n{platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} cores, load {load:.1f} before, 1 GB heap for the broker, "
        "512 MB for a client, local disk\n"
    )
    print(report(figures))
    if args.json:
        args.json.write_text(json.dumps([asdict(each) for each in figures], indent=2) + "\n")


def report(figures: list[KafkaFigures]) -> str:
    """Return the figures as a Markdown table: medians over the rounds."""
    lines = [
        "| what | partitions | messages/s | min | max | s | joining s | wall s | acknowledged |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for each in figures:
        rates = {
            "producer": each.producer,
            "consumer": each.consumer,
            "share consumer": each.share_consumer,
        }
        lines += [_line(what, each.partitions, rate) for what, rate in rates.items()]
    return "\n".join(lines)


def _line(what: str, partitions: int, rate: Rate) -> str:
    rates = [run.per_second for run in rate.runs]
    seconds, joining, wall = (
        statistics.median(values)
        for values in zip(
            *((run.seconds, run.joining_seconds, run.wall_seconds) for run in rate.runs),
            strict=True,
        )
    )
    acknowledged = [run.acknowledged for run in rate.runs if run.acknowledged is not None]
    told = f"{min(acknowledged):,}" if acknowledged else ""
    return (
        f"| {what} | {partitions} | {rate.per_second:,.0f} | {min(rates):,.0f} | "
        f"{max(rates):,.0f} | {seconds:.2f} | {joining:.2f} | {wall:.2f} | {told} |"
    )


if __name__ == "__main__":
    main()
