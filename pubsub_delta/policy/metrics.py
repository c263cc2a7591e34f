"""The metrics of a subscription that its ack state alone gives, at a moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pubsub_delta.policy.ack_state import AckState, State


@dataclass(frozen=True)
class SubscriptionMetrics:
    """The metrics of a subscription at a moment, under Google's names.

    ``active_time``: of the last activity, None without any. ``delivery_attempt``: the highest one
    of an unacknowledged message, None without any. ``after_version``: commits of the topic after
    this version are not counted.
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


def metrics_of(state: AckState) -> SubscriptionMetrics:
    """Return the metrics of an ack state as it is, without messages that it has not absorbed.

    >>> metrics_of(AckState(after_version=3)).num_undelivered_messages
    0
    """
    unacked = state.unacked()
    return SubscriptionMetrics(
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
    """Choose up to ``most`` versions, given newest first: the newest, and others at equal steps.

    Mostly the same versions are chosen again when newer ones are added.

    >>> spread([9, 8, 7, 6, 5, 4, 3, 2, 1, 0], 4), spread([10, 9, 8, 7, 6, 5, 4], 4)
    ([9, 6, 3, 0], [10, 8, 6, 4])
    """
    step = 1
    chosen = list(versions)
    while len(chosen) > most and step <= len(versions):
        step += 1
        chosen = [*versions[:1], *(each for each in versions[1:] if each % step == 0)]
    return chosen[:most]
