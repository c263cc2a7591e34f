"""The options of ``format("pubsub_delta")``, and the columns that they ask for."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pytest

from pubsub_delta import FailedPrecondition, InvalidArgument, Unavailable, Unimplemented
from pubsub_delta.clock import UTC
from pubsub_delta.datasource.columns import DATABRICKS, STORED, columns_of, needed, shaped
from pubsub_delta.datasource.offsets import Offset, read_offset
from pubsub_delta.datasource.options import read_options
from pubsub_delta.policy.ack_ids import AckId, prefix
from pubsub_delta.policy.ack_state import Span, State
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.schemas import BACKLOG, BATCH, TEXT_BY_TEXT

NOON = datetime(2026, 1, 1, 12, 0, 0, 1999, tzinfo=UTC)


def test_options_are_read_whatever_their_case() -> None:
    # "A case-insensitive dictionary representing the options for this data source."
    options = read_options({"ROOT": "/data/pubsub", "maxmessagespertrigger": "7"})
    assert (options.root, options.max_messages) == ("/data/pubsub", 7)


def test_the_names_of_the_other_connector_mean_the_same() -> None:
    """Its credentials are accepted, and nobody asks for them."""
    options = read_options(
        {
            "root": "/data/pubsub",
            "projectId": "work",
            "topicId": "flights",
            "subscriptionId": "delays",
            "clientEmail": "me@example.com",
            "privateKey": "secret",
            "fs.s3a.secret.key": "secret",
            "maxRecordsPerFetch": "100",
            "deleteSubscriptionOnStreamStop": "false",
        }
    )
    assert str(options.subscription) == "projects/work/subscriptions/delays"
    assert str(options.topic) == "projects/work/topics/flights"
    assert "secret" not in repr(options)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"rot": "/data"}, r"^rot: no option .* accepted are asOf, backlog, .*root"),
        (
            {"topic": "a-b", "topicId": "c-d"},
            r"^topicId: 'c-d', but topic, the same option, is 'a-b'",
        ),
        (
            {"root": "/data/one", "path": "/data/two"},
            r"^path: '/data/two', but root, the same option, is '/data/one'",
        ),
        (
            {"path": "/data/two", "root": "/data/one"},
            r"^root: '/data/one', but path, the same option, is '/data/two'",
        ),
        ({"paths": '["/data/one","/data/two"]'}, r"^load: .*/data/two.*; one path, .* is accepted"),
        ({"deleteSubscriptionOnStreamStop": "true"}, r"'true'; false is accepted"),
    ],
)
def test_an_option_that_is_none_is_refused_by_name(given: dict[str, str], told: str) -> None:
    with pytest.raises(InvalidArgument, match=told):
        read_options(given)


@pytest.mark.parametrize(
    ("name", "value", "attribute"),
    [
        ("maxMessagesPerTrigger", "0", "max_messages"),
        ("maxMessagesPerTrigger", "many", "max_messages"),
        ("maxBytesPerTrigger", "2 parsecs", "max_bytes"),
        ("maxBytesPerTrigger", "0", "max_bytes"),
        ("pushFilters", "perhaps", "pushes_filters"),
        ("columns", "all", "is_databricks"),
        ("project", "-", "topic"),
        ("txnVersion", "7", "transaction"),
        ("topic", "x", "topic"),
    ],
)
def test_a_value_that_is_not_accepted_is_told(name: str, value: str, attribute: str) -> None:
    # "Every message says what was wrong, the offending value, and what would be accepted."
    options = read_options({"topic": "flights", name: value})
    with pytest.raises(InvalidArgument, match=f"{name}.*{value}.*accepted"):
        getattr(options, attribute)


def test_bytes_are_a_number_or_one_of_kilo_and_more() -> None:
    given = {"17": 17, "64m": 64 << 20, "2 GB": 2 << 30, "1kib": 1024}
    read = {text: read_options({"maxBytesPerTrigger": text}).max_bytes for text in given}
    assert read == given


def test_as_of_is_a_version_or_a_time() -> None:
    assert read_options({"asOf": "12"}).as_of == 12
    assert read_options({"asOf": "2026-01-01T00:00:00Z"}).as_of == "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("use", "name"),
    [("readStream", "asOf"), ("read", "maxBytesPerTrigger"), ("writeStream", "txnAppId")],
)
def test_an_option_that_means_nothing_for_a_use_is_refused(use: str, name: str) -> None:
    with pytest.raises(InvalidArgument, match=f"^{name}: {use} does not have this option"):
        read_options({name: "1"}).check(use)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "value"), [("asOf", "0"), ("pushFilters", "true")])
def test_an_option_of_a_topic_is_refused_beside_a_backlog(name: str, value: str) -> None:
    """The backlog of now was shown as that of then."""
    with pytest.raises(InvalidArgument, match=f"^{name}: '{value}' together with backlog"):
        read_options({name: value, "backlog": "delays"}).check("read")
    read_options({name: value, "topic": "flights"}).check("read")


def test_a_batch_read_of_a_subscription_says_what_to_do() -> None:
    """It would look as if it consumed the messages, and leases nothing."""
    with pytest.raises(InvalidArgument, match=r"leases and acknowledges nothing: .*backlog"):
        read_options({"subscription": "delays"}).check("read")


def test_a_missing_root_is_told() -> None:
    with pytest.raises(InvalidArgument, match=r'^root: .*\.option\("root", "/data/pubsub"\)'):
        read_options({}).root  # noqa: B018


@pytest.mark.parametrize("path", ["/data/pubsub", "/data/pubsub/", "file:/data/pubsub"])
def test_a_root_and_a_path_that_are_the_same_directory_are_one(path: str) -> None:
    """So `.option("root", …)` may stand in a function that is given a path to load as well."""
    options = read_options({"root": "/data/pubsub", "path": path})
    assert options.root == "/data/pubsub"


@pytest.mark.parametrize("given", [{"root": "./pubsub"}, {"path": "./pubsub/"}, {}])
def test_a_relative_root_is_that_of_the_driver(
    given: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task has another working directory; a file that it wrote there would be lost."""
    monkeypatch.chdir(tmp_path)
    options = read_options(given, {"PUBSUB_DELTA_ROOT": "./pubsub"})
    monkeypatch.chdir("/")
    assert options.root == str(tmp_path / "pubsub")


