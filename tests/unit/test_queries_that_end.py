"""What becomes of the micro-batch of a query that ends, and where a stream of a topic begins."""

from __future__ import annotations

from concurrent.futures import Future
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pubsub_delta import DeadLetterPolicy
from pubsub_delta.delivery.leases import Lease
from pubsub_delta.streaming import QueryStopped, _Consuming
from tests.unit.in_memory import LETTERS, NAME, TOPIC, InMemory


class Failed(Exception):
    """The function of a query fails, or is interrupted."""


def fail(_: object, __: int) -> None:
    raise Failed


@pytest.mark.parametrize(("active", "attempt"), [(False, 1), (True, 2)])
def test_only_a_query_that_was_not_stopped_has_failed(
    active: bool, attempt: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # "If process fails, that is a nack"; a query that is stopped gives its messages back
    world = InMemory(dead_letter_policy=DeadLetterPolicy(LETTERS))
    world.publish("a")
    monkeypatch.setattr(Lease, "df", None)
    name, uid = world.store._subscription(NAME), world.store.get_subscription(NAME).uid
    query = _Consuming(world.tables, name, "checkpoint", world.driver.clock, uid, fail, None)
    running: Future[Any] = query._started
    running.set_result(SimpleNamespace(id="query", isActive=active))
    with pytest.raises(Failed if active else QueryStopped):
        query(cast(Any, SimpleNamespace(collect=list)), 0)
    (message,) = world.store.pull(NAME)
    assert message.delivery_attempt == attempt


def test_a_stream_from_a_time_on_begins_with_what_was_published_at_it() -> None:
    # "from a version or a time on": both included, as with a seek
    world = InMemory()
    history = world.tables.messages(world.store.get_topic(TOPIC).uid).history
    times = []
    for n, each in enumerate("abc"):
        world.be_at(60.0 * n)
        times.append(world.now)
        world.publish(each)
    versions = [history.first_version_since(each) for each in times]
    newest = history.version()
    assert versions == [newest - 2, newest - 1, newest]
    assert history.first_version_since(times[-1] + timedelta(microseconds=1)) == newest
