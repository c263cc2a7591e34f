"""Which lane a store takes, and what it refuses, without any session being asked for work."""

from __future__ import annotations

from typing import Any

import pytest

from pubsub_delta.errors import FailedPrecondition, InvalidArgument
from pubsub_delta.session import DELTA_SETTINGS, SPEED_SETTINGS
from pubsub_delta.tables.lanes.choice import MANY_MESSAGES, Lanes
from pubsub_delta.tables.lanes.direct.storage import address_of
from pubsub_delta.tables.lanes.protocol import TableMissing
from pubsub_delta.tables.lanes.s3_writers import LANE_PROPERTY, refusal_of_spark
from pubsub_delta.tables.layout import layout_of

TABLE = "delta.`/data/pubsub/messages/0`"


def lanes(root: str, lane: Any = None) -> Lanes:
    return Lanes(None, layout_of(root), lane)


@pytest.mark.parametrize("root", ["/data/pubsub", "s3a://bucket/pubsub", "gs://bucket/pubsub"])
def test_this_process_works_where_deltalake_reaches_the_files(root: str) -> None:
    assert lanes(root).line == f"direct lane: deltalake opens {root}"


@pytest.mark.parametrize(
    ("table", "address"),
    [
        ("delta.`/data/pubsub/topics`", "/data/pubsub/topics"),
        ("delta.`file:/data/pubsub/topics`", "/data/pubsub/topics"),
        ("delta.`file:///data/pubsub/topics`", "/data/pubsub/topics"),
        ("delta.`s3a://bucket/pubsub/topics`", "s3a://bucket/pubsub/topics"),
        ("delta.`gs://bucket/pubsub/topics`", "gs://bucket/pubsub/topics"),
    ],
)
def test_a_table_is_opened_at_its_path_or_url(table: str, address: str) -> None:
    assert address_of(table) == address


@pytest.mark.parametrize("root", ["hdfs://host/pubsub", "dbfs:/pubsub", "main.pubsub"])
def test_spark_works_on_everything_else(root: str) -> None:
    assert lanes(root).choice[0] == "spark"
    with pytest.raises(FailedPrecondition, match="needs Spark"):
        _ = lanes(root).control


def test_a_lane_may_be_asked_for_where_it_can_be_taken() -> None:
    assert lanes("/data/pubsub", "spark").line == "spark lane: it was asked for"
    with pytest.raises(FailedPrecondition, match="catalog schema"):
        _ = lanes("main.pubsub", "direct").choice
    with pytest.raises(InvalidArgument, match="'quick'; 'direct', 'spark' or None"):
        lanes("/data/pubsub", "quick")


