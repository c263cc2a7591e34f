"""What a query of ``subscribe_stream`` does with its micro-batches, without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from pubsub_delta.delivery.leases import Lease
from pubsub_delta.streaming import QueryStopped, _Consuming
from tests.unit.in_memory import NAME, InMemory


class Query:
    """A query as Spark shows it; ``error``: what a question to its JVM ends in."""

    id = "query"

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    @property
    def isActive(self) -> bool:
        if self._error is not None:
            raise self._error
        return True


class Ticks:
    """The rows that drive a micro-batch which was not planned before."""

    def collect(self) -> list[dict[str, bool]]:
        return [{"repeated": False}]


def test_a_jvm_that_is_gone_leaves_no_lease_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    # "None is held for ever": the program goes on, and so would the extension of the lease.
    world = InMemory()
    world.publish("a", "b")
    monkeypatch.setattr(Lease, "df", "the messages")

    def process(messages: object, batch_id: int) -> None:
        assert (messages, batch_id) == ("the messages", 0)
        assert world.backlog() == {"a": "leased", "b": "leased"}
        raise ConnectionRefusedError("no answer of the JVM")

    name, uid = world.store._subscription(NAME), world.store.get_subscription(NAME).uid
    consuming = _Consuming(
        world.tables, name, "/checkpoint", world.driver.clock, uid, process, None
    )
    query: Any = Query(ConnectionRefusedError("Connection refused"))
    consuming._started.set_result(query)
    ticks: Any = Ticks()
    with pytest.raises(QueryStopped):
        consuming(ticks, 0)
    assert [each.data for each in world.pull()] == ["a", "b"]
