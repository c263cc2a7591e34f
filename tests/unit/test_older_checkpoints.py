"""A query of ``format("pubsub_delta")`` that goes on with an older copy of its checkpoint."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.querying import Query, Sink, a_store, end


@pytest.fixture(autouse=True)
def _end() -> Iterator[None]:
    """End the processes of queries, which give nothing back."""
    yield
    end()


def test_an_older_copy_of_the_checkpoint_loses_no_message() -> None:
    """What the sink would skip is not leased: an ack of it would lose it."""
    # "none acknowledged that the sink has not seen"
    store = a_store(ack_deadline_seconds=10)
    query, sink = Query(store, most=1), Sink()
    assert sink.step(query, 0)
    older = query.committed
    assert sink.step(query, 1)
    assert sink.step(query, 2)
    assert not query.plan()
    assert (sink.has, store.backlog()) == (["a", "b", "c"], {})
    store.publish("d", "e")
    query.start()
    query.committed, number = older, 0
    while sink.step(query, number := number + 1):
        assert number < 10, "it does not end"
    assert sink.has == ["a", "b", "c", "d", "e"]
    assert store.backlog() == {}


def test_an_older_copy_of_the_checkpoint_acknowledges_nothing_that_the_sink_has_not() -> None:
    """The process died in a micro-batch that only the newer checkpoint named."""
    store = a_store(ack_deadline_seconds=10)
    query, sink = Query(store, most=1), Sink()
    assert sink.step(query, 0)
    older = query.committed
    assert sink.step(query, 1)
    assert query.plan()
    assert query.run() == ["c"]  # and the process dies before the sink has it
    query.start()
    query.committed, query.planned, number = older, None, 0
    while sink.step(query, number := number + 1):
        assert number < 10, "it does not end"
    assert sink.has == ["a", "b", "c"]
    assert store.backlog() == {}
