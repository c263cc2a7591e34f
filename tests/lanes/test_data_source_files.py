"""What ``format("pubsub_delta")`` reads and writes in the processes of its tasks, without Spark."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from pubsub_delta import (
    FailedPrecondition,
    InvalidArgument,
    Message,
    NotFound,
    PubSub,
    SchemaSettings,
)
from pubsub_delta.clock import SystemClock
from pubsub_delta.datasource import writing
from pubsub_delta.tables.lanes.direct import files
from pubsub_delta.tables.lanes.direct.files import WrittenFile
from pubsub_delta.tables.schemas import TEXT_BY_TEXT
from pubsub_delta.tables.store import Tables

TOPIC, NAME = "flights", "delays"


class Written:
    """A topic, and what tasks do that publish to it."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self.store = PubSub(None, self.root)
        self.store.create_topic(TOPIC)
        self.store.create_subscription(NAME, TOPIC)
        self.uid = self.store.get_topic(TOPIC).uid

    @property
    def tables(self) -> Tables:
        """The tables as another process sees them."""
        return Tables(None, self.root)

    def reservation(self, transaction: tuple[str, int] | None = None) -> writing.Reservation:
        name, now = self.store._topic(TOPIC), SystemClock().now()
        return writing.reserve(self.tables, name, now, transaction)

    def write(
        self,
        reservation: writing.Reservation,
        *partitions: list[str],
        transaction: tuple[str, int] | None = None,
    ) -> list[WrittenFile]:
        given = sent(reservation)
        files = [
            writing.write_messages(self.tables, given, number, batches(texts), transaction)
            for number, texts in enumerate(partitions)
        ]
        return [file for file in files if file is not None]

    def publish(self, *partitions: list[str], transaction: tuple[str, int] | None = None) -> bool:
        reservation = self.reservation()
        return writing.commit(
            self.tables, reservation, self.write(reservation, *partitions), transaction
        )

    def backlog(self) -> list[str]:
        return [message.data.decode() for message in self.store.pull(NAME)]

    def table(self) -> DeltaTable:
        return DeltaTable(f"{self.root}/messages/{self.uid}")


def sent(reservation: writing.Reservation) -> writing.Reservation:
    """Return what a task is given that runs in another process."""
    given: writing.Reservation = pickle.loads(pickle.dumps(reservation))
    return given


def batches(texts: list[str]) -> Iterator[pa.RecordBatch]:
    for text in texts:
        yield pa.record_batch({"data": pa.array([text.encode()])})


@pytest.fixture
def written(tmp_path: Path) -> Written:
    return Written(tmp_path / "store")


def test_nobody_is_told_of_a_publish_to_a_topic_that_was_deleted_meanwhile(
    written: Written,
) -> None:
    reservation = written.reservation()
    files = written.write(reservation, ["a"])
    written.store.delete_subscription(NAME)
    written.store.delete_topic(TOPIC)
    with pytest.raises(NotFound, match=f"{TOPIC} was deleted meanwhile"):
        writing.commit(written.tables, reservation, files, None)


@pytest.mark.parametrize("here", [None, b"PAR1", b"PAR1" * 10_000])
def test_what_a_task_wrote_on_the_disk_of_another_machine_is_not_published(
    written: Written, tmp_path: Path, here: bytes | None
) -> None:
    """The commit would name a file that no reader finds, and no message behind it would come.

    Nor is it published where another file has its path, be that shorter or longer.
    """
    reservation = written.reservation()
    (file,) = written.write(reservation, ["a"])
    table = tmp_path / "store" / "messages" / written.uid
    (table / file.path).rename(tmp_path / "elsewhere")
    if here is not None:
        (table / file.path).write_bytes(here)
    with pytest.raises(FailedPrecondition, match="is not there, though a task has written it"):
        writing.commit(written.tables, reservation, [file], None)
    written.publish(["b"])
    assert written.backlog() == ["b"]


def test_what_tasks_have_written_is_published_in_one_commit(written: Written) -> None:
    assert written.publish(["a", "b"], [], ["c"])
    assert written.table().version() == 1
    assert written.backlog() == ["a", "b", "c"]
    (commit, _) = written.store.topic_history(TOPIC)
    assert commit.message_count == 3


def test_nobody_sees_what_no_commit_has_added(written: Written) -> None:
    """A task or the commit failed: the files stay until VACUUM removes them."""
    reservation = written.reservation()
    (lost,) = written.write(reservation, ["lost"])
    assert written.publish(["a"])
    assert written.backlog() == ["a"]
    file = Path(written.table().table_uri.removeprefix("file://")) / lost.path
    assert file.exists()
    written.table().vacuum(
        retention_hours=0, dry_run=False, enforce_retention_duration=False, full=True
    )
    assert not file.exists()


