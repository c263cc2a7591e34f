"""A server that keeps writing table subscriptions, as Google's clients see it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

pytest.importorskip("grpc")
from google.api_core import exceptions
from google.protobuf import field_mask_pb2
from google.pubsub_v1.types import BigQueryConfig, CloudStorageConfig, Subscription

from pubsub_delta import PubSub, TableConfig, TableState, resources
from pubsub_delta.cli.endpoint.resources import subscription_of
from pubsub_delta.operations.exchange import Exchanged, StoreChannel
from pubsub_delta.policy.ack_requests import AckRequest
from pubsub_delta.server import table_writing
from pubsub_delta.server.backend import StoreBackend
from pubsub_delta.server.counters import Counters
from tests.unit.serving import LONG, MemoryStore, clients, eventually, serving

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

TOPIC = "projects/p/topics/orders"
NAME = "projects/p/subscriptions/rows"
COLUMNS = pa.schema([("data", pa.string())])
State = BigQueryConfig.State


class Backend(StoreBackend):
    """A store behind a server, and the counters that it counts.

    ``before_exchange``: called with the request of each exchange of a StreamingPull.
    """

    def __init__(self, root: Path) -> None:
        self.before_exchange: Callable[[AckRequest], None] = lambda _: None
        self.root = root
        self.store = PubSub(None, str(root), project="p")
        self.counters = Counters()
        super().__init__(self.store)

    @property
    def now(self) -> Callable[[], datetime]:
        return self._now

    @property
    def table(self) -> Path:
        return self.root / "tables" / "p" / "shop" / "orders"

    def channel(self, subscription: resources.Subscription) -> StoreChannel:
        made = super().channel(subscription)
        return ObservedChannel(made.tables, made.name, made.uid, made.clock, made.may_forward, self)

    def make(self, columns: pa.Schema = COLUMNS) -> None:
        DeltaTable.create(str(self.table), columns)

    @property
    def rows(self) -> list[str]:
        return sorted(DeltaTable(str(self.table)).to_pyarrow_table()["data"].to_pylist())


@dataclass(frozen=True)
class ObservedChannel(StoreChannel):
    """The channel of a store, before whose exchanges a test can act."""

    backend: Backend | None = None

    def exchange(self, request: AckRequest, *others: Any, **named: Any) -> Exchanged:
        assert self.backend is not None
        self.backend.before_exchange(request)
        return super().exchange(request, *others, **named)


@contextmanager
def running(backend: Backend) -> Iterator[tuple[Any, Any]]:
    store = cast(MemoryStore, backend)
    with (
        serving(store, counters=backend.counters) as address,
        clients(address) as (publisher, subscriber),
    ):
        yield publisher, subscriber


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[Backend]:
    made = Backend(tmp_path / "store")
    made.store.create_topic(TOPIC)
    yield made
    made.close()


def config(**fields: Any) -> BigQueryConfig:
    return BigQueryConfig(table="p.shop.orders", **fields)


def subscribe(subscriber: Any, **fields: Any) -> Any:
    asked = {"name": NAME, "topic": TOPIC, "bigquery_config": config()} | fields
    return subscriber.create_subscription(request=asked)


def test_what_is_published_becomes_rows(backend: Backend) -> None:
    backend.make()
    with running(backend) as (publisher, subscriber):
        made = subscribe(subscriber)
        assert made.bigquery_config == config(state=State.ACTIVE)
        futures = [publisher.publish(TOPIC, b"%d" % n) for n in range(20)]
        for future in futures:
            future.result(LONG)
        eventually(lambda: len(backend.rows) == 20)
        assert backend.rows == sorted(map(str, range(20)))
        # it is counted once the messages are acknowledged, after their rows have landed
        eventually(lambda: backend.counters.table_rows == 20)


def test_nobody_pulls_from_it(backend: Backend) -> None:
    # "pull and StreamingPull on such a subscription are refused"
    backend.make()
    with running(backend) as (_, subscriber):
        subscribe(subscriber)
        with pytest.raises(exceptions.FailedPrecondition, match=r"p\.shop\.orders"):
            subscriber.pull(subscription=NAME, max_messages=1)
        future = subscriber.subscribe(NAME, callback=print)
        with pytest.raises(exceptions.FailedPrecondition):
            future.result(LONG)


def test_a_subscriber_is_told_when_it_is_to_be_written(backend: Backend) -> None:
    backend.make()
    with running(backend) as (publisher, subscriber):
        subscribe(subscriber, bigquery_config=None)
        future = subscriber.subscribe(NAME, callback=lambda message: message.nack())
        publisher.publish(TOPIC, b"a").result(LONG)
        mask = field_mask_pb2.FieldMask(paths=["bigquery_config"])
        subscriber.update_subscription(
            subscription={"name": NAME, "bigquery_config": config()}, update_mask=mask
        )
        with pytest.raises(exceptions.FailedPrecondition):
            future.result(LONG)
        eventually(lambda: backend.rows == ["a"])


def test_what_was_acknowledged_is_not_written_when_another_process_gives_it_a_table(
    backend: Backend,
) -> None:
    # the same exchange brings the acknowledgement and is refused further messages
    backend.make()
    other = PubSub(None, str(backend.root), project="p")
    given: list[AckRequest] = []

    def give_a_table(request: AckRequest) -> None:
        if request.acknowledged and not given:
            given.append(request)
            other.update_subscription(NAME, table_config=TableConfig("p.shop.orders"))

    backend.before_exchange = give_a_table
    with running(backend) as (publisher, subscriber):
        subscribe(subscriber, bigquery_config=None)
        future = subscriber.subscribe(NAME, callback=lambda message: message.ack())
        publisher.publish(TOPIC, b"a").result(LONG)
        with pytest.raises(exceptions.FailedPrecondition):
            future.result(LONG)
        eventually(lambda: other.metrics(NAME)["num_undelivered_messages"] == 0)
        assert len(given) == 1
        assert backend.rows == []


def test_cleared_it_is_pulled_from(backend: Backend) -> None:
    backend.make()
    with running(backend) as (publisher, subscriber):
        subscribe(subscriber)
        mask = field_mask_pb2.FieldMask(paths=["bigquery_config"])
        changed = subscriber.update_subscription(subscription={"name": NAME}, update_mask=mask)
        assert "bigquery_config" not in changed
        publisher.publish(TOPIC, b"a").result(LONG)
        (received,) = subscriber.pull(subscription=NAME, max_messages=1).received_messages
        assert received.message.data == b"a"
        assert backend.rows == []


def test_a_switch_is_changed_by_its_path(backend: Backend) -> None:
    backend.make(
        pa.schema(
            [
                *COLUMNS,
                ("subscription_name", pa.string()),
                ("message_id", pa.string()),
                ("publish_time", pa.timestamp("us", "UTC")),
                ("attributes", pa.string()),
            ]
        )
    )
    with running(backend) as (_, subscriber):
        subscribe(subscriber)
        mask = field_mask_pb2.FieldMask(paths=["bigquery_config.write_metadata"])
        changed = subscriber.update_subscription(
            subscription={"name": NAME, "bigquery_config": {"write_metadata": True}},
            update_mask=mask,
        )
        assert changed.bigquery_config == config(write_metadata=True, state=State.ACTIVE)


def test_the_state_tells_what_is_wrong_and_writing_goes_on_when_it_is_right(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_writing, "LONGEST_PAUSE", 0.2)
    backend.make()

    def state() -> Any:
        return subscriber.get_subscription(subscription=NAME).bigquery_config.state

    with running(backend) as (publisher, subscriber):
        subscribe(subscriber)
        other = pa.table({"other": ["x"]})
        write_deltalake(str(backend.table), other, mode="overwrite", schema_mode="overwrite")
        publisher.publish(TOPIC, b"a").result(LONG)
        assert state() == State.SCHEMA_MISMATCH
        told = subscriber.get_subscription(subscription=NAME)
        assert told.state == Subscription.State.RESOURCE_ERROR
        read = subscription_of(Subscription.pb(told)).table_config
        assert read is not None
        assert read.state is TableState.SCHEMA_MISMATCH
        right = pa.table({"data": pa.array([], pa.string())})
        write_deltalake(str(backend.table), right, mode="overwrite", schema_mode="overwrite")
        eventually(lambda: backend.rows == ["a"])
        assert state() == State.ACTIVE


def test_a_table_that_is_not_there_is_not_found(backend: Backend) -> None:
    with (
        running(backend) as (_, subscriber),
        pytest.raises(exceptions.NotFound, match="no Delta table"),
    ):
        subscribe(subscriber)


def test_no_client_has_a_table_written_elsewhere(backend: Backend, tmp_path: Path) -> None:
    # "a server must not write anywhere a client names"
    elsewhere = tmp_path / "elsewhere"
    DeltaTable.create(str(elsewhere), COLUMNS)
    with running(backend) as (_, subscriber):
        for table in (str(elsewhere), f"file://{elsewhere}", "../../elsewhere"):
            with pytest.raises(exceptions.InvalidArgument, match=r"below|names no table"):
                subscribe(subscriber, bigquery_config=BigQueryConfig(table=table))


def test_what_another_process_put_elsewhere_is_not_written(
    backend: Backend, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    DeltaTable.create(str(elsewhere), COLUMNS)
    other = PubSub(None, str(backend.root), project="p", tables_root=str(tmp_path))
    other.create_subscription(NAME, TOPIC, table_config=TableConfig(str(elsewhere)))
    with running(backend) as (publisher, subscriber):
        publisher.publish(TOPIC, b"a").result(LONG)
        told = subscriber.get_subscription(subscription=NAME).bigquery_config
        assert told.state == State.PERMISSION_DENIED
    assert DeltaTable(str(elsewhere)).to_pyarrow_table().num_rows == 0


def test_two_servers_write_each_message_once(backend: Backend) -> None:
    backend.make()
    second = Backend(backend.root)
    with running(backend) as (publisher, subscriber), running(second) as (other, _):
        subscribe(subscriber)
        futures = [(publisher if n % 2 else other).publish(TOPIC, b"%03d" % n) for n in range(100)]
        for future in futures:
            future.result(LONG)
        eventually(lambda: len(backend.rows) >= 100)
    assert backend.rows == [f"{n:03}" for n in range(100)]
    second.close()


def test_cloud_storage_and_service_accounts_are_refused_by_name(backend: Backend) -> None:
    backend.make()
    with running(backend) as (_, subscriber):
        bucket = CloudStorageConfig(bucket="rows")
        with pytest.raises(exceptions.MethodNotImplemented, match="cloud_storage_config"):
            subscribe(subscriber, bigquery_config=None, cloud_storage_config=bucket)
        account = config(service_account_email="me@example.com")
        with pytest.raises(exceptions.MethodNotImplemented, match="service_account_email"):
            subscribe(subscriber, bigquery_config=account)


def test_failures_in_a_row_are_farther_and_farther_apart(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    # "Pub/Sub backs off delivery of messages in a way similar to push backoff behavior"
    waits: list[float] = []
    real = asyncio.wait_for

    async def noted(work: Any, timeout: float) -> Any:
        waits.append(timeout)
        return await real(work, 0.001)

    backend.make()
    with running(backend) as (publisher, subscriber):
        subscribe(subscriber)
        monkeypatch.setattr(table_writing, "asyncio", Quick(noted))
        publisher.publish(TOPIC, b"\xff").result(LONG)
        eventually(lambda: first_rests(waits) == [0.1, 0.2, 0.4, 0.8, 1.6])


def first_rests(waits: list[float]) -> list[float]:
    return [each for each in waits if each in (0.1, 0.2, 0.4, 0.8, 1.6)][:5]


class Quick:
    """asyncio for the writers, that waits no longer than a moment."""

    def __init__(self, wait_for: Any) -> None:
        self.wait_for = wait_for

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)