def test_on_s3_no_dataframe_is_published_beside_the_direct_lane(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ "What cannot be made safe is refused by name": Delta's log store for S3 overwrites."""
    monkeypatch.setattr(Lanes, "session_for", lambda *_: None)
    table = "delta.`s3a://bucket/pubsub/messages/0`"
    with pytest.raises(FailedPrecondition, match="on S3 a DataFrame cannot be published"):
        lanes("s3a://bucket/pubsub").writer_for(table)


@pytest.mark.parametrize("scheme", ["s3", "s3a", "s3n"])
def test_on_s3_spark_writes_nothing_by_any_of_hadoops_names_for_it(scheme: str) -> None:
    """Delta: its default log store for S3 is safe "from a single Spark driver" alone."""
    assert refusal_of_spark(f"{scheme}://bucket/pubsub", {}) is not None


def test_who_names_a_directory_without_its_slash_is_told() -> None:
    # "Every message says what was wrong, the offending value, and what would be accepted."
    with pytest.raises(FailedPrecondition, match=r"'store' is a schema of a catalog.*'\./store'"):
        Lanes(None, layout_of("store")).spark  # noqa: B018
    with pytest.raises(FailedPrecondition, match=r"needs Spark, .*local_session\(\)"):
        Lanes(None, layout_of("./store")).spark  # noqa: B018


@pytest.mark.parametrize(
    ("root", "told"),
    [
        ("store", r"^root: 'store' is a schema of a catalog.*: it has no Java; .*'\./store'$"),
        ("foo://store", r"^root: 'foo://store' needs Spark, as deltalake .*: it has no Java$"),
        ("./store", r"^it has no Java$"),
    ],
)
def test_who_has_no_spark_is_told_why_the_root_needs_one(root: str, told: str) -> None:
    """A command line starts Spark by itself, so its user did not ask for any."""

    def fail() -> Any:
        raise FailedPrecondition("it has no Java")

    with pytest.raises(FailedPrecondition, match=told):
        Lanes(fail, layout_of(root)).spark  # noqa: B018


@pytest.mark.parametrize("count", [0, 1, MANY_MESSAGES, 10 * MANY_MESSAGES])
def test_without_a_session_this_process_reads_any_number_of_messages(count: int) -> None:
    """Spark reads many messages only "where a session has been started"; this starts none."""

    def fail() -> Any:
        raise FailedPrecondition("it has no Java")

    for spark in (None, fail):
        found = Lanes(spark, layout_of("/data/pubsub"))
        assert found.scans(TABLE, count) is found.local_scans


def lanes_with_tables(monkeypatch: pytest.MonkeyPatch, there: Tables) -> Lanes:
    """Return the lanes of a session; ``there``: the tables that Spark finds."""
    monkeypatch.setattr(Lanes, "_spark_scans", "those of Spark")
    monkeypatch.setattr(Lanes, "_direct_scans", "those of this process")
    monkeypatch.setattr(Lanes, "control", Tables("id"))
    monkeypatch.setattr(Lanes, "bulk", there)
    session: Any = Session()
    return Lanes(session, layout_of("/data/pubsub"))


@pytest.mark.parametrize("count", [1, MANY_MESSAGES - 1, MANY_MESSAGES, MANY_MESSAGES + 1])
def test_a_session_reads_from_2_000_000_messages_on(
    monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """ "Spark from 2,000,000 messages on …, where a session has been started"."""
    found = lanes_with_tables(monkeypatch, Tables("id"))
    by_spark = count >= 2_000_000
    assert found.scans(TABLE, count) == ("those of Spark" if by_spark else found.local_scans)


@pytest.mark.parametrize("there", [(None, False), ("another id", True), ("id", False)])
def test_a_session_that_finds_another_table_at_a_path_reads_nothing_of_it(
    monkeypatch: pytest.MonkeyPatch, there: tuple[str | None, bool]
) -> None:
    """Every message that passes the filter is in the backlog: in a copy the newest are missing."""
    found = lanes_with_tables(monkeypatch, Tables(*there))
    for _ in range(2):
        assert found.scans(TABLE, MANY_MESSAGES) is found.local_scans
        with pytest.raises(FailedPrecondition, match="finds another table there"):
            found.session_for(TABLE)


class Conf:
    def __init__(self, settings: dict[str, str]) -> None:
        self.getAll = settings

    def get(self, key: str, default: str) -> str:
        return self.getAll.get(key, default)


class Session:
    """A stand-in for a session, of which only the settings are asked."""

    def __init__(self, **settings: str) -> None:
        self.conf = Conf({key.replace("_", "."): value for key, value in settings.items()})

    def createDataFrame(self) -> None: ...


class Started(Session):
    """A session with Delta, and the catalog that is current in it."""

    version = "4.2.0"

    def __init__(self) -> None:
        super().__init__()
        self.conf.getAll = {**DELTA_SETTINGS, **SPEED_SETTINGS}
        self.catalog = self
        self.current = "main"

    def currentCatalog(self) -> str:
        return self.current


@pytest.mark.parametrize("lane", ["direct", "spark"])
def test_a_session_that_reads_no_path_is_refused_by_its_setting(lane: Any) -> None:
    """It took each table for another one, or for none: a store for an empty one."""
    session: Any = Session(spark_sql_runSQLOnFiles="False")
    found = Lanes(session, layout_of("/data/pubsub"), lane)
    with pytest.raises(FailedPrecondition, match=r"spark\.sql\.runSQLOnFiles=false, .* accepted"):
        found.session_for(TABLE)
    if lane == "spark":
        with pytest.raises(FailedPrecondition, match=r"spark\.sql\.runSQLOnFiles=false"):
            _ = found.control


@pytest.mark.parametrize("starts", [False, True], ids=["given", "started"])
def test_a_schema_is_in_the_catalog_that_is_current_at_first(starts: bool) -> None:
    """ "Messages must not reach whom they do not belong to": other catalogs have such a schema."""
    session: Any = Started()
    found = Lanes((lambda: session) if starts else session, layout_of("pubsub"))
    assert found.layout.topics == "`main`.`pubsub`.`topics`"
    session.current = "other"
    assert found.layout.topics == "`main`.`pubsub`.`topics`"
    assert lanes("pubsub").layout.topics == "`pubsub`.`topics`"


DYNAMODB = "io.delta.storage.S3DynamoDBLogStore"


def test_a_session_that_commits_by_dynamodb_takes_sparks_lane_and_no_other() -> None:
    """ "Made safe … or refused with one line": deltalake asks no DynamoDB."""
    session: Any = Session(spark_delta_logStore_s3a_impl=DYNAMODB)
    layout = layout_of("s3a://bucket/pubsub")
    assert Lanes(session, layout).line == (
        "spark lane: its session commits on S3 by DynamoDB, of which deltalake knows nothing"
    )
    with pytest.raises(FailedPrecondition, match="'direct' cannot be taken: its session commits"):
        _ = Lanes(session, layout, "direct").choice
    assert Lanes(session, layout_of("gs://bucket/pubsub")).choice[0] == "direct"


def test_an_environment_that_asks_deltalake_for_dynamodb_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_S3_LOCKING_PROVIDER", "dynamodb")
    with pytest.raises(FailedPrecondition, match="AWS_S3_LOCKING_PROVIDER is dynamodb, and"):
        _ = lanes("s3a://bucket/pubsub").control
    _ = lanes("gs://bucket/pubsub").control


class Registry:
    """A stand-in for a lane, which tells the properties of a registry that was created by one."""

    def __init__(self, created_by: str | None) -> None:
        self.created_by = created_by

    def properties(self, table: str) -> dict[str, str]:
        if self.created_by is None:
            raise TableMissing(table)
        return {LANE_PROPERTY: self.created_by}


def test_on_s3_nothing_is_written_beside_another_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    """ "What cannot be made safe is refused by name", as far as the store tells it."""
    registry = Registry(None)
    monkeypatch.setattr(Lanes, "control", registry)
    locks = lanes("s3a://bucket/pubsub").locks
    with locked(locks):
        registry.created_by = "spark"
    with pytest.raises(FailedPrecondition, match=r"this store's is lane='spark': open it with"):
        locked(locks).__enter__()
    registry.created_by = "direct"
    for root in ("s3a://bucket/pubsub", "gs://bucket/pubsub"):
        with locked(lanes(root).locks):
            pass
    session: Any = Session(spark_delta_logStore_s3a_impl=DYNAMODB)
    locks = Lanes(session, layout_of("s3a://bucket/pubsub")).locks
    with pytest.raises(FailedPrecondition, match=r"this store's is lane='direct': open it with"):
        locked(locks).__enter__()


def locked(locks: Any) -> Any:
    return locks.locked("delta.`s3a://bucket/pubsub/topics`")


class Tables:
    """A stand-in for a lane, of which only the id of a table and its disk are asked."""

    def __init__(self, id_: str | None, local: bool = True) -> None:
        self._id = id_
        self._local = local

    def table_id(self, _: str) -> str | None:
        return self._id

    def is_on_disk(self, _: str) -> bool:
        return self._local
