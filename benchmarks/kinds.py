"""What kinds of subscriptions cost: with a filter, and with ordering keys."""

from __future__ import annotations

from functools import partial

from pyspark.sql import functions as F

from benchmarks.floor import COLUMNS, make_payloads, read_all
from benchmarks.measuring import Bench, Section
from pubsub_delta import PubSub
from pubsub_delta.policy.filters import parse_filter

FILTER = 'attributes.k = "v7"'
KEYS_PER_MESSAGE = 10


def filters(bench: Bench) -> Section:
    """Absorb messages of which a tenth match, in turn with all of them; nothing is written."""
    section = Section(
        "filter",
        f"{bench.messages:,} messages, of which a tenth pass {FILTER}; {bench.rounds} rounds "
        "after a warm-up. Without a filter the log tells them and no file is opened; or, where it "
        "does not, they are counted in the files that were written; or, where files were rewritten "
        "since, they are read row by row. The floor is a plain count of the messages that pass.",
    )
    store = PubSub(bench.spark, f"{bench.directory}/store")
    topic = store.create_topic("messages")
    store.publish("messages", make_payloads(bench.spark, f"{bench.directory}/all", bench.messages))
    messages = store._tables.messages(topic.uid)

    def absorb(what: str) -> None:
        commits, known = messages.history.commits_after(0)
        wanted = parse_filter(FILTER) if what == "filtered" else None
        found = messages.absorb(0, commits, known and what != "row by row", wanted)
        share = 10 if what == "filtered" else 1
        assert sum(len(part.positions) for part in found) == bench.messages // share

    def count() -> None:
        passing = store.read_topic("messages").where(FILTER.replace('"', "'"))
        assert passing.count() == bench.messages // 10

    def count_in_files() -> None:
        commits, _ = messages.history.commits_after(0)
        (rows,) = messages._counted_rows(commits).values()
        assert len(rows) == bench.messages

    for turn in range(bench.rounds + 1):
        for what in ("by the log", "row by row", "filtered"):
            store._tables.remembered._facts.clear()
            section.time(what, partial(absorb, what), keep=turn > 0)
        section.time("in files", count_in_files, keep=turn > 0)
        section.time("plain count", count, keep=turn > 0)
    section.compare(
        "absorb of 10 %: × an absorb of everything", ["filtered"], ["by the log"], at_most=1.3
    )
    section.compare("· × one that counts in files", ["filtered"], ["in files"])
    section.compare("· × one row by row", ["filtered"], ["row by row"])
    section.compare("· × a plain count of what passes", ["filtered"], ["plain count"])
    return section


def ordering(bench: Bench) -> Section:
    """Drain a topic with many ordering keys, in turn by an ordered and a plain subscription."""
    count = max(bench.messages // 10, 100_000)
    keys = count // KEYS_PER_MESSAGE
    section = Section(
        "ordering",
        f"{count:,} messages with {keys:,} ordering keys, published with order_by; drained whole "
        f"(pull, read, ack) by subscriptions with ordering and without; {bench.rounds} rounds "
        "after a warm-up.",
    )
    store = PubSub(bench.spark, f"{bench.directory}/store")
    store.create_topic("ordered")
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

    for turn in range(bench.rounds + 1):
        for ordered, what in ((False, "drain, unordered"), (True, "drain, in key order")):
            section.time(what, partial(drain, _name(ordered, turn)), keep=turn > 0)
    section.compare(
        "ordered drain: rate of an unordered one",
        ["drain, unordered"],
        ["drain, in key order"],
        at_least=0.5,
    )
    return section


def _name(ordered: bool, turn: int) -> str:
    return f"{'ordered' if ordered else 'plain'}-{turn}"