def test_a_table_of_a_catalog_is_refused_when_it_is_created() -> None:
    """Spark 4.2 gives its options to no query of it: it could be made, and never read."""
    properties = {
        "provider": "pubsub_delta",
        "owner": "me",
        "location": "file:/data/pubsub",
        "path": "file:/data/pubsub",
        "topic": "flights",
        "option.topic": "flights",
    }
    with pytest.raises(Unimplemented, match=r"^USING pubsub_delta: .*CREATE TEMPORARY VIEW"):
        read_options(properties)


@pytest.mark.parametrize("root", ["main.pubsub", "dbfs:/pubsub", "hdfs://host/pubsub"])
def test_a_root_that_takes_a_session_is_refused(root: str) -> None:
    # "`PubSub(None, root)` in the Python worker: no session there"
    with pytest.raises(FailedPrecondition, match=r"^root: .*no session.*subscribe_stream"):
        read_options({"root": root}).tables()


def test_the_environment_names_the_store_where_no_option_does() -> None:
    """As for the command line: so a query need not name it."""
    environment = {"PUBSUB_DELTA_ROOT": "/data/pubsub", "PUBSUB_DELTA_PROJECT": "work"}
    options = read_options({"topic": "flights"}, environment)
    assert (options.root, str(options.topic)) == ("/data/pubsub", "projects/work/topics/flights")
    asked = read_options({"topic": "flights", "path": "/other", "projectId": "me"}, environment)
    assert (asked.root, str(asked.topic)) == ("/other", "projects/me/topics/flights")


def test_a_query_that_was_written_for_the_other_connector_gets_its_columns() -> None:
    # "so that a query written for its Pub/Sub source changes one word"
    theirs = {"subscriptionId": "delays", "topicId": "flights", "projectId": "work"}
    assert columns_of(read_options(theirs)) == DATABRICKS
    assert columns_of(read_options({**theirs, "columns": "pubsub_delta"})) == BATCH
    assert columns_of(read_options({"subscription": "delays", "topicId": "flights"})) == BATCH


@pytest.mark.parametrize(
    ("given", "creates"),
    [
        ({"subscriptionId": "delays", "topicId": "flights"}, True),
        ({"subscriptionId": "delays"}, False),
        ({"subscription": "delays", "topic": "flights"}, False),
    ],
)
def test_only_a_query_of_the_other_connector_creates_its_subscription(
    given: dict[str, str], creates: bool
) -> None:
    """Its documentation: a subscription is created if none exists with the id."""
    assert read_options(given).creates_subscription is creates


def test_the_tables_of_a_store_are_opened_once_in_a_process(tmp_path: Path) -> None:
    given = {"root": str(tmp_path), "fs.s3a.access.key": "me"}
    assert read_options(given).tables() is read_options(given).tables()
    assert read_options({"root": str(tmp_path)}).tables() is not read_options(given).tables()


def test_what_a_storage_says_is_told_with_where_credentials_come_from() -> None:
    options = read_options({"root": "s3://bucket/pubsub"})
    with (
        pytest.raises(Unavailable, match=r"no key.*AWS_.*fs\.s3a\.access\.key"),
        options.reaching(),
    ):
        raise OSError("no key\nand more")


def test_settings_of_the_storage_are_passed_on() -> None:
    """Hadoop's names, which have no capital letters."""
    options = read_options({"fs.S3A.endpoint": "http://localhost:9000", "root": "s3://b/p"})
    lanes = options.tables().lanes
    assert dict(lanes._storage_options() or {})["aws_endpoint"] == "http://localhost:9000"


