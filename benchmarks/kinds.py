"""What kinds of subscriptions cost: with a filter, and with ordering keys."""

from __future__ import annotations

from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.floor import COLUMNS, make_payloads, read_all
from benchmarks.measuring import Bench, Section
from pubsub_delta import PubSub

FILTER = 'attributes.k = "v7"'
KEYS_PER_MESSAGE = 10


def filters(bench: Bench) -> Section:
    """Pull for the first time where a tenth of the messages pass, in turn with a plain count."""
    section = Section(
        "filter",
        f"{bench.messages:,} messages, of which a tenth pass {FILTER}. Each round a subscription "
        "that has waited since before they came pulls one message, which finds all that pass; "
        "another one without a filter does the same; the messages that pass are counted in the "
        "topic's table by plain Spark; and their positions are summed up there, which is what any "
        f"look for them has to read; {bench.rounds} rounds after a warm-up.",
    )
    store = PubSub(bench.spark, f"{bench.directory}/store")
    topic = store.create_topic("messages")
    for turn in range(bench.rounds + 1):
        store.create_subscription(f"filtered-{turn}", "messages", filter=FILTER)
        store.create_subscription(f"everything-{turn}", "messages")
    store.publish("messages", make_payloads(bench.spark, f"{bench.directory}/all", bench.messages))
    table = f"{bench.directory}/store/messages/{topic.uid}"

    def passing() -> DataFrame:
        stored = bench.spark.read.format("delta").load(table)
        return stored.where(FILTER.replace('"', "'"))

    def count() -> None:
        assert passing().count() == bench.messages // 10

    def positions() -> None:
        assert passing().agg(F.sum("position")).first() is not None

    for turn in range(bench.rounds + 1):
        for what, share in (("filtered", 10), ("everything", 1)):
            name = f"{what}-{turn}"
            first = partial(store.pull, name, 1)
            assert section.time(f"first pull, {what}", first, keep=turn > 0).message_count == 1
            found = store.metrics(name)["num_undelivered_messages"]
            assert found == bench.messages // share, (found, bench.messages // share)
        section.time("plain count", count, keep=turn > 0)
        section.time("plain sum of positions", positions, keep=turn > 0)
    section.compare(
        "filter of 10 %: × a plain count of what passes",
        ["first pull, filtered"],
        ["plain count"],
        at_most=1.3,
    )
    section.compare(
        "positions of what passes, by plain Spark: × the plain count",
        ["plain sum of positions"],
        ["plain count"],
    )
    return section


def ordering(bench: Bench) -> Section:
    """Drain a topic with many ordering keys, in turn by an ordered and a plain subscription."""
    count = max(bench.messages // 10, 100_000)
    keys = count // KEYS_PER_MESSAGE
    section = Section(
        "ordering",
        f"{count:,} messages with {keys:,} ordering keys, published with order_by; drained whole "
        "(pull, read, ack) by subscriptions with ordering and without; and the topic's table is "
        "read by plain Spark as it is, and with each key's rows in one partition, in order; "
        f"{bench.rounds} rounds after a warm-up.",
    )
    store = PubSub(bench.spark, f"{bench.directory}/store")
    topic = store.create_topic("ordered")
    for turn in range(bench.rounds + 1):
        for ordered in (False, True):
            store.create_subscription(
                _name(ordered, turn),
                "ordered",
                ack_deadline_seconds=600,
                enable_message_ordering=ordered,
            )
    messages = bench.spark.range(count, numPartitions=2).select(
        F.col("id").cast("string").alias("data"),
        F.concat(F.lit("key-"), F.pmod(F.xxhash64("id"), F.lit(keys))).alias("ordering_key"),
        "id",
    )
    store.publish("ordered", messages, order_by="id")

    def drain(name: str) -> None:
        batch = store.pull(name)
        read_all(batch.df.select(*COLUMNS))
        assert batch.ack().counts["success"] == count

    stored = bench.spark.read.format("delta").load(f"{bench.directory}/store/messages/{topic.uid}")
    in_order = stored.repartition("ordering_key").sortWithinPartitions("position")
    for turn in range(bench.rounds + 1):
        for ordered, what in ((False, "drain, unordered"), (True, "drain, in key order")):
            section.time(what, partial(drain, _name(ordered, turn)), keep=turn > 0)
        for rows, what in ((stored, "plain read"), (in_order, "plain read, in key order")):
            section.time(what, partial(read_all, rows.select(*COLUMNS)), keep=turn > 0)
    section.compare(
        "ordered drain: rate of an unordered one",
        ["drain, unordered"],
        ["drain, in key order"],
        at_least=0.8,
    )
    section.compare(
        "read in key order by plain Spark: rate of a read in any order",
        ["plain read"],
        ["plain read, in key order"],
    )
    return section


def _name(ordered: bool, turn: int) -> str:
    return f"{'ordered' if ordered else 'plain'}-{turn}"
