"""Files that are cut off, altered or gone: the right data or an error, never fewer messages.

Each case takes a copy of a store that one lane has made, damages one file of it, and opens the copy
anew. On local disks Hadoop keeps a checksum beside each file; ``bare`` is a file without one, as in
object storage, and as the direct lane leaves them.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import DataFrame, SparkSession

from pubsub_delta import DataLoss, ManualClock, NotFound, PubSub, Snapshot, Topic
from pubsub_delta.tables.lanes.choice import LaneName
from pubsub_delta.tables.schemas import ACK_STATE
from tests.trials import checker, delta_log

pytestmark = [pytest.mark.trial, pytest.mark.timeout(600)]

OLDER = ["an older message", "another older message"]
MESSAGES, LEASED, ACKED = 36, 4, 6
START = ManualClock().now()


LANES: tuple[LaneName, ...] = ("direct", "spark")


@dataclass
class Prepared:
    """A store with a file of each kind, the directories of its tables, and its lane."""

    root: Path
    tables: dict[str, Path]
    lane: LaneName
    spark: SparkSession | None

    def open(self, root: Path) -> PubSub:
        """Open the store, or a copy of it, anew."""
        return PubSub(self.spark, str(root), clock=ManualClock(START), lane=self.lane)


@pytest.fixture(scope="module", params=LANES)
def prepared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    root = tmp_path_factory.mktemp("damage") / "store"
    spark = request.getfixturevalue("spark") if request.param == "spark" else None
    made = Prepared(root, {}, request.param, spark)
    store = made.open(root)
    store.create_topic("orders")
    store.publish("orders", OLDER)
    store.create_subscription("billing", "orders", ack_deadline_seconds=600)
    store.create_subscription("archive", "orders")
    found = checker.read(root)
    made.tables |= {
        "messages": root / "messages" / found.topics["orders"]["uid"],
        "positions": root / "positions" / found.topics["orders"]["uid"],
        "ack state": root / "ack_state" / found.subscriptions["billing"]["uid"],
        **{name: root / name for name in ("topics", "subscriptions", "snapshots")},
    }
    for name in ("messages", "ack state"):
        often = {"delta.checkpointInterval": "4"}
        DeltaTable(made.tables[name]).alter.set_table_properties(often)
    for part in range(MESSAGES // 6):
        store.publish("orders", [text(6 * part + n) for n in range(6)])
    first = store.pull("billing", ACKED)
    first.ack()
    store.create_snapshot("early", "billing")
    store.pull("billing", LEASED)
    uid = checker.read(root).snapshots["early"]["uid"]
    made.tables["snapshot"] = root / "snapshot" / uid
    return made


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
    "file of positions": lambda t: stored_file(t["positions"]),
    "newest commit of positions": lambda t: newest(t["positions"] / "_delta_log", "0*.json"),
    "commit of a snapshot": lambda t: newest(t["snapshot"] / "_delta_log", "0*.json"),
    "file of a snapshot": lambda t: stored_file(t["snapshot"]),
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


_LOST = ("first line", "gone")
_OF_RESOURCES: dict[tuple[str, str], set[str]] = {
    **{("commit of topics", each): {"topic", "read_topic", "publish"} for each in _LOST},
    **{("commit of subscriptions", each): {"first pull", "seek"} for each in _LOST},
}
_OF_LEASES = {("newest commit of ack state", each): {"pull"} for each in _LOST}
"""What was leased last comes once more."""
KNOWN: dict[LaneName, dict[tuple[str, str], set[str]]] = {
    "direct": {
        **{place: wrong - {"read_topic"} for place, wrong in _OF_RESOURCES.items()},
        **_OF_LEASES,
        ("newest commit of messages", "gone"): {"first pull"},
    },
    "spark": {
        **_OF_RESOURCES,
        **_OF_LEASES,
        **{("newest commit of messages", each): {"first pull", "read_topic"} for each in _LOST},
    },
}
"""What Delta does not notice, and this library cannot: docs/trials.md says why."""


def cases() -> Iterator[tuple[str, str]]:
    for kind in KINDS:
        for damage in DAMAGES:
            if damage != "first line" or "commit" in kind:
                yield kind, damage


ONLY_OF_SPARK = ("checksum of messages", "checksum of ack state")
"""Files that the direct lane does not write."""


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
    except Exception as error:
        return f"untold: {type(error).__name__}: {str(error)[:300]}"
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


def published(store: PubSub) -> bool:
    """Publish, and tell whether the ids are none that were given out before."""
    ids = [int(each) for each in store.publish("orders", ["one more"]).message_ids]
    return min(ids) > len(OLDER) + MESSAGES - 1


def sought(store: PubSub) -> int:
    store.seek("archive", snapshot="early")
    return waiting(store, "archive")


@pytest.mark.parametrize(("kind", "damage"), list(cases()))
def test_a_damaged_file_is_never_fewer_messages(
    prepared: Prepared, tmp_path: Path, tell: Callable[[str], None], kind: str, damage: str
) -> None:
    if prepared.lane == "direct" and kind in ONLY_OF_SPARK:
        pytest.skip("the direct lane writes no such file")
    root = shutil.copytree(prepared.root, tmp_path / "store")
    tables = {
        name: root / path.relative_to(prepared.root) for name, path in prepared.tables.items()
    }
    path = KINDS[kind](tables)
    table = next(each for each in tables.values() if path.is_relative_to(each))
    damage_file(path, damage)
    store = prepared.open(root)
    everything = sorted(map(text, range(MESSAGES)))
    seen = {
        "topic": attempt(lambda: is_there(store.get_topic("orders")), True, table),
        "snapshot": attempt(lambda: is_there(store.get_snapshot("early")), True, table),
        "metrics": attempt(lambda: waiting(store, "billing"), MESSAGES - ACKED, table),
        "pull": attempt(lambda: pulled(store, "billing"), everything[ACKED + LEASED :], table),
        "first pull": attempt(lambda: pulled(store, "archive"), everything, table),
        "seek": attempt(lambda: sought(store), MESSAGES - ACKED, table),
    }
    if prepared.spark is not None:
        seen["read_topic"] = by_spark(
            lambda: store.read_topic("orders"), sorted([*OLDER, *everything]), table
        )
    seen["publish"] = attempt(lambda: published(store), True, table)
    spoilt = sorted(f"{name}: {what}" for name, what in seen.items() if what != "right")
    tell(f"damage, {prepared.lane}: {kind}, {damage}: {', '.join(spoilt) or 'no harm'}")
    assert [what for what in seen.values() if what.startswith("untold")] == []
    wrong = {name for name, what in seen.items() if what in ("wrong", "NotFound")}
    assert wrong == KNOWN[prepared.lane].get((kind, damage), set())


def test_every_flipped_bit_of_a_bitmap_is_found(prepared: Prepared, tmp_path: Path) -> None:
    root = shutil.copytree(prepared.root, tmp_path / "store")
    path = root / prepared.tables["ack state"].relative_to(prepared.root)
    [row] = delta_log.read(path).rows()
    data = bytes(row["spans"][0]["positions"])
    for bit in random.Random(1).sample(range(8 * len(data)), 8):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        row["spans"][0]["positions"] = bytes(flipped)
        rows = pa.Table.from_pylist([row], schema=ACK_STATE.columns)
        write_deltalake(path, rows, mode="overwrite")
        with pytest.raises(DataLoss, match="bitmap"):
            prepared.open(root).pull("billing")
