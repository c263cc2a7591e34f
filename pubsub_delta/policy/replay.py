"""Seek and snapshots, and ``catch_up``, with which every operation on a subscription begins.

A request for a seek only notes it in the ack state: one small commit, for any backlog. The next
operation carries it out, as of the topic's version at the time of the request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Protocol

from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.policy import delivery, retention
from pubsub_delta.policy.ack_state import Absorbed, AckState, Captured, Seek, Span, State, union
from pubsub_delta.policy.delivery import Terms
from pubsub_delta.policy.positions import Positions
from pubsub_delta.policy.redelivery import DECIDED
from pubsub_delta.policy.spans import with_spans
from pubsub_delta.resources import Subscription

MAX_NOTED_SEEKS = 8
"""The most noted seeks; then they are carried out before another one is noted."""
SNAPSHOT_LIFETIME = timedelta(days=7)
SHORTEST_SNAPSHOT = timedelta(hours=1)
ACTIVITY_GRANULARITY = 1000
"""A pull without messages notes activity only if the last note is older than the ttl divided by
this. So a subscription can expire that much too early.
"""


class Log(Protocol):
    """The questions of an ack state about its topic. Each reads the topic's history or messages."""

    def added(
        self,
        after_version: int,
        up_to: int | None,
        earliest: datetime | None = None,
        before: datetime | None = None,
    ) -> tuple[list[Absorbed], int | None]:
        """Return the messages that pass the filter of commits after one version, up to another.

        Only messages published in [earliest, before). The second value is the version of the last
        of the commits, None without any.
        """

    def covered(self, up_to: int, earliest: datetime) -> list[Absorbed]:
        """Return the messages of all commits up to a version that pass the filter.

        Only messages published from ``earliest`` on that retention has not announced to delete.
        """

    def earlier(self, spans: Sequence[Span], time: datetime) -> tuple[Positions, datetime | None]:
        """Return the messages of spans published before a time, and the first later time."""

    def passing(self, spans: Sequence[Span]) -> Positions:
        """Return the messages of spans that pass the filter."""

    def covered_from(self, now: datetime) -> datetime | None:
        """Return the time from which the topic itself retains all messages, or None."""


def catch_up(state: AckState, terms: Terms, log: Log, now: datetime) -> AckState:
    """Bring an ack state up to date, without writing it.

    It carries out noted seeks, absorbs new messages, ends leases and backoffs that are over, and
    discards messages that are older than their retention.
    """
    retain = terms.subscription.retain_acked_messages
    state = _absorb(carry_out_seeks(state, terms, log), log, None, retain=retain)
    state = delivery.settle(state, terms, now)
    return retention.discard(
        state, terms.subscription, now, lambda: log.covered_from(now), log.earlier
    )


def carry_out_seeks(state: AckState, terms: Terms, log: Log) -> AckState:
    """Carry out the noted seeks of a state, as of the topic's version at the time of each."""
    for seek in state.seeks:
        state = _carry_out(state, seek, terms, log)
    return replace(state, seeks=())


def lowest_version(state: AckState) -> int:
    """Return the lowest version after which ``catch_up`` reads commits."""
    versions = [state.after_version]
    for seek in state.seeks:
        if seek.covered_from is not None:
            versions.append(-1)
        if seek.captured is not None:
            versions.append(seek.captured.after_version)
    return min(versions)


def note_seek(state: AckState, seek: Seek, terms: Terms) -> AckState:
    """Note a seek. It voids all leases, and resets delivery attempts, failures and backoffs.

    Ack ids of earlier deliveries have no further effect. Messages that are being forwarded or
    written are not affected. Leases that are over at the time of the seek end as failures first.
    """
    state = delivery.settle(state, terms, seek.at)
    spans = []
    for span in state.spans:
        if span.state is State.RETAINED or span.state in DECIDED:
            spans.append(span)
        elif span.state is not State.ACKED:
            spans.append(span.untried())
    noted = replace(
        state,
        first_lease_id=state.next_lease_id,
        seeks=(*state.seeks, seek),
        streams=tuple(stream.without(stream.positions) for stream in state.streams),
    )
    return with_spans(noted, spans)


def withdraw(state: AckState, seek: Seek) -> AckState:
    """Remove a noted seek that was not carried out; the leases that it voided stay void."""
    place = state.seeks.index(seek)
    return replace(state, seeks=(*state.seeks[:place], *state.seeks[place + 1 :]))


def without_deleted_messages(state: AckState, stored: Positions) -> AckState:
    """Drop messages that are not stored, except those that are being forwarded or written."""
    kept = [span if span.state in DECIDED else span.only(stored) for span in state.spans]
    streams = tuple(replace(each, positions=each.positions & stored) for each in state.streams)
    return with_spans(replace(state, streams=streams), kept)


def capture(state: AckState, filter_: str) -> Captured:
    """Return the captured messages of a snapshot of a state; a seek into the future included."""
    spans = (span.untried() for span in state.unacked())
    tidy = with_spans(AckState(state.after_version), spans)
    return Captured(tidy.spans, state.after_version, state.floor, filter_)


