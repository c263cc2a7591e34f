"""The metrics of an ack state, all of them, and which moments of its past are measured."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pubsub_delta.policy.ack_state import AckState
from pubsub_delta.policy.metrics import SubscriptionMetrics, metrics_of, spread
from tests.unit.builders import at, available_span
from tests.unit.test_whole_ack_states import RETAINED, WHOLE


def test_each_metric_is_that_of_the_whole_ack_state() -> None:
    """Retained messages are acknowledged: they count for nothing, however old."""
    late = tuple(replace(each, publish_time_max=at(99)) for each in WHOLE.spans)
    early = replace(RETAINED, publish_time_min=at(-99), delivery_attempt=99)
    assert metrics_of(replace(WHOLE, spans=(*late[1:], late[0], early))) == SubscriptionMetrics(
        active_time=at(-5),
        num_undelivered_messages=10,
        num_outstanding_messages=4,
        oldest_unacked_publish_time=at(0),
        delivery_attempt=6,
        ack_message_count_success=10,
        ack_message_count_expired=20,
        ack_message_count_invalid=30,
        dead_letter_message_count=40,
        after_version=4,
    )


def test_without_messages_nothing_is_oldest_or_tried() -> None:
    nothing = SubscriptionMetrics(None, 0, 0, None, None, 0, 0, 0, 0, 3)
    assert metrics_of(AckState(3)) == metrics_of(AckState(3, spans=(RETAINED,))) == nothing
    one = metrics_of(AckState(3, spans=(available_span([7], 5, 9),)))
    assert one == replace(
        nothing, num_undelivered_messages=1, oldest_unacked_publish_time=at(5), delivery_attempt=1
    )


@pytest.mark.parametrize("gap", [1, 3])
@pytest.mark.parametrize("count", range(14))
@pytest.mark.parametrize("most", range(1, 8))
def test_the_newest_moment_is_measured_and_others_at_the_shortest_equal_steps_that_fit(
    count: int, most: int, gap: int
) -> None:
    """ "The newest, and others at equal steps", so that mostly the same are chosen again."""
    versions = [5 + gap * each for each in reversed(range(count))]

    def at_steps(step: int) -> list[int]:
        return [each for each in versions if each == versions[0] or not each % step]

    steps = (at_steps(step) for step in range(1, 100))
    expected = next(chosen for chosen in steps if len(chosen) <= most)
    found = spread(versions, most)
    assert len(found) <= most
    assert found[:1] == versions[:1]
    assert found == expected or len(expected) < len(found)
