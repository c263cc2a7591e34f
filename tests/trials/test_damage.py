"""Files that are cut off, altered or gone: the right data or an error, never fewer messages.

Each case takes a copy of a store, damages one file of it, and opens the copy anew. On local disks
Hadoop keeps a checksum beside each file; ``bare`` is a file without one, as in object storage.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import DataFrame, SparkSession

from pubsub_delta import DataLoss, ManualClock, NotFound, PubSub, Snapshot, Topic
from tests.trials import checker, delta_log

pytestmark = [pytest.mark.trial, pytest.mark.timeout(600)]

OLDER = ["an older message", "another older message"]
MESSAGES, LEASED, ACKED = 36, 4, 6
START = ManualClock().now()


@dataclass
class Prepared:
    """A store with a file of each kind, and the directories of its tables."""

    root: Path
    tables: dict[str, Path]


@pytest.fixture(scope="module")
def prepared(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    root = tmp_path_factory.mktemp("damage") / "store"
    clock = ManualClock(START)
    store = PubSub(spark, str(root), clock=clock)
    store.create_topic("orders")
    store.publish("orders", [*OLDER, "what a deletion vector takes out of its file"])
    messages = root / "messages" / store.get_topic("orders").uid
    spark.sql(f"DELETE FROM delta.`{messages}` WHERE cast(data AS string) LIKE 'what a%'")
    store.create_subscription("billing", "orders", ack_deadline_seconds=600)
    store.create_subscription("archive", "orders")
    found = checker.read(root)
    tables = {
        "messages": messages,
        "ack state": root / "ack_state" / found.subscriptions["billing"]["uid"],
        **{name: root / name for name in ("topics", "subscriptions", "snapshots")},
    }
    for name in ("messages", "ack state"):
        spark.sql(
            f"ALTER TABLE delta.`{tables[name]}` SET TBLPROPERTIES "
            "('delta.checkpointInterval' = '4')"
        )
    for part in range(MESSAGES // 6):
        store.publish("orders", [text(6 * part + n) for n in range(6)])
    first = store.pull("billing", ACKED)
    first.ack()
    store.create_snapshot("early", "billing")
    store.pull("billing", LEASED)
    return Prepared(root, tables)


def text(number: int) -> str:
    return f"the text of message {number:04}, which is long enough to be hit"


def newest(folder: Path, pattern: str) -> Path:
    return max(folder.glob(pattern), key=lambda path: (path.stat().st_mtime_ns, path.name))


def stored_file(table: Path) -> Path:
    return table / str(delta_log.read(table).files[-1]["path"])


KINDS: dict[str, Callable[[dict[str, Path]], Path]] = {
    "newest commit of messages": lambda t: newest(t["messages"] / "_delta_log", "0*.json"),
    "earlier commit of messages": lambda t: sorted((t["messages"] / "_delta_log").glob("0*.json"))[
        -3
    ],
    "checksum of messages": lambda t: newest(t["messages"] / "_delta_log", "0*.crc"),
    "checkpoint of messages": lambda t: newest(t["messages"] / "_delta_log", "*.checkpoint*"),
    "last checkpoint of messages": lambda t: t["messages"] / "_delta_log" / "_last_checkpoint",
    "file of messages": lambda t: stored_file(t["messages"]),
    "deletion vector of messages": lambda t: newest(t["messages"], "*.bin"),
    "newest commit of ack state": lambda t: newest(t["ack state"] / "_delta_log", "0*.json"),
    "checksum of ack state": lambda t: newest(t["ack state"] / "_delta_log", "0*.crc"),
    "checkpoint of ack state": lambda t: newest(t["ack state"] / "_delta_log", "*.checkpoint*"),
    "file of ack state": lambda t: stored_file(t["ack state"]),
    "commit of topics": lambda t: newest(t["topics"] / "_delta_log", "0*.json"),
    "file of topics": lambda t: stored_file(t["topics"]),
    "commit of subscriptions": lambda t: newest(t["subscriptions"] / "_delta_log", "0*.json"),
    "file of subscriptions": lambda t: stored_file(t["subscriptions"]),
    "file of snapshots": lambda t: stored_file(t["snapshots"]),
}


def altered(data: bytes) -> bytes:
    """Flip one bit, of a message's text where there is one."""
    place = data.find(b"which is long")
    place = len(data) // 2 if place < 0 else place + 3
    return data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "empty": lambda data: b"",
    "half": lambda data: data[: len(data) // 2],
    "first line": lambda data: data[: data.index(b"\n") + 1],
    "flipped bit": altered,
    "flipped bit, bare": altered,
    "gone": lambda data: None,
}


KNOWN: dict[tuple[str, str], set[str]] = {
    ("newest commit of messages", "first line"): {"first pull", "read_topic"},
    ("newest commit of messages", "gone"): {"first pull", "read_topic"},
    ("commit of topics", "first line"): {"topic", "read_topic"},
    ("commit of topics", "gone"): {"topic", "read_topic"},
    ("commit of subscriptions", "first line"): {"first pull"},
    ("commit of subscriptions", "gone"): {"first pull"},
}
"""What Delta does not notice, and this library cannot: docs/trials.md says why."""


