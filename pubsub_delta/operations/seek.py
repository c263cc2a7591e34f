"""Seek: acknowledge and un-acknowledge messages in bulk, to a time or to a snapshot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from pubsub_delta.clock import read_time
from pubsub_delta.delivery import dead_letters, sources
from pubsub_delta.delivery.sources import Source
from pubsub_delta.delivery.surveys import AckStateSurvey, survey_of
from pubsub_delta.errors import InvalidArgument, NotFound
from pubsub_delta.names import ResourceName
from pubsub_delta.policy import replay
from pubsub_delta.policy.ack_state import AckState, Captured, Seek, State, union
from pubsub_delta.policy.positions import Positions
from pubsub_delta.policy.preconditions import check_if_unchanged, check_unchanged
from pubsub_delta.resources import Snapshot, Subscription
from pubsub_delta.tables.store import Tables


@dataclass(frozen=True)
class SeekPreview:
    """How many messages a seek would change at this moment.

    ``becomes_unacked``: acknowledged now, and available after it. ``becomes_acked``: the other way
    round. ``leases_ended``: unacknowledged now and after it, but their leases would be void.
    ``unacked_before`` and ``unacked_after``: the whole backlog. Messages that are being forwarded
    go to the dead-letter topic despite a seek, and are not counted. ``before`` and ``after``: the
    survey of the subscription.
    """

    becomes_unacked: int
    becomes_acked: int
    leases_ended: int
    unacked_before: int
    unacked_after: int
    before: AckStateSurvey | None = field(default=None, compare=False, repr=False)
    after: AckStateSurvey | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class _Target:
    """The target of a seek: a time, or a snapshot with the messages that it holds."""

    time: datetime | None
    snapshot: Snapshot | None = None
    captured: Captured | None = None


_NoteRule = Callable[[AckState, Source, _Target, datetime], "tuple[AckState, Seek | None]"]
"""Notes a seek in an ack state; None if forwardings must be completed first."""


def seek(
    tables: Tables,
    name: ResourceName,
    now: datetime,
    time: datetime | str | None,
    snapshot: ResourceName | None,
    if_unchanged: Subscription | None,
) -> None:
    """Acknowledge and un-acknowledge messages in bulk, by one small commit.

    Exactly one of ``time`` and ``snapshot`` is given. With ``if_unchanged`` the subscription must
    be as it was read. The next operation on the subscription carries the seek out. NotFound if the
    snapshot was deleted before the seek was noted: then the seek is withdrawn.
    """
    wanted = check_if_unchanged(if_unchanged, Subscription, str(name))
    with tables.prefetching(
        name, tables.layout.snapshots if time is None else tables.layout.topics
    ):
        source, target = _target(tables, name, now, time, snapshot)
        check_unchanged(source.subscription, wanted)
        noted = _noted(tables, source, target, now, _note_unless_forwarding)
    if noted is None:
        dead_letters.forward(tables, source, now)
        noted = _noted(tables, source, target, now, _note)
    assert noted is not None
    if target.snapshot is not None and not _still_exists(tables, target.snapshot, now):
        _withdraw(tables, source, noted, target.snapshot)


def _noted(
    tables: Tables, source: Source, target: _Target, now: datetime, note: _NoteRule
) -> Seek | None:
    """Note a seek in the stored ack state."""
    return tables.ack_states.change(source.uid, lambda state: note(state, source, target, now))


def preview(
    tables: Tables,
    name: ResourceName,
    now: datetime,
    time: datetime | str | None,
    snapshot: ResourceName | None,
) -> SeekPreview:
    """Count the messages that a seek would change; write nothing.

    It raises the errors of ``seek``. It reads as much of the topic as the first pull after the
    seek.
    """
    source, target = _target(tables, name, now, time, snapshot)
    before = source.catch_up(tables.ack_states.read(source.uid), now)
    noted, _ = _note(before, source, target, now)
    after = source.catch_up(noted, now)
    unacked, becoming = _unacked(before), _unacked(after)
    return SeekPreview(
        becomes_unacked=len(becoming - unacked),
        becomes_acked=len(unacked - becoming),
        leases_ended=len(before.positions(State.LEASED) & becoming),
        unacked_before=len(unacked),
        unacked_after=len(becoming),
        before=survey_of(source, before, now),
        after=survey_of(source, after, now),
    )


def _unacked(state: AckState) -> Positions:
    return union(span for span in state.unacked() if span.state is not State.FORWARDING)


def _target(
    tables: Tables,
    name: ResourceName,
    now: datetime,
    time: datetime | str | None,
    snapshot: ResourceName | None,
) -> tuple[Source, _Target]:
    """Return the subscription and the target of a seek; InvalidArgument unless there is one."""
    if (time is None) == (snapshot is None):
        given = "neither of them" if time is None else "both"
        raise InvalidArgument(f"seek: a time or a snapshot is accepted, not {given}")
    checked = None if time is None else read_time(time, "time")
    source = sources.source(tables, name)
    if snapshot is None:
        return source, _Target(checked)
    return source, _snapshot_target(tables, source, snapshot, now)


def _note_unless_forwarding(
    state: AckState, source: Source, target: _Target, now: datetime
) -> tuple[AckState, Seek | None]:
    """Note a seek, unless messages are being forwarded: these are completed first."""
    if state.in_state(State.FORWARDING):
        return state, None
    return _note(state, source, target, now)


def _note(state: AckState, source: Source, target: _Target, now: datetime) -> tuple[AckState, Seek]:
    """Note a seek in an ack state."""
    seek = Seek(
        at=now,
        at_version=source.messages.history.version(state.after_version),
        time=target.time,
        covered_from=None if target.time is None else source.covered_from(now),
        captured=target.captured,
    )
    if len(state.seeks) >= replay.MAX_NOTED_SEEKS:
        state = source.catch_up(state, now)
    noted = replay.note_seek(state, seek, source.terms)
    return replay.note_activity(state, noted, source.subscription, now), seek


def _snapshot_target(tables: Tables, source: Source, name: ResourceName, now: datetime) -> _Target:
    found = tables.registry.captured(str(name), now)
    if found is None:
        raise tables.no_snapshot(name)
    snapshot, topic_uid, captured = found
    if topic_uid != source.topic_uid:
        raise InvalidArgument(  # without the name of that topic, which its caller may not see
            f"snapshot {name} is of another topic than subscription {source.subscription.name}; "
            "snapshots of its own topic are accepted"
        )
    replay.check_lifetime(snapshot.name, snapshot.expire_time, now)
    return _Target(None, snapshot, captured)


def _still_exists(tables: Tables, snapshot: Snapshot, now: datetime) -> bool:
    """Return whether a snapshot still exists, after a seek to it was noted.

    Retention reads the snapshots first, and then the seeks. So the messages of a snapshot that
    exists now were not deleted, and from now on the noted seek keeps them.
    """
    found = tables.registry.snapshot_of_uid(snapshot.uid)
    return found is not None and replay.has_time_left(found.expire_time, now)


def _withdraw(tables: Tables, source: Source, noted: Seek, snapshot: Snapshot) -> None:
    """Withdraw a seek to a deleted snapshot, and raise NotFound.

    If another process has carried out the seek, the error counts the messages that are lost, or
    that retention has announced to delete: it may have looked before the seek was noted.
    """

    def decide(state: AckState) -> tuple[AckState, int | None]:
        if noted in state.seeks:
            return replay.withdraw(state, noted), None
        held = union(() if noted.captured is None else noted.captured.spans)
        return state, len(held - source.messages.not_discarded(held))

    gone = tables.ack_states.change(source.uid, decide)
    if gone is None:
        raise NotFound(
            f"snapshot {snapshot.name} was deleted meanwhile; {source.subscription.name} has the "
            "backlog that it had, and its leases have ended"
        )
    if gone:
        raise NotFound(
            f"snapshot {snapshot.name} was deleted meanwhile, and {gone:,} messages that it held "
            f"are gone; {source.subscription.name} has the others"
        )
