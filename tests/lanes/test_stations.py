"""How many modules a call passes from its public method down to the commit of ``deltalake``.

Those of ``policy`` are not among them: they decide what is committed, and call nothing further.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

import pubsub_delta
from pubsub_delta import PubSub, PulledBatch
from pubsub_delta.policy.ack_buffer import AckBuffer
from pubsub_delta.tables.lanes.direct import commits, tables

LIBRARY = Path(pubsub_delta.__file__).parent
TOPIC, NAME = "topic", "subscription"


@pytest.fixture
def stations(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The modules on the stack when an ack was buffered or a commit made, as paths."""
    found: set[str] = set()

    def recording(called: Callable[..., None]) -> Callable[..., None]:
        def call_and_record(*args: Any, **options: Any) -> None:
            for frame in traceback.extract_stack():
                path = Path(frame.filename)
                if path.is_relative_to(LIBRARY) and not path.is_relative_to(LIBRARY / "policy"):
                    found.add(path.relative_to(LIBRARY).as_posix())
            called(*args, **options)

        return call_and_record

    for module in (commits, tables):
        monkeypatch.setattr(module, "write_deltalake", recording(module.write_deltalake))
    # A server buffers an ack, and another task commits it.
    monkeypatch.setattr(AckBuffer, "acknowledge", recording(AckBuffer.acknowledge))
    return found


@pytest.fixture
def store(tmp_path: Path) -> PubSub:
    store = PubSub(None, str(tmp_path))
    store.create_topic(TOPIC)
    store.create_subscription(NAME, TOPIC)
    store.publish(TOPIC, ["a", "b"])
    return store


def test_a_publish_of_a_list_passes_few_modules(store: PubSub, stations: set[str]) -> None:
    """Style: "a publish in six"."""
    store.publish(TOPIC, ["c"])
    assert "tables/messages/messages.py" in stations
    assert len(stations) <= 6


def pulled(store: PubSub, stations: set[str]) -> PulledBatch:
    batch = store.pull(NAME)
    assert len(batch) == 2
    assert "operations/pull.py" in stations
    return batch


def test_a_pull_passes_few_modules(store: PubSub, stations: set[str]) -> None:
    pulled(store, stations)
    assert len(stations) <= 8


@pytest.mark.parametrize("answer", [PulledBatch.ack, PulledBatch.nack])
def test_an_answer_to_a_batch_passes_few_modules(
    store: PubSub, stations: set[str], answer: Callable[[PulledBatch], object]
) -> None:
    """Style: "a nack is readable in at most eight short files"."""
    batch = pulled(store, stations)
    stations.clear()
    answer(batch)
    assert "operations/acknowledge.py" in stations
    assert len(stations) <= 8


def test_a_seek_passes_few_modules(store: PubSub, stations: set[str]) -> None:
    store.seek(NAME, time="2020-01-01T00:00:00Z")
    assert "operations/seek.py" in stations
    assert len(stations) <= 8


def test_an_ack_of_a_streaming_pull_passes_few_modules(store: PubSub, stations: set[str]) -> None:
    """Issue: "StreamingPull ack ≤ 10", from the request of the client."""
    pytest.importorskip("grpc")
    asyncio.run(acknowledged_by_a_stream(store, stations))
    assert {"server/streams.py", "operations/exchange.py"} <= stations
    assert len(stations) <= 10


async def acknowledged_by_a_stream(store: PubSub, stations: set[str]) -> None:
    """Acknowledge by a stream of a server what it sends first."""
    from pubsub_delta.server.backend import StoreBackend
    from pubsub_delta.server.counters import Counters
    from pubsub_delta.server.grpc_services import SERVICES, STREAMING_PULL, SUBSCRIBER
    from pubsub_delta.server.hub import Hub
    from pubsub_delta.server.streams import Stream
    from pubsub_delta.server.timing import Timing

    request = SERVICES[SUBSCRIBER][STREAMING_PULL].request
    ack_ids: asyncio.Queue[str] = asyncio.Queue()
    backend = StoreBackend(store)
    hub = Hub(backend, Counters(), Timing(), store.clock.now)

    async def requests() -> AsyncIterator[Any]:
        name = f"projects/local/subscriptions/{NAME}"
        yield request(subscription=name, stream_ack_deadline_seconds=60)
        yield request(ack_ids=[await ack_ids.get()])
        await asyncio.Event().wait()

    responses = Stream(hub).run(requests())
    first = await anext(responses)
    stations.clear()
    ack_ids.put_nowait(first.received_messages[0].ack_id)
    while not store.metrics(NAME)["ack_message_count"]["success"]:
        await asyncio.sleep(0.01)
    await responses.aclose()  # type: ignore[attr-defined]
    await hub.stop()
    backend.close()