def test_a_partition_beyond_those_with_positions_is_refused(written: Written) -> None:
    """Its positions would be those of the next publish."""
    reservation = written.reservation()
    last = writing.PARTITIONS - 1
    file = writing.write_messages(written.tables, reservation, last, batches(["a"]))
    assert file is not None
    assert file.last_position < reservation.end_position
    with pytest.raises(InvalidArgument, match="more than 1,024 partitions; coalesce"):
        writing.write_messages(written.tables, reservation, last + 1, batches(["b"]))


def test_a_transaction_is_published_once(written: Written) -> None:
    # "exactly once per micro-batch: the stream writer's commit gets batchId: use an idempotency id"
    assert written.publish(["a"], transaction=("query", 0))
    assert not written.publish(["a"], transaction=("query", 0))
    assert written.publish(["b"], transaction=("query", 1))
    assert written.backlog() == ["a", "b"]


def with_a_schema(written: Written) -> str:
    """Let the topic take states in JSON; return one."""
    pytest.importorskip("fastavro")
    name = {"name": "name", "type": "string"}
    definition = json.dumps({"type": "record", "name": "State", "fields": [name]})
    written.store.create_schema("states", "AVRO", definition)
    written.store.update_topic(TOPIC, schema_settings=SchemaSettings("states", "JSON"))
    return '{"name": "Utah"}'


def test_a_micro_batch_that_has_landed_is_run_again_whatever_the_schema_is_by_now(
    written: Written,
) -> None:
    """Else its query could never go on with its checkpoint. Its tasks alone know its id."""
    state = with_a_schema(written)
    assert written.publish([state], transaction=("query", 0))
    binary = SchemaSettings("states", "BINARY")
    written.store.update_topic(TOPIC, schema_settings=binary)
    assert written.write(written.reservation(), [state], transaction=("query", 0)) == []
    with pytest.raises(InvalidArgument, match="does not fit schema"):
        written.write(written.reservation(), [state], transaction=("query", 1))


@pytest.mark.parametrize("texts", [["c"], []])
def test_a_micro_batch_below_the_last_one_of_its_query_is_refused(
    written: Written, texts: list[str]
) -> None:
    """Delta would skip it; with an older copy of the checkpoint it may have other rows."""
    # "nothing is lost in silence"

    def run(batch_id: int, texts: list[str]) -> None:
        reservation = written.reservation()
        files = written.write(reservation, texts)
        writing.commit_micro_batch(written.tables, reservation, files, ("query", batch_id))

    run(0, ["a"])
    run(1, ["b"])
    run(1, ["b"])
    with pytest.raises(FailedPrecondition, match="checkpoint: it is an older copy: micro-batch 1"):
        run(0, texts)
    run(2, [])
    assert written.backlog() == ["a", "b"]


def test_a_dataframe_that_has_landed_is_written_again_whatever_the_schema_is_by_now(
    written: Written,
) -> None:
    # "A publish with an idempotency id that has landed can be repeated whatever the schema is"
    state = with_a_schema(written)
    assert written.publish([state], transaction=("job", 1))
    written.store.delete_schema("states")
    reservation = written.reservation(("job", 1))
    files = written.write(reservation, ["anything"], transaction=("job", 1))
    writing.commit_batch(written.tables, reservation, files, ("job", 1))
    with pytest.raises(FailedPrecondition, match="was deleted"):
        written.reservation(("job", 2))
    assert written.backlog() == [state]


def test_a_batch_below_the_last_version_is_refused(written: Written) -> None:
    """Delta would skip it in silence; its messages would be lost, and the write a success."""

    def write(text: str, version: int) -> None:
        reservation = written.reservation()
        files = written.write(reservation, [text])
        writing.commit_batch(written.tables, reservation, files, ("job", version))

    write("a", 5)
    write("a", 5)
    with pytest.raises(FailedPrecondition, match="version 3 of 'job' is not above the last"):
        write("b", 3)
    write("b", 6)
    assert written.backlog() == ["a", "b"]


def test_a_reservation_is_for_one_publish(written: Written) -> None:
    """Two messages with one position would be one to every subscription."""
    reservation = written.reservation()
    assert writing.commit(
        written.tables, reservation, written.write(reservation, ["a"]), ("query", 0)
    )
    assert not writing.commit(
        written.tables, reservation, written.write(reservation, ["a"]), ("query", 0)
    )
    with pytest.raises(FailedPrecondition, match="reserved for another publish"):
        writing.commit(written.tables, reservation, written.write(reservation, ["b"]), ("query", 1))
    assert written.backlog() == ["a"]


