"""Small builders, so that a case states only what matters to it.

Times are seconds after START, positions are plain numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from pubsub_delta.clock import UTC
from pubsub_delta.policy import delivery, replay, retention
from pubsub_delta.policy.ack_state import Absorbed, AckState, Captured, Seek, Span, State, union
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import ExpirationPolicy, Subscription, Topic

START = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0


class Crashed(BaseException):
    """The process ends here. Nothing but ``finally`` comes after it."""


def at(seconds: float) -> datetime:
    """Return the time so many seconds after START."""
    return START + timedelta(seconds=seconds)


def committed(positions: Iterable[int], first: float = 0, last: float | None = None) -> Absorbed:
    """Return messages that were published at one time, or between two."""
    return Absorbed(Positions.of(positions), at(first), at(first if last is None else last))


def available_span(positions: Iterable[int], first: float = 0, last: float | None = None) -> Span:
    """Return an available span of messages published at one time, or between two."""
    until = at(first if last is None else last)
    return Span(State.AVAILABLE, Positions.of(positions), at(first), until)


def state_of(*commits: Absorbed) -> AckState:
    """Return a state that has absorbed these commits, and leased nothing."""
    return delivery.absorb(AckState(after_version=0), commits, len(commits))


def backlog(count: int) -> AckState:
    """Return a state with the messages 0 to count - 1 available, published at START."""
    return state_of(committed(range(count)))


class KeysOf:
    """Ordering keys by position, for those who would otherwise read them from the topic."""

    def __init__(self, keys: Mapping[int, str]) -> None:
        self._keys = keys

    def of_same_keys(self, of: Sequence[Span], among: Sequence[Span]) -> Positions:
        keys = {self._keys[each] for each in union(of) if self._keys.get(each)}
        return Positions.of(each for each in union(among) if self._keys.get(each) in keys)

    def followers(self, of: Sequence[Span], among: Sequence[Span]) -> Positions:
        firsts: dict[str, int] = {}
        for position in union(of):
            firsts.setdefault(self._keys.get(position, ""), position)
        return Positions.of(
            each
            for each in union(among)
            if self._keys.get(each) and firsts.get(self._keys[each], each) < each
        )


PLAIN = Subscription(
    name="projects/local/subscriptions/plain",
    topic="projects/local/topics/plain",
    ack_deadline_seconds=10,
    message_retention_duration=timedelta(days=7),
    retain_acked_messages=False,
    expiration_policy=ExpirationPolicy(),
    filter="",
    enable_message_ordering=False,
    enable_exactly_once_delivery=False,
    dead_letter_policy=None,
    retry_policy=None,
    labels={},
    detached=False,
    topic_message_retention_duration=None,
    create_time=START,
    update_time=START,
    uid="0" * 32,
)


def terms(keys: Mapping[int, str] | None = None, **fields: Any) -> delivery.Terms:
    """Return the terms of a subscription with these fields; keys by position turn ordering on."""
    fields["enable_message_ordering"] = keys is not None
    return delivery.Terms(replace(PLAIN, **fields), KeysOf({} if keys is None else keys))


def pull(
    state: AckState,
    count: int | None = None,
    now: float = 0,
    deadline: int = 10,
    on: delivery.Terms | None = None,
) -> tuple[AckState, int]:
    """Lease messages; return the next state and the number of the lease."""
    state, leased = take(state, count, now, deadline, on)
    assert leased, "nothing was available"
    lease_id = leased[0].lease_id
    assert lease_id is not None
    return state, lease_id


def take(
    state: AckState,
    count: int | None = None,
    now: float = 0,
    deadline: int = 10,
    on: delivery.Terms | None = None,
) -> tuple[AckState, list[Span]]:
    """Lease messages, if there are any; return the next state and what was leased."""
    on = on or terms()
    on = replace(on, subscription=replace(on.subscription, ack_deadline_seconds=deadline))
    return delivery.lease(delivery.settle(state, on, at(now)), count, on, at(now))


def ack(
    state: AckState,
    named: Mapping[int, Iterable[int]],
    now: float = 0,
    on: delivery.Terms | None = None,
) -> tuple[AckState, dict[str, dict[int, set[int]]]]:
    """Acknowledge messages named by lease; return the next state and the outcomes."""
    state, outcomes = delivery.acknowledge(state, _positions(named), on or terms(), at(now))
    return state, shown(outcomes)


def modify(
    state: AckState,
    named: Mapping[int, Iterable[int]],
    deadline: float,
    now: float = 0,
    on: delivery.Terms | None = None,
) -> tuple[AckState, dict[str, dict[int, set[int]]]]:
    """Give deliveries a new deadline; return the next state and the outcomes."""
    state, outcomes = delivery.modify_ack_deadline(
        state, _positions(named), on or terms(), at(now), timedelta(seconds=deadline)
    )
    return state, shown(outcomes)


def nack(
    state: AckState,
    named: Mapping[int, Iterable[int]],
    now: float = 0,
    on: delivery.Terms | None = None,
) -> AckState:
    """Give deliveries back; return the next state."""
    return modify(state, named, 0, now, on)[0]


def fail_one(state: AckState, position: int, on: delivery.Terms) -> AckState:
    """Lease all that is available, fail one message, and give the others back unseen."""
    state, lease_id = pull(state, on=on)
    others = Positions.of(leased(state, on=on)[lease_id]) - Positions.of([position])
    state = nack(state, {lease_id: [position]}, on=on)
    return delivery.give_back(state, {lease_id: others}, on, at(0))


def shown(outcomes: delivery.Outcomes) -> dict[str, dict[int, set[int]]]:
    """Return outcomes as plain sets, without those that name no message."""
    by_name = {
        "success": outcomes.success,
        "expired": outcomes.expired,
        "invalid": outcomes.invalid,
    }
    plain = {
        name: {lease_id: set(each) for lease_id, each in found.items() if each}
        for name, found in by_name.items()
    }
    return {name: found for name, found in plain.items() if found}


def available(state: AckState, now: float = 0, on: delivery.Terms | None = None) -> list[int]:
    """Return the messages that a pull at a time may deliver, in order."""
    state = delivery.settle(state, on or terms(), at(now))
    return sorted(each for span in state.in_state(State.AVAILABLE) for each in span.positions)


def leased(
    state: AckState, now: float = 0, on: delivery.Terms | None = None
) -> dict[int, list[int]]:
    """Return the messages of every lease that is live at a time, by its number."""
    held: dict[int, list[int]] = {}
    for span in delivery.settle(state, on or terms(), at(now)).in_state(State.LEASED):
        assert span.lease_id is not None
        held[span.lease_id] = sorted([*held.get(span.lease_id, []), *span.positions])
    return held


def _positions(named: Mapping[int, Iterable[int]]) -> dict[int, Positions]:
    return {lease_id: Positions.of(positions) for lease_id, positions in named.items()}


# A topic of a few messages, and subscriptions that read it


@dataclass(frozen=True)
class Published:
    """One message of a topic: the version of its commit, when it was published, and its filter."""

    version: int
    published: float
    matching: bool = True


def topic_of(retention: float | None = None, since: float = 0) -> Topic:
    """Return a topic that retains its messages for some seconds from a time on, or does not."""
    return Topic(
        name=PLAIN.topic,
        message_retention_duration=None if retention is None else timedelta(seconds=retention),
        retained_from=None if retention is None else at(since),
        labels={},
        create_time=START,
        uid="1" * 32,
    )


@dataclass
class FakeTopic:
    """The messages of a topic by position; ``topic`` is None once it is deleted."""

    topic: Topic | None = field(default_factory=topic_of)
    messages: dict[int, Published] = field(default_factory=dict)
    deleted: dict[int, Published] = field(default_factory=dict)
    version: int = 0

    def publish(self, *positions: int, at: float = 0, matching: bool = True) -> None:
        """Commit messages that were published at a time, which a slow publisher does later."""
        self.version += 1
        for position in positions:
            self.messages[position] = Published(self.version, at, matching)

    def retain(self, seconds: float | None, now: float = 0) -> None:
        """Change the topic's own retention, as an update does."""
        assert self.topic is not None
        duration = None if seconds is None else timedelta(seconds=seconds)
        since = retention.retained_from(self.topic, duration, at(now))
        self.topic = replace(self.topic, message_retention_duration=duration, retained_from=since)

    def delete_before(self, time: datetime) -> None:
        """Delete what was published earlier, as the retention job does: one more commit."""
        self.version += 1
        for position in [n for n, each in self.messages.items() if at(each.published) < time]:
            self.deleted[position] = self.messages.pop(position)