def snapshot_expiry(name: str, now: datetime, oldest: datetime | None) -> datetime:
    """Return when a new snapshot expires: in 7 days less the age of its oldest message.

    FailedPrecondition if that is in less than an hour.
    """
    age = max(timedelta(0), now - oldest) if oldest is not None else timedelta(0)
    expire_time = now + SNAPSHOT_LIFETIME - age
    check_lifetime(name, expire_time, now)
    return expire_time


def check_lifetime(name: str, expire_time: datetime, now: datetime) -> None:
    """Raise FailedPrecondition for a snapshot that expires in less than an hour."""
    if not has_time_left(expire_time, now):
        minutes = (expire_time - now).total_seconds() / 60
        raise FailedPrecondition(
            f"snapshot {name} would expire in {max(0.0, minutes):.0f} minutes, where at least an "
            "hour is needed; it lives for 7 days less the age of its oldest unacknowledged message"
        )


def has_time_left(expire_time: datetime, now: datetime) -> bool:
    """Return whether a snapshot expires in an hour or later."""
    return expire_time - now >= SHORTEST_SNAPSHOT


def note_activity(
    before: AckState, after: AckState, subscription: Subscription, now: datetime
) -> AckState:
    """Note activity of the subscription together with a change.

    Without another change it is noted only if the last note is old, since that takes an extra
    commit.
    """
    ttl = subscription.expiration_policy.ttl
    last = before.active_time or subscription.create_time
    if after == before:
        if ttl is None:
            return before
        assert isinstance(ttl, timedelta)
        if now - last < ttl / ACTIVITY_GRANULARITY:
            return before
    return replace(after, active_time=max(now, last))


def _absorb(state: AckState, log: Log, up_to: int | None, *, retain: bool) -> AckState:
    """Absorb the messages after the tail; those published before its floor are acknowledged.

    ``retain``: whether such messages are retained.
    """
    new, version = log.added(state.after_version, up_to, earliest=state.floor)
    if version is None:
        return state
    purged: list[Absorbed] = []
    if state.floor is not None and retain:
        purged, _ = log.added(state.after_version, version, before=state.floor)
    state = delivery.absorb(state, new, version)
    return delivery.absorb(state, purged, version, State.RETAINED) if purged else state


def _carry_out(state: AckState, seek: Seek, terms: Terms, log: Log) -> AckState:
    if seek.captured is not None:
        return _to_snapshot(state, seek, seek.captured, terms, log)
    assert seek.time is not None
    return _to_time(state, seek, seek.time, terms, log)


def _to_time(state: AckState, seek: Seek, time: datetime, terms: Terms, log: Log) -> AckState:
    """Acknowledge messages published before a time, and un-acknowledge later ones.

    Pub/Sub: a seek restores retained messages. Those are the unacknowledged ones; acknowledged ones
    that the subscription retains, within its retention; and all that the topic's own retention
    covers.
    """
    retain = terms.subscription.retain_acked_messages
    state = _absorb(state, log, seek.at_version, retain=retain)
    state = replace(state, after_version=seek.at_version)
    limit = max(time, seek.at - terms.subscription.message_retention_duration)
    going = state.in_state(*DECIDED)
    unacked = [span for span in state.unacked() if span not in going]
    past, kept = retention.divide(unacked, time, log.earlier)
    retained, back = retention.divide(state.in_state(State.RETAINED), limit, log.earlier)
    if retain:
        retained += [span.retained() for span in past]
    state = with_spans(
        replace(state, floor=time if time > seek.at else None),
        [*going, *kept, *(span.released() for span in back), *retained],
    )
    if seek.covered_from is None:
        return state
    covered = log.covered(seek.at_version, max(time, seek.covered_from))
    return delivery.absorb(state, covered, seek.at_version)


def _to_snapshot(
    state: AckState, seek: Seek, captured: Captured, terms: Terms, log: Log
) -> AckState:
    """Make exactly the captured messages of a snapshot unacknowledged that pass the filter."""
    retain = terms.subscription.retain_acked_messages
    if retain:  # the messages that the seek acknowledges must be known
        state = _absorb(state, log, seek.at_version, retain=retain)
    going = state.in_state(*DECIDED)
    spans = list(captured.spans)
    if spans and captured.filter != terms.subscription.filter:
        wanted = log.passing(spans)
        spans = [span.only(wanted) for span in spans]
    retained = state.in_state(State.RETAINED)
    if retain:
        retained += [span.retained() for span in state.unacked() if span not in going]
    below = max([state.absorbed_below, *(span.positions.max + 1 for span in spans if span)])
    leaving = union(going)
    state = replace(
        state, after_version=captured.after_version, floor=captured.floor, absorbed_below=below
    )
    state = with_spans(state, [*going, *(span.without(leaving) for span in spans), *retained])
    # Messages that a captured purge acknowledged were not acknowledged here, so they are not
    # retained.
    return _absorb(state, log, seek.at_version, retain=False)