def cases() -> Iterator[tuple[str, str]]:
    for kind in KINDS:
        for damage in DAMAGES:
            if damage != "first line" or "commit" in kind:
                yield kind, damage


def damage_file(path: Path, damage: str) -> None:
    data = DAMAGES[damage](path.read_bytes())
    checksum = path.with_name(f".{path.name}.crc")
    if data is None:
        path.unlink()
    else:
        path.write_bytes(data)
    if damage != "flipped bit":
        checksum.unlink(missing_ok=True)


def attempt(what: Callable[[], object], wanted: object, table: Path) -> str:
    """Try something; tell whether it was right, wrong, NotFound, or DataLoss that names the table.

    Spark's own errors are for what the caller does with a DataFrame, and not for calls.
    """
    try:
        found = what()
    except DataLoss as error:
        told = str(error)
    except NotFound:
        return "NotFound"
    except (CapturedException, Py4JJavaError) as error:
        return f"untold: {str(error)[:300]}"
    else:
        return "right" if found == wanted else "wrong"
    assert table.name in told, "which table?"
    return "DataLoss"


def by_spark(read: Callable[[], DataFrame], wanted: list[str], table: Path) -> str:
    """Evaluate a DataFrame, which is the caller's: what is wrong Spark itself says."""
    frames: list[DataFrame] = []
    made = attempt(lambda: frames.append(read()), None, table)
    if made != "right":
        return made
    try:
        found = sorted(row[0] for row in frames[0].selectExpr("cast(data AS string)").collect())
    except (CapturedException, Py4JJavaError):
        return "Spark's error"
    return "right" if found == wanted else "wrong"


def is_there(resource: Topic | Snapshot) -> bool:
    return bool(resource.name)


def waiting(store: PubSub, subscription: str) -> int:
    return int(store.metrics(subscription)["num_undelivered_messages"])


def pulled(store: PubSub, subscription: str) -> list[str]:
    batch = store.pull(subscription)
    texts = sorted(message.data.decode() for message in batch)
    assert len(texts) == batch.message_count
    return texts


@pytest.mark.parametrize(("kind", "damage"), list(cases()))
def test_a_damaged_file_is_never_fewer_messages(
    spark: SparkSession,
    prepared: Prepared,
    tmp_path: Path,
    tell: Callable[[str], None],
    kind: str,
    damage: str,
) -> None:
    root = shutil.copytree(prepared.root, tmp_path / "store")
    tables = {
        name: root / path.relative_to(prepared.root) for name, path in prepared.tables.items()
    }
    path = KINDS[kind](tables)
    table = next(each for each in tables.values() if path.is_relative_to(each))
    damage_file(path, damage)
    store = PubSub(spark, str(root), clock=ManualClock(START))
    everything = sorted(map(text, range(MESSAGES)))
    seen = {
        "topic": attempt(lambda: is_there(store.get_topic("orders")), True, table),
        "snapshot": attempt(lambda: is_there(store.get_snapshot("early")), True, table),
        "metrics": attempt(lambda: waiting(store, "billing"), MESSAGES - ACKED, table),
        "pull": attempt(lambda: pulled(store, "billing"), everything[ACKED + LEASED :], table),
        "first pull": attempt(lambda: pulled(store, "archive"), everything, table),
        "read_topic": by_spark(
            lambda: store.read_topic("orders"), sorted([*OLDER, *everything]), table
        ),
    }
    spoilt = sorted(f"{name}: {what}" for name, what in seen.items() if what != "right")
    tell(f"damage: {kind}, {damage}: {', '.join(spoilt) or 'no harm'}")
    assert [what for what in seen.values() if what.startswith("untold")] == []
    wrong = {name for name, what in seen.items() if what in ("wrong", "NotFound")}
    assert wrong == KNOWN.get((kind, damage), set())


def test_every_flipped_bit_of_a_bitmap_is_found(
    spark: SparkSession, prepared: Prepared, tmp_path: Path
) -> None:
    root = shutil.copytree(prepared.root, tmp_path / "store")
    table = f"delta.`{root / prepared.tables['ack state'].relative_to(prepared.root)}`"
    row = spark.table(table).collect()[0]
    data = bytes(row["spans"][0]["positions"])
    for bit in random.Random(1).sample(range(8 * len(data)), 8):
        altered = bytearray(data)
        altered[bit // 8] ^= 1 << bit % 8
        spark.sql(
            f"UPDATE {table} SET spans = transform(spans, (s, n) -> if(n = 0, named_struct("
            "'state', s.state, 'failures', s.failures, 'delivery_attempt', s.delivery_attempt, "
            "'lease_id', s.lease_id, 'until', s.until, 'forward_to', s.forward_to, "
            "'message_count', s.message_count, 'publish_time_min', s.publish_time_min, "
            f"'publish_time_max', s.publish_time_max, 'positions', X'{altered.hex()}'), s))"
        )
        with pytest.raises(DataLoss, match="bitmap"):
            PubSub(spark, str(root), clock=ManualClock(START)).pull("billing")