@dataclass
class FakeLog:
    """A topic as one subscription reads it; with ``filtered`` only messages that match pass.

    ``coarse``: all that was added is told as one part, however long it took.
    """

    source: FakeTopic
    filtered: bool = False
    coarse: bool = False

    def added(
        self,
        after_version: int,
        up_to: int | None,
        earliest: datetime | None = None,
        before: datetime | None = None,
    ) -> tuple[list[Absorbed], int | None]:
        last = self.source.version if up_to is None else min(up_to, self.source.version)
        if last <= after_version:
            return [], None
        parts: dict[tuple[int, float], list[int]] = {}
        for position, each in self._passing().items():
            time = at(each.published)
            timely = (earliest is None or earliest <= time) and (before is None or time < before)
            if after_version < each.version <= last and timely:
                parts.setdefault((each.version, each.published), []).append(position)
        if self.coarse and parts:
            times = [published for _, published in parts]
            together = [position for part in parts.values() for position in part]
            return [committed(together, min(times), max(times))], last
        return [committed(part, published) for (_, published), part in parts.items()], last

    def covered(self, up_to: int, earliest: datetime) -> list[Absorbed]:
        return self.added(-1, up_to, earliest)[0]

    def earlier(self, spans: Sequence[Span], time: datetime) -> tuple[Positions, datetime | None]:
        """Tell it of what is not stored any more, too, as the topic itself does."""
        until = max(span.publish_time_max for span in spans)
        times = {n: at(each.published) for n, each in self.source.messages.items()}
        later = {n: each for n, each in times.items() if time <= each <= until}
        return union(spans) - Positions.of(later), min(later.values(), default=None)

    def passing(self, spans: Sequence[Span]) -> Positions:
        return union(spans) & Positions.of(self._passing())

    def covered_from(self, now: datetime) -> datetime | None:
        return retention.covered_from(self.source.topic, now)

    def _passing(self) -> dict[int, Published]:
        messages = self.source.messages
        return {n: each for n, each in messages.items() if each.matching or not self.filtered}