@pytest.mark.parametrize(
    ("given", "columns"),
    [
        ({"topic": "flights"}, STORED),
        ({"subscription": "delays"}, BATCH),
        ({"subscription": "delays", "topic": "flights"}, BATCH),
        ({"backlog": "delays"}, BACKLOG),
        ({"subscription": "delays", "columns": "databricks"}, DATABRICKS),
    ],
)
def test_columns_are_those_of_what_is_read(given: dict[str, str], columns: pa.Schema) -> None:
    assert columns_of(read_options(given)).equals(columns)


def test_a_backlog_in_the_columns_of_the_other_connector_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="no column for the state"):
        columns_of(read_options({"backlog": "delays", "columns": "databricks"}))


def stored(*positions: int) -> pa.RecordBatch:
    count = len(positions)
    return pa.record_batch(
        {
            "position": pa.array(positions, pa.int64()),
            "publish_time": pa.array([NOON] * count, pa.timestamp("us", "UTC")),
            "data": pa.array([b"x"] * count, pa.binary()),
            "attributes": pa.array([[("a", "é"), ("b", '"')]] * count, TEXT_BY_TEXT),
            "ordering_key": pa.array([None] * count, pa.string()),
        }
    )


def test_a_leased_message_has_the_columns_of_a_pulled_batch() -> None:
    spans = [
        Span(State.LEASED, Positions.of([4, 6]), NOON, NOON, delivery_attempt=1),
        Span(State.LEASED, Positions.of([5]), NOON, NOON, delivery_attempt=3),
    ]
    uid = "0" * 32
    made = shaped(stored(4, 5, 6), BATCH, spans=spans, ack_prefix=prefix(uid, 7), counted=True)
    rows = made.to_pylist()
    assert made.schema.equals(BATCH)
    assert [row["ack_id"] for row in rows] == [str(AckId(uid, 7, n)) for n in (4, 5, 6)]
    assert [row["delivery_attempt"] for row in rows] == [1, 3, 1]
    assert [row["message_id"] for row in rows] == ["4", "5", "6"]
    assert {row["ordering_key"] for row in rows} == {""}


def test_delivery_attempts_are_told_where_they_are_counted_only() -> None:
    spans = [Span(State.AVAILABLE, Positions.of([4]), NOON, NOON)]
    (row,) = shaped(stored(4), BACKLOG, spans=spans).to_pylist()
    assert (row["state"], row["delivery_attempt"]) == ("available", None)


def test_attributes_that_are_no_utf8_stop_no_query() -> None:
    # "one message that cannot be read (damage, an older writer) never stops those behind it"
    kept = pa.array([[(b"a", b"\xff1")], None], pa.map_(pa.binary(), pa.binary()))
    keys, values = kept.keys.view(pa.string()), kept.items.view(pa.string())
    rows = pa.RecordBatch.from_pydict(
        {
            "position": pa.array([1, 2], pa.int64()),
            "attributes": pa.MapArray.from_arrays(kept.offsets, keys, values),
        }
    )
    columns = pa.schema([DATABRICKS.field("attributes")])
    assert shaped(rows, columns)["attributes"].to_pylist() == ['{"a": "\\ufffd1"}', "{}"]


def test_attributes_of_the_other_connector_are_json_and_times_whole_milliseconds() -> None:
    (row,) = shaped(stored(4), DATABRICKS).to_pylist()
    assert json.loads(row["attributes"]) == {"a": "é", "b": '"'}
    assert row["publishTimestampInMillis"] == int(NOON.timestamp() * 1000)
    assert (row["messageId"], row["payload"]) == ("4", b"x")


@pytest.mark.parametrize(
    ("micros", "millis"), [(1_999, 1), (-1, -1), (253_370_764_799_999_999, 253_370_764_799_999)]
)
def test_a_publish_time_of_the_other_connector_is_whole_milliseconds_at_any_time(
    micros: int, millis: int
) -> None:
    """docs/guarantees.md: "The times of a store are from 1970 to 9998"."""
    times = pa.array([micros], pa.int64()).cast(pa.timestamp("us", "UTC"))
    rows = pa.RecordBatch.from_pydict(
        {"position": pa.array([1], pa.int64()), "publish_time": times}
    )
    columns = pa.schema([DATABRICKS.field("publishTimestampInMillis")])
    assert shaped(rows, columns)["publishTimestampInMillis"].to_pylist() == [millis]


def test_only_what_is_asked_for_is_read() -> None:
    assert needed(["message_id"]) == ["position"]
    assert needed(["publishTimestampInMillis"]) == ["position", "publish_time"]


def test_an_offset_is_read_as_it_was_written() -> None:
    offset = Offset("0" * 32, "reader", 3)
    assert read_offset(json.loads(json.dumps(offset.as_json()))) == offset


@pytest.mark.parametrize("kept", [{}, {"index": 7}, {**Offset("0").as_json(), "format": 2}])
def test_an_offset_of_something_else_is_refused(kept: dict[str, object]) -> None:
    with pytest.raises(FailedPrecondition, match="not an offset of"):
        read_offset(kept)
