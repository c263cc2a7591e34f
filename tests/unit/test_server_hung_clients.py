"""A client that has messages and answers none of them, beside one that answers."""

from __future__ import annotations

import pytest

from pubsub_delta.server.assigner import Consumer
from tests.unit.builders import at
from tests.unit.test_server_leaser import Bench


@pytest.mark.parametrize("is_sent", [True, False])
def test_messages_whose_deadline_has_passed_at_one_consumer_are_for_another(is_sent: bool) -> None:
    bench = Bench(count=3)
    given = bench.lease(3)
    for each in list(bench.leaser.outstanding.leases[given].read.values()) if is_sent else ():
        each.was_sent()
    bench.seconds = 10
    bench.leaser.expire(at(10))
    bench.exchange()
    hung, healthy = bench.consumer, Consumer()
    bench.consumer = Consumer()
    bench.consumer.is_paused = True  # what is leased now waits
    bench.lease(3)
    assigned = bench.leaser.assigner.assign([hung, healthy])
    assert [each.position for each in assigned[healthy]] == [0, 1, 2]
