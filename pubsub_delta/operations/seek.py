"""Seek: change what is acknowledged in bulk, to a time or to a snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial

from pubsub_delta.clock import read_time
from pubsub_delta.delivery import dead_letters, sources
from pubsub_delta.delivery.sources import Source
from pubsub_delta.errors import InvalidArgument, NotFound
from pubsub_delta.names import ResourceName
from pubsub_delta.policy import replay
from pubsub_delta.policy.ack_state import AckState, Captured, Seek, State, union
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.store import Tables


@dataclass(frozen=True)
class SeekPreview:
    """How many messages a seek would touch, were it done at this moment.

    ``becomes_unacked``: acknowledged now, and available after it. ``becomes_acked``: the other way
    round. ``leases_ended``: unacknowledged now and after it, but their leases would be void.
    ``unacked_before`` and ``unacked_after``: the whole backlog. Messages on their way to a
    dead-letter topic go there whatever is sought, and are counted nowhere.
    """

    becomes_unacked: int
    becomes_acked: int
    leases_ended: int
    unacked_before: int
    unacked_after: int


def seek(
    tables: Tables,
    name: ResourceName,
    now: datetime,
    time: datetime | str | None,
    snapshot: ResourceName | None,
) -> None:
    """Acknowledge and un-acknowledge messages in bulk: one small commit, whatever the backlog.

    Exactly one target. The next look at the subscription carries it out.
    """
    source, target, captured = _asked(tables, name, now, time, snapshot)
    note = partial(_note, source, target, captured, now)
    if not tables.ack_states.change(source.uid, partial(note, False)):
        dead_letters.forward(tables, source, now)
        tables.ack_states.change(source.uid, partial(note, True))


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
    source, target, captured = _asked(tables, name, now, time, snapshot)
    before = source.catch_up(tables.ack_states.read(source.uid), now)
    noted, _ = _note(source, target, captured, now, True, before)
    after = source.catch_up(noted, now)
    unacked, becoming = _unacked(before), _unacked(after)
    return SeekPreview(
        becomes_unacked=len(becoming - unacked),
        becomes_acked=len(unacked - becoming),
        leases_ended=len(before.positions(State.LEASED) & becoming),
        unacked_before=len(unacked),
        unacked_after=len(becoming),
    )


def _unacked(state: AckState) -> Positions:
    return union(span for span in state.unacked() if span.state is not State.FORWARDING)


def _asked(
    tables: Tables,
    name: ResourceName,
    now: datetime,
    time: datetime | str | None,
    snapshot: ResourceName | None,
) -> tuple[Source, datetime | None, Captured | None]:
    """Return what is to be sought, and the time or what the snapshot holds: one of the two."""
    if (time is None) == (snapshot is None):
        given = "neither of them" if time is None else "both"
        raise InvalidArgument(f"seek: a time or a snapshot is accepted, not {given}")
    target = None if time is None else read_time(time, "time")
    source = sources.source(tables, name)
    captured = None if snapshot is None else _captured(tables, source, snapshot, now)
    return source, target, captured


def _note(
    source: Source,
    time: datetime | None,
    captured: Captured | None,
    now: datetime,
    settled: bool,
    state: AckState,
) -> tuple[AckState, bool]:
    """Note a seek down, unless messages are on their way to a dead-letter topic: they go first."""
    if state.in_state(State.FORWARDING) and not settled:
        return state, False
    asked = Seek(
        at=now,
        at_version=source.messages.history.version(),
        time=time,
        covered_from=None if time is None else source.covered_from(now),
        captured=captured,
    )
    if len(state.seeks) >= replay.MAX_NOTED_SEEKS:
        state = source.catch_up(state, now)
    noted = replay.note_seek(state, asked, source.terms)
    return replay.used(state, noted, source.subscription, now), True


def _captured(tables: Tables, source: Source, name: ResourceName, now: datetime) -> Captured:
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
    return captured
