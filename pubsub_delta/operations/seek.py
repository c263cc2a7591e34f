"""Seek: change what is acknowledged in bulk, to a time or to a snapshot."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from pubsub_delta.clock import read_time
from pubsub_delta.delivery import dead_letters, sources
from pubsub_delta.delivery.sources import Source
from pubsub_delta.delivery.surveys import AckStateSurvey, survey_of
from pubsub_delta.errors import InvalidArgument, NotFound
from pubsub_delta.names import ResourceName
from pubsub_delta.policy import replay
from pubsub_delta.policy.ack_state import AckState, Captured, Seek, State, union
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import Snapshot
from pubsub_delta.tables.store import Tables


@dataclass(frozen=True)
class SeekPreview:
    """How many messages a seek would touch, were it done at this moment.

    ``becomes_unacked``: acknowledged now, and available after it. ``becomes_acked``: the other way
    round. ``leases_ended``: unacknowledged now and after it, but their leases would be void.
    ``unacked_before`` and ``unacked_after``: the whole backlog. Messages on their way to a
    dead-letter topic go there whatever is sought, and are counted nowhere. ``before`` and
    ``after``: what the subscription says of the topic's messages.
    """

    becomes_unacked: int
    becomes_acked: int
    leases_ended: int
    unacked_before: int
    unacked_after: int
    before: AckStateSurvey | None = field(default=None, compare=False, repr=False)
    after: AckStateSurvey | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class _Found:
    """The snapshot to seek to, and what it holds."""

    snapshot: Snapshot
    captured: Captured


def seek(
    tables: Tables,
    name: ResourceName,
    now: datetime,
    time: datetime | str | None,
    snapshot: ResourceName | None,
) -> None:
    """Acknowledge and un-acknowledge messages in bulk: one small commit, whatever the backlog.

    Exactly one target. The next look at the subscription carries it out. Of a snapshot that was
    deleted before the seek is noted, messages may be gone: then it is taken back, and NotFound.
    """
    with tables.looking_ahead(
        name, tables.layout.snapshots if time is None else tables.layout.topics
    ):
        source, target, found = _asked(tables, name, now, time, snapshot)
        note = partial(_note, source, target, found, now)
        noted = tables.ack_states.change(source.uid, partial(note, False))
    if noted is None:
        dead_letters.forward(tables, source, now)
        noted = tables.ack_states.change(source.uid, partial(note, True))
    if found is not None and noted is not None and not _is_held(tables, found.snapshot, now):
        _take_back(tables, source, noted, found.snapshot)


def preview(
    tables: Tables,
    name: ResourceName,
    now: datetime,
    time: datetime | str | None,
    snapshot: ResourceName | None,
) -> SeekPreview:
    """Count what a seek would change. Nothing is written; what it refuses is refused here, too.

    It costs the looks at the topic that the first pull after the seek would cost.
    """
    source, target, found = _asked(tables, name, now, time, snapshot)
    before = source.catch_up(tables.ack_states.read(source.uid), now)
    noted, _ = _note(source, target, found, now, True, before)
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


def _asked(
    tables: Tables,
    name: ResourceName,
    now: datetime,
    time: datetime | str | None,
    snapshot: ResourceName | None,
) -> tuple[Source, datetime | None, _Found | None]:
    """Return what is to be sought, and the time or what the snapshot holds: one of the two."""
    if (time is None) == (snapshot is None):
        given = "neither of them" if time is None else "both"
        raise InvalidArgument(f"seek: a time or a snapshot is accepted, not {given}")
    target = None if time is None else read_time(time, "time")
    source = sources.source(tables, name)
    found = None if snapshot is None else _found(tables, source, snapshot, now)
    return source, target, found


def _note(
    source: Source,
    time: datetime | None,
    found: _Found | None,
    now: datetime,
    settled: bool,
    state: AckState,
) -> tuple[AckState, Seek | None]:
    """Note a seek down, unless messages are on their way to a dead-letter topic: they go first."""
    if state.in_state(State.FORWARDING) and not settled:
        return state, None
    asked = Seek(
        at=now,
        at_version=source.messages.history.version(state.after_version),
        time=time,
        covered_from=None if time is None else source.covered_from(now),
        captured=None if found is None else found.captured,
    )
    if len(state.seeks) >= replay.MAX_NOTED_SEEKS:
        state = source.catch_up(state, now)
    noted = replay.note_seek(state, asked, source.terms)
    return replay.used(state, noted, source.subscription, now), asked


def _found(tables: Tables, source: Source, name: ResourceName, now: datetime) -> _Found:
    found = tables.registry.captured(str(name), now)
    if found is None:
        tables.registry.check_newest_commit("snapshots")
        raise NotFound(f"snapshot {name} does not exist, or has expired")
    snapshot, topic_uid, captured = found
    if topic_uid != source.topic_uid:
        raise InvalidArgument(
            f"snapshot {name} is of topic {snapshot.topic}, and subscription "
            f"{source.subscription.name} of another; snapshots of its own topic are accepted"
        )
    replay.check_lifetime(snapshot.name, snapshot.expire_time, now)
    return _Found(snapshot, captured)


def _is_held(tables: Tables, snapshot: Snapshot, now: datetime) -> bool:
    """Tell whether a snapshot is there, after a seek to it was noted.

    Who deletes messages looks at the snapshots first, and then for seeks. So what a snapshot holds
    that is there now was not deleted, and will be needed by the seek from now on.
    """
    found = tables.registry.snapshot_of_uid(snapshot.uid)
    return found is not None and replay.has_time_left(found.expire_time, now)


def _take_back(tables: Tables, source: Source, noted: Seek, snapshot: Snapshot) -> None:
    """Take a seek back, or tell what is gone of its snapshot, if somebody has carried it out.

    Who deletes messages meanwhile waits for the lock, and looks again when he has it.
    """

    def decide(state: AckState) -> tuple[AckState, int | None]:
        if noted in state.seeks:
            return replay.withdraw(state, noted), None
        held = () if noted.captured is None else noted.captured.spans
        return state, len(union(held)) - len(source.messages.stored(held))

    with source.messages.locked():
        gone = tables.ack_states.change(source.uid, decide)
    if gone is None:
        raise NotFound(
            f"snapshot {snapshot.name} was deleted just now; {source.subscription.name} has the "
            "backlog that it had, and its leases have ended"
        )
    if gone:
        raise NotFound(
            f"snapshot {snapshot.name} was deleted just now, and {gone:,} messages that it held "
            f"are gone; {source.subscription.name} has the others"
        )
