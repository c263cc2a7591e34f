"""Two programs whose clocks are an hour apart, on one store (docs/clocks.md)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pubsub_delta import ManualClock, NotFound, PubSub
from tests.conftest import Bench

HOUR = timedelta(hours=1)


@pytest.fixture(scope="module")
def ahead(bench: Bench) -> PubSub:
    """The same store, opened by one whose clock is an hour ahead."""
    return PubSub(bench.spark, bench.root, clock=ManualClock(bench.clock.now() + HOUR))


@pytest.mark.trial
def test_clocks_apart_cost_a_redelivery_and_lose_nothing(bench: Bench, ahead: PubSub) -> None:
    topic, name = bench.pair(ack_deadline_seconds=600)
    early = ahead.publish(topic, ["first"])
    late = bench.store.publish(topic, ["second"])
    assert early.publish_time - late.publish_time == HOUR
    held = bench.store.pull(name)
    assert [message.data for message in held] == [b"first", b"second"]  # as they were committed
    again = ahead.pull(name)  # by its clock that lease is over
    assert again.message_count == 2
    assert held.ack().counts == {"success": 0, "expired": 2, "invalid": 0}
    bench.clock.advance(-7200)  # it steps back: the lease that is seen from there is far from over
    assert bench.store.pull(name).message_count == 0
    assert bench.store.backlog(name).count() == 2
    assert again.ack().counts == {"success": 2, "expired": 0, "invalid": 0}
    assert bench.store.backlog(name).count() == 0
    bench.clock.advance(7200)


def test_a_snapshot_is_gone_an_hour_early_for_a_clock_that_is_ahead(
    bench: Bench, ahead: PubSub
) -> None:
    _, name = bench.pair()
    bench.store.create_snapshot("seen-by-two", name)
    for clock in (bench.clock, ahead.clock):
        assert isinstance(clock, ManualClock)
        clock.advance((7 * 24 - 0.5) * 3600)
    assert bench.store.get_snapshot("seen-by-two").expire_time > bench.clock.now()
    with pytest.raises(NotFound, match="seen-by-two does not exist, or has expired"):
        ahead.get_snapshot("seen-by-two")
