"""What is too old to be kept: an unacknowledged message older than the retention disappears.

An age equal to the retention is still kept. A leased message stays until its lease is over, one
that is being forwarded until it has been.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from pubsub_delta.policy.ack_state import AckState, Span, State
from pubsub_delta.policy.positions import Positions
from pubsub_delta.policy.spans import holding

_MAY_GO = (State.AVAILABLE, State.BACKING_OFF)


def discard_before(state: AckState, oldest: datetime) -> AckState:
    """Drop the spans all of whose messages were published before ``oldest``."""

    def is_gone(span: Span) -> bool:
        return span.state in _MAY_GO and span.publish_time_max < oldest

    if not any(map(is_gone, state.spans)):
        return state
    return holding(state, (span for span in state.spans if not is_gone(span)))


def straddling(state: AckState, oldest: datetime) -> list[Span]:
    """Return the spans with messages on both sides of ``oldest``, as far as is known."""
    return [
        span
        for span in state.in_state(*_MAY_GO)
        if span.publish_time_min < oldest <= span.publish_time_max
    ]


def clip(state: AckState, oldest: datetime, gone: Positions, earliest: datetime) -> AckState:
    """Take the positions that were published before ``oldest`` out of the straddling spans.

    ``earliest`` is the publish time of the first message that is kept.
    """
    clipped = straddling(state, oldest)
    return holding(
        state,
        (
            replace(span.without(gone), publish_time_min=max(earliest, span.publish_time_min))
            if span in clipped
            else span
            for span in state.spans
        ),
    )
