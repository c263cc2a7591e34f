"""The store beside Kafka, in the same minutes."""

from __future__ import annotations

import shutil
import time

from pyspark.sql import DataFrame

from benchmarks.floor import COLUMNS, make_payloads, read_all
from benchmarks.kafka import KafkaFigures, measure
from benchmarks.measuring import Bench, Section
from pubsub_delta import PubSub

PARTITIONS = 2


def kafka(bench: Bench) -> Section:
    """Publish and drain, in turn with Kafka's producer, consumer and share consumer."""
    section = Section(
        "kafka",
        f"{bench.messages:,} messages: here of 48 bytes with one attribute, in Kafka of 64 bytes "
        f"without; one broker with {PARTITIONS} partitions on this machine, by Kafka's own tools; "
        f"{bench.rounds} rounds in turn, after a warm-up of both. Kafka's seconds are those that "
        "its tools report, without joining a group.",
    )
    payloads = make_payloads(bench.spark, f"{bench.directory}/payloads", bench.messages)
    for turn in range(bench.rounds + 1):
        _ours(bench, section, payloads, keep=turn > 0)
        if turn:
            _theirs(section, measure(bench.messages, 64, partitions=PARTITIONS))
    section.compare(
        "publish: rate of Kafka's producer", ["Kafka: produce"], ["publish"], at_least=1.5
    )
    section.compare(
        "drain: rate of Kafka's plain consumer", ["Kafka: consume"], ["drain"], at_least=1
    )
    section.compare(
        "drain: rate of Kafka's share consumer",
        ["Kafka: consume as a share group"],
        ["drain"],
        at_least=20,
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


def _theirs(section: Section, figures: KafkaFigures) -> None:
    for what, rate in (
        ("produce", figures.producer),
        ("consume", figures.consumer),
        ("consume as a share group", figures.share_consumer),
    ):
        for run in rate.runs:
            section.add(f"Kafka: {what}", run.messages / run.per_second)
