"""What clients are told by a server that ends."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

import pytest

pytest.importorskip("grpc")
from google.api_core import exceptions

from pubsub_delta import Subscription, TableConfig
from pubsub_delta.delivery.table_subscriptions import TableWrites
from tests.unit.builders import PLAIN
from tests.unit.serving import LONG, TOPIC, MemoryStore, RawStream, clients, publish, serving

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

OF_A_TABLE = replace(
    PLAIN,
    name="projects/local/subscriptions/of-a-table",
    table_config=TableConfig("shop.orders"),
)


@dataclass
class WritingStore(MemoryStore):
    """One whose table takes long to write."""

    began: threading.Event = field(default_factory=threading.Event)
    written: threading.Event = field(default_factory=threading.Event)

    def table_subscriptions(self) -> list[Subscription]:
        return [OF_A_TABLE]

    def write_table(self, name: str) -> TableWrites:
        assert name == OF_A_TABLE.name
        self.began.set()
        self.written.wait(LONG)
        return TableWrites()


def test_a_stream_is_ended_while_a_table_is_still_written() -> None:
    """Its client goes to another server at once, and what it was not sent is given back."""
    store = WritingStore()

    def hear_and_let_it_be_written(stream: RawStream) -> None:
        try:
            stream.hear()
        finally:
            store.written.set()

    with ThreadPoolExecutor(1) as thread, ExitStack() as client:
        with serving(store) as address:
            publisher, subscriber = client.enter_context(clients(address))
            publish(publisher, {"topic": TOPIC, "messages": [{"data": b"x"}]})
            stream = RawStream(subscriber)
            assert stream.hear().received_messages
            assert store.began.wait(LONG)
            heard = thread.submit(hear_and_let_it_be_written, stream)
        with pytest.raises(exceptions.ServiceUnavailable, match="shutting down"):
            heard.result(LONG)
