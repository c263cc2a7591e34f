"""The store beside Kafka, in the same minutes."""

from __future__ import annotations

import shutil
import time

from pyspark.sql import DataFrame

from benchmarks.floor import COLUMNS, make_payloads, read_all
from benchmarks.kafka import AS_IT_COMES, KafkaFigures, measure
from benchmarks.measuring import Bench, Section
from pubsub_delta import PubSub

PARTITIONS = 2
OWN_SETTINGS = ", with its own settings"


def kafka(bench: Bench) -> Section:
    """Publish and drain, in turn with Kafka's producer, consumer and share consumer."""
    fewer = min(bench.messages, 5_000_000)
    section = Section(
        "kafka",
        f"{bench.messages:,} messages: here of 48 bytes with one attribute, in Kafka of 64 bytes "
        f"without; one broker with {PARTITIONS} partitions on this machine, by Kafka's own tools; "
        f"{bench.rounds} rounds in turn, after a warm-up of both, with Kafka tuned for throughput, "
        f"and one with Kafka's own settings ({fewer:,} messages, told as seconds for all). Kafka's "
        "seconds are those that its tools report, without joining a group.",
    )
    payloads = make_payloads(bench.spark, f"{bench.directory}/payloads", bench.messages)
    for turn in range(bench.rounds + 1):
        _ours(bench, section, payloads, keep=turn > 0)
        if turn:
            _theirs(section, measure(bench.messages, 64, partitions=PARTITIONS))
    as_it_comes = measure(fewer, 64, partitions=PARTITIONS, tuning=AS_IT_COMES)
    _theirs(section, as_it_comes, OWN_SETTINGS, bench.messages / fewer)
    for ours, theirs, tool, target in (
        ("publish", "produce", "producer", 1.5),
        ("drain", "consume", "plain consumer", 1),
        ("drain", "consume as a share group", "share consumer", 20),
    ):
        for settings in ("", OWN_SETTINGS):
            section.compare(
                f"{ours}: rate of Kafka's {tool}{settings}",
                [f"Kafka: {theirs}{settings}"],
                [ours],
                at_least=target,
            )
    return section


def _ours(bench: Bench, section: Section, payloads: DataFrame, *, keep: bool) -> None:
    place = f"{bench.directory}/store"
    store = PubSub(bench.spark, place)
    store.create_topic("bulk")
    store.create_subscription("drain", "bulk", ack_deadline_seconds=600)
    store.pull("drain")  # a consumer that is running already
    section.time("publish", lambda: store.publish("bulk", payloads), keep=keep)
    start = time.perf_counter()
    batch = store.pull("drain")
    read_all(batch.df.select(*COLUMNS))
    assert len(batch.ack().success) == bench.messages
    section.add("drain", time.perf_counter() - start, keep=keep)
    shutil.rmtree(place)


def _theirs(section: Section, figures: KafkaFigures, settings: str = "", times: float = 1) -> None:
    """Add the seconds of each tool. ``times``: as if there had been so many times the messages."""
    for what, rate in (
        ("produce", figures.producer),
        ("consume", figures.consumer),
        ("consume as a share group", figures.share_consumer),
    ):
        for run in rate.runs:
            section.add(f"Kafka: {what}{settings}", times * run.messages / run.per_second)