def test_the_log_tells_of_files_what_it_tells_of_others(written: Written) -> None:
    """Else every reader opened them: positions are one run, and times leave files out."""
    written.store.publish(TOPIC, ["usual"])
    assert written.publish(["a", "b"])
    usual, ours = sorted(
        pa.table(written.table().get_add_actions(flatten=True)).to_pylist(),
        key=lambda each: each["num_records"],
    )
    assert ours["num_records"] == 2
    assert ours["max.position"] - ours["min.position"] == 1
    assert {k for k, v in ours.items() if v is not None} >= {
        k for k, v in usual.items() if v is not None
    }
    assert ours["partition.publish_date"] == usual["partition.publish_date"]
    apart = abs(ours["modification_time"] - usual["modification_time"])
    assert apart < 3_600_000, "milliseconds"


def test_files_look_like_those_of_the_lane(written: Written) -> None:
    """OPTIMIZE joins them, Spark reads them, and a reader sees no difference."""
    written.store.publish(TOPIC, [Message(b"usual", {"k": "v"}, "key")])
    reservation = written.reservation()
    row = pa.record_batch(
        {
            "data": pa.array(["ours"]),
            "attributes": pa.array([[("k", "v")]], TEXT_BY_TEXT),
            "ordering_key": pa.array(["key"]),
            "message_id": pa.array(["99"]),
        }
    )
    file = writing.write_messages(written.tables, reservation, 3, iter([row]))
    assert file is not None
    assert writing.commit(written.tables, reservation, [file], None)
    assert written.table().optimize.compact()["numFilesRemoved"] == 2
    found = [(m.data, m.attributes, m.ordering_key) for m in written.store.pull(NAME)]
    assert found == [(b"usual", {"k": "v"}, "key"), (b"ours", {"k": "v"}, "key")]


@pytest.mark.parametrize(
    ("column", "told"),
    [
        (pa.array([b""]), "data or at least one attribute is required"),
        (pa.array([b"x" * 10_000_001]), "at most 10,000,000 bytes"),
    ],
)
def test_a_message_that_breaks_a_rule_is_refused_by_its_task(
    written: Written, column: pa.Array, told: str
) -> None:
    # "One bad message fails the whole request with InvalidArgument, and nothing is written."
    row = pa.record_batch({"data": column})
    with pytest.raises(InvalidArgument, match=told):
        writing.write_messages(written.tables, written.reservation(), 0, iter([row]))


def test_a_partition_beyond_those_reserved_is_refused(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    reservation = written.reservation()
    with pytest.raises(InvalidArgument, match="more than 1,024 partitions; coalesce it"):
        writing.write_messages(written.tables, reservation, 1024, batches(["a"]))
    monkeypatch.setattr(writing, "ROWS", 1)
    with pytest.raises(InvalidArgument, match="more than 1 rows; repartition"):
        writing.write_messages(written.tables, reservation, 0, batches(["a", "b"]))


def test_a_topic_that_is_not_there_is_told_before_anything_is_written(written: Written) -> None:
    with pytest.raises(NotFound, match="topic projects/local/topics/absent does not exist"):
        writing.reserve(written.tables, written.store._topic("absent"), SystemClock().now())


def test_publishes_from_tasks_and_others_have_positions_of_their_own(written: Written) -> None:
    early = written.reservation()
    written.store.publish(TOPIC, ["between"])
    late = written.reservation()
    assert late.first_position >= early.end_position
    assert writing.commit(written.tables, late, written.write(late, ["late"]), None)
    assert writing.commit(written.tables, early, written.write(early, ["early"]), None)
    assert sorted(written.backlog()) == ["between", "early", "late"]


def test_statistics_are_json_that_delta_reads(written: Written) -> None:
    reservation = written.reservation()
    (file,) = written.write(reservation, ["a"])
    stats = json.loads(file.action().stats)
    assert stats["minValues"]["publish_time"].endswith("Z")
    assert len(stats["minValues"]["publish_time"]) == len("2026-01-01T00:00:00.000Z")


def test_small_parts_are_joined_to_row_groups_of_one_size(tmp_path: Path) -> None:
    """Each row group has statistics and dictionaries of its own: a row each would be a waste."""
    part = pa.table({"position": range(20_000)})
    written = files.write_file(
        f"delta.`{tmp_path}`", None, "part.parquet", part.schema, [part] * 10
    )
    assert written == (tmp_path / "part.parquet").stat().st_size
    stored = pq.ParquetFile(tmp_path / "part.parquet").metadata
    groups = [stored.row_group(n).num_rows for n in range(stored.num_row_groups)]
    assert groups == [65_536, 14_464, 65_536, 14_464, 40_000]