class Reader:
    """A subscription to a FakeTopic, and what the operations do with its ack state."""

    def __init__(
        self,
        source: FakeTopic,
        keys: Mapping[int, str] | None = None,
        coarse: bool = False,
        **fields: Any,
    ) -> None:
        self.source = source
        self.on = terms(keys, **fields)
        self.log = FakeLog(source, filtered=bool(fields.get("filter")), coarse=coarse)
        self.state = AckState(after_version=source.version)

    @property
    def fields(self) -> Subscription:
        return self.on.subscription

    def caught_up(self, now: float = 0) -> AckState:
        return replay.catch_up(self.state, self.on, self.log, at(now))

    def look(self, now: float = 0) -> None:
        """Catch up, and write it down."""
        self.state = self.caught_up(now)

    def unacked(self, now: float = 0) -> list[int]:
        return sorted(union(self.caught_up(now).unacked()))

    def pull(self, count: int | None = None, now: float = 0, deadline: int = 10) -> int:
        self.look(now)
        self.state, lease_id = pull(self.state, count, now, deadline, self.on)
        return lease_id

    def ack(self, lease_id: int, *positions: int, now: float = 0) -> dict[str, set[int]]:
        """Acknowledge messages of a lease; return them by outcome."""
        self.state, outcomes = ack(self.state, {lease_id: positions}, now, self.on)
        return {name: found[lease_id] for name, found in outcomes.items()}

    def pull_and_ack(self, *positions: int, now: float = 0) -> None:
        """Lease all that is available, acknowledge some of it, and give the rest back."""
        lease_id = self.pull(now=now)
        assert self.ack(lease_id, *positions, now=now) == {"success": set(positions)}
        rest = union(self.state.in_state(State.LEASED))
        self.state = nack(self.state, {lease_id: rest}, now, self.on)

    def seek(self, time: float | None = None, now: float = 0, to: Captured | None = None) -> None:
        """Note a seek down, as the operation does: to a time, or to what a snapshot holds."""
        asked = Seek(
            at=at(now),
            at_version=self.source.version,
            time=None if time is None else at(time),
            covered_from=None if time is None else self.log.covered_from(at(now)),
            captured=to,
        )
        if len(self.state.seeks) >= replay.MAX_NOTED_SEEKS:
            self.look(now)
        self.state = replay.note_seek(self.state, asked, self.on)

    def snapshot(self, now: float = 0) -> Captured:
        return replay.capture(self.caught_up(now), self.fields.filter)

    def update(self, now: float = 0, **fields: Any) -> None:
        """Change fields; what has happened until now is settled on the old terms first."""
        self.look(now)
        if "message_retention_duration" in fields:
            self.state = retention.clip_retained(self.state, self.fields, at(now), self.log.earlier)
        self.on = replace(self.on, subscription=replace(self.fields, **fields))

    def needed(self, now: float = 0) -> datetime | None:
        return retention.needed_by_subscription(self.caught_up(now), self.fields, at(now))


def reading(*times: float, retention: float | None = None, **fields: Any) -> Reader:
    """Return a subscription to which messages 0, 1, … were published, one commit each."""
    reader = Reader(FakeTopic(topic_of(retention)), **fields)
    for position, time in enumerate(times):
        reader.source.publish(position, at=time)
    return reader
