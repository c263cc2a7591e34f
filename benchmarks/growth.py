"""What must not grow: cost with the backlog and with commits, bytes stored, and the heap."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmarks.floor import COLUMNS, Floor, make_payloads, read_all
from benchmarks.measuring import Bench, Ratio, Section
from pubsub_delta import ManualClock, PubSub
from pubsub_delta.policy.ack_state import AckState, Span, State
from pubsub_delta.policy.positions import Positions


def backlog(bench: Bench) -> Section:
    """Pull 1,000 and acknowledge their ids, in turn with small and large backlogs."""
    sizes = [10_000, bench.messages] + ([bench.messages * 10] if bench.full else [])
    rounds = 3 * bench.rounds
    section = Section(
        "backlog",
        "pull(1000) and acknowledge(their ids), in turn with backlogs of "
        f"{' / '.join(f'{size:,}' for size in sizes)} messages; {rounds} rounds after two.",
    )
    store = PubSub(bench.spark, f"{bench.directory}/store")
    for size in sizes:
        part = min(size, bench.messages)
        payloads = make_payloads(bench.spark, f"{bench.directory}/payloads-{size}", part)
        store.create_topic(f"of-{size}")
        store.create_subscription(f"of-{size}", f"of-{size}", ack_deadline_seconds=600)
        for _ in range(size // part):
            store.publish(f"of-{size}", payloads)
    for turn in range(rounds + 2):
        for size in sizes:
            keep, name = turn > 1, f"of-{size}"
            if (turn + 1) * 1000 > size:
                continue
            batch = section.time(
                f"pull(1000) of {size:,}", partial(store.pull, name, 1000), keep=keep
            )
            ids = [row["ack_id"] for row in batch.df.select("ack_id").collect()]
            acked = section.time(
                f"acknowledge 1,000 ids of {size:,}",
                partial(store.acknowledge, name, ids),
                keep=keep,
            )
            assert len(acked.success) == 1000
    for what in ("pull(1000)", "acknowledge 1,000 ids"):
        section.compare(
            f"{what}: × at {sizes[-1]:,} against {sizes[0]:,}",
            [f"{what} of {sizes[-1]:,}"],
            [f"{what} of {sizes[0]:,}"],
            at_most=1.3,
        )
    return section


def storage(bench: Bench) -> Section:
    """Compare the bytes of a topic with a plain table's, and weigh an ack state of 10^9."""
    section = Section(
        "storage",
        f"{bench.messages:,} messages in a topic and in a plain Delta table of the same columns; "
        "an ack state that holds 10^9 messages in a row, as a lease, and when they are "
        "acknowledged and retained.",
    )
    floor = Floor(bench.spark, bench.directory)
    clock = ManualClock()
    store = PubSub(bench.spark, f"{bench.directory}/store", clock=clock)
    topic = store.create_topic("stored")
    payloads = make_payloads(bench.spark, f"{bench.directory}/payloads", bench.messages)
    floor.append(payloads)
    floor.append_alike(payloads)
    store.publish("stored", payloads)
    table = f"{bench.directory}/store/messages/{topic.uid}"
    stored = _bytes(table)
    section.ratio(
        "bytes of a topic: × a plain table of a message's columns",
        stored / _bytes(floor.plain),
        1.1,
    )
    section.ratios.append(
        Ratio("· × one with positions, of the same layout", (stored / _bytes(floor.alike),))
    )
    for state in (State.LEASED, State.RETAINED):
        name = f"billion-{state.value}"
        uid = store.create_subscription(name, "stored", retain_acked_messages=True).uid
        span = Span(state, Positions.between(0, 10**9 - 1), clock.now(), clock.now())
        store._tables.ack_states.change(uid, partial(_with_span, span))
        live = bench.spark.table(f"delta.`{bench.directory}/store/ack_state/{uid}`").inputFiles()
        size = sum(Path(each.removeprefix("file:")).stat().st_size for each in live)
        section.ratio(f"ack state of 10^9 {state.value} messages, MB", size / 1e6, 1)
    return section


def memory(bench: Bench) -> Section:
    """Drain small and large backlogs, and look at the live heap of the driver under the lease."""
    small, sizes = bench.messages // 10, [bench.messages]
    sizes += [bench.messages * 10] if bench.full else []
    section = Section(
        "memory",
        "The driver's live heap (after a full collection) while everything is leased and read, "
        f"with {' / '.join(f'{size:,}' for size in sizes)} messages, and before and after that "
        f"with {small:,}: what a session gathers with time is in the last one, too.",
    )
    store = PubSub(bench.spark, f"{bench.directory}/store")
    live = [
        _leased(bench, store, number, size) for number, size in enumerate([small, *sizes, small])
    ]
    for size, megabytes in zip([small, *sizes, f"{small:,}, at the end"], live, strict=True):
        told = size if isinstance(size, str) else f"{size:,}"
        section.facts[f"live heap at {told}, MB"] = f"{megabytes:,.0f}"
    section.ratio(f"live heap: × at {sizes[-1]:,} against {small:,}", live[-2] / live[-1], 1.1)
    return section


def _leased(bench: Bench, store: PubSub, number: int, size: int) -> float:
    """Publish, lease and read so many messages; return the live heap, and acknowledge them."""
    name, part = f"heap-{number}", min(size, bench.messages)
    store.create_topic(name)
    store.create_subscription(name, name, ack_deadline_seconds=600)
    payloads = make_payloads(bench.spark, f"{bench.directory}/payloads-{number}", part)
    for _ in range(size // part):
        store.publish(name, payloads)
    batch = store.pull(name)
    read_all(batch.df.select(*COLUMNS))
    live = _live_heap(bench)
    assert len(batch.ack().success) == size
    return live


def _with_span(span: Span, state: AckState) -> tuple[AckState, None]:
    return replace(state, spans=(span,), absorbed_below=span.positions.max + 1), None


def _bytes(path: str) -> int:
    """Return the bytes of a table's data files, as they lie there."""
    return sum(each.stat().st_size for each in Path(path).rglob("*.parquet"))


def _live_heap(bench: Bench) -> float:
    """Collect the garbage of the driver's JVM, and return what is left, in MB."""
    java = str(bench.spark.sparkContext._gateway.proc.pid)  # type: ignore[union-attr]
    subprocess.run(["jcmd", java, "GC.run"], check=True, capture_output=True)
    told = subprocess.run(
        ["jcmd", java, "GC.heap_info"], check=True, capture_output=True, text=True
    )
    found = re.search(r"used (\d+)K", told.stdout)
    assert found, told.stdout
    return int(found[1]) / 1024
