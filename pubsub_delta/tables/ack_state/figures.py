"""The metrics that an ack state tells by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pubsub_delta.policy.ack_state import AckState, State


@dataclass(frozen=True)
class SubscriptionFigures:
    """What an ack state tells of its subscription, under Google's names for metrics.

    ``active_time``: when the subscription was in use last, None if never. ``delivery_attempt``: the
    highest of an unacknowledged message, None where there is none. ``after_version``: commits of
    the topic after it are not counted.
    """

    active_time: datetime | None
    num_undelivered_messages: int
    num_outstanding_messages: int
    oldest_unacked_publish_time: datetime | None
    delivery_attempt: int | None
    ack_message_count_success: int
    ack_message_count_expired: int
    ack_message_count_invalid: int
    dead_letter_message_count: int
    after_version: int = 0


def figures_of(state: AckState) -> SubscriptionFigures:
    """Return what an ack state tells as it is: what came since it was written is not counted.

    >>> figures_of(AckState(after_version=3)).num_undelivered_messages
    0
    """
    unacked = state.unacked()
    return SubscriptionFigures(
        active_time=state.active_time,
        num_undelivered_messages=state.count(),
        num_outstanding_messages=state.count(State.LEASED),
        oldest_unacked_publish_time=min((each.publish_time_min for each in unacked), default=None),
        delivery_attempt=max((each.delivery_attempt for each in unacked), default=None),
        ack_message_count_success=state.counters.success,
        ack_message_count_expired=state.counters.expired,
        ack_message_count_invalid=state.counters.invalid,
        dead_letter_message_count=state.counters.dead_letters,
        after_version=state.after_version,
    )


def spread(versions: Sequence[int], most: int) -> list[int]:
    """Choose among versions, the newest first: that one, and others at equal steps.

    As versions are added the same ones are chosen again.

    >>> spread([9, 8, 7, 6, 5, 4, 3, 2, 1, 0], 4), spread([10, 9, 8, 7, 6, 5, 4], 4)
    ([9, 6, 3, 0], [10, 8, 6, 4])
    """
    step = 1
    chosen = list(versions)
    while len(chosen) > most and step <= len(versions):
        step += 1
        chosen = [*versions[:1], *(each for each in versions[1:] if each % step == 0)]
    return chosen[:most]
