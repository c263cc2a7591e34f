"""A store with a table subscription, on real tables, for the tests of writing to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Schema

from pubsub_delta import (
    ManualClock,
    Message,
    PubSub,
    TableConfig,
    TableState,
)
from pubsub_delta.policy.ack_state import State
from pubsub_delta.tables.lanes.direct.targets import DirectTarget

TOPIC, DEAD, NAME = "orders", "failed", "rows"
BYTES = pa.schema([("data", pa.binary())])
TEXTS = pa.schema([("data", pa.string())])
METADATA = pa.schema(
    [
        *BYTES,
        ("subscription_name", pa.string()),
        ("message_id", pa.string()),
        ("publish_time", pa.timestamp("us", "UTC")),
        ("attributes", pa.string()),
    ]
)


def require(table: Path, feature: str, *, by_readers: bool = False) -> None:
    """Have another program turn on a feature of a table, by a commit of its own."""
    readers = {"minReaderVersion": 3, "readerFeatures": [feature]} if by_readers else {}
    writers = {"minWriterVersion": 7, "writerFeatures": [feature]}
    told = {"commitInfo": {"timestamp": 0, "operation": "UPGRADE PROTOCOL"}}
    actions = [told, {"protocol": {"minReaderVersion": 1, **writers, **readers}}]
    version = DeltaTable(str(table)).version() + 1
    commit = table / "_delta_log" / f"{version:020}.json"
    commit.write_text("\n".join(map(json.dumps, actions)), encoding="utf-8")


class World:
    """A store with a topic, and a table that a subscription of it is written to."""

    def __init__(self, root: Path) -> None:
        self.clock, self.root = ManualClock(), root / "store"
        self.table = self.root / "tables" / "shop" / "orders"
        self.store = self.another()
        self.store.create_topic(TOPIC)

    def another(self) -> PubSub:
        """Open the store as another process would."""
        return PubSub(None, str(self.root), clock=self.clock)

    def make(self, columns: pa.Schema | Schema = BYTES) -> None:
        DeltaTable.create(str(self.table), columns)

    def require(self, feature: str, *, by_readers: bool = False) -> None:
        require(self.table, feature, by_readers=by_readers)

    def damage(self) -> None:
        """Damage the log of the table."""
        for commit in (self.table / "_delta_log").glob("*.json"):
            commit.write_bytes(b"\0")

    def subscribe(self, *, name: str = NAME, table: str = "shop.orders", **fields: Any) -> None:
        switches = {key: fields.pop(key) for key in list(fields) if key in SWITCHES}
        config = TableConfig(table, **switches)
        self.store.create_subscription(name, TOPIC, table_config=config, **fields)

    def publish(self, *data: bytes, key: str = "") -> None:
        self.store.publish(TOPIC, [Message(each, ordering_key=key) for each in data])

    def write(self, store: PubSub | None = None) -> tuple[int, int]:
        done = (store or self.store).write_table(NAME)
        assert done.state is TableState.ACTIVE, done.problem
        return done.written, done.failed

    def die_before_append(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let a writer die when its write is decided, and none of the rows has landed."""
        with monkeypatch.context() as patched:
            kill_before(patched, DirectTarget, "append")
            with pytest.raises(Killed):
                self.write()

    @property
    def rows(self) -> list[dict[str, Any]]:
        found = DeltaTable(str(self.table)).to_pyarrow_table().to_pylist()
        return sorted(found, key=lambda row: str(row.get("data", row)))

    @property
    def data(self) -> list[Any]:
        return [row["data"] for row in self.rows]

    def states(self) -> dict[str, int]:
        tables = self.store._tables
        uid = self.store.get_subscription(NAME).uid
        return {
            each.value: count
            for each in State
            if (count := tables.ack_states.read(uid).count(each))
        }


SWITCHES = ("use_topic_schema", "use_table_schema", "write_metadata", "drop_unknown_fields")


class Killed(BaseException):
    """The process dies here."""


def kill_before(monkeypatch: pytest.MonkeyPatch, of: object, name: str) -> None:
    def die(*_: Any, **__: Any) -> None:
        raise Killed

    monkeypatch.setattr(of, name, die)
