"""What consumers said that is not written yet, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from pubsub_delta.errors import InvalidArgument, ResourceExhausted
from pubsub_delta.policy.ack_requests import AckRequest, AckResponse, PositionsByLease
from pubsub_delta.policy.positions import Positions
from pubsub_delta.server.reasons import INVALID_ACK_ID, TRANSIENT

__all__ = ["INVALID_ACK_ID", "TRANSIENT", "Asked", "Place", "Unsaid"]

Place = tuple[int, int]
"""A delivery by its lease and position."""

MOST_UNSAID = 500_000
"""Ids of acknowledgements and new deadlines that wait to be written."""

_NONE = Positions()


class Asked:
    """What one request asked for: which ids failed, and why, once all of it is settled."""

    def __init__(self) -> None:
        self.malformed: list[str] = []
        self.foreign: list[str] = []
        self.failures: dict[str, str] = {}
        self._pending = 0
        self._told: list[Callable[[], object]] = []

    @property
    def is_settled(self) -> bool:
        """Whether everything that was asked for is written, or has failed."""
        return not self._pending

    def when_settled(self, tell: Callable[[], object]) -> None:
        """Call a function when everything is settled, or at once if it is."""
        if self.is_settled:
            tell()
        else:
            self._told.append(tell)

    def fail(self, ack_id: str, reason: str = INVALID_ACK_ID) -> None:
        """Note down that an id failed."""
        self.failures[ack_id] = reason

    def check(self, name: str) -> None:
        """Refuse what is no ack id, or one of another subscription than the one of that name.

        All others were taken. With exactly-once delivery each id has an answer of its own instead.
        """
        if self.malformed:
            raise InvalidArgument(
                f"ack_ids: {self.malformed[0]!r} is no ack id; "
                "the ack_id of a message that was delivered is accepted"
            )
        if self.foreign:
            raise InvalidArgument(
                f"ack_ids: {self.foreign[0]!r} is of another subscription, or of one that was "
                f"deleted; those that {name} has delivered are accepted"
            )

    def begin(self) -> None:
        """Note down that one more answer is awaited."""
        self._pending += 1

    def end(self) -> None:
        """Note down that an answer has come."""
        self._pending -= 1
        if not self._pending:
            told, self._told = self._told, []
            for tell in told:
                tell()


@dataclass
class _Words:
    """Acknowledgements, new deadlines and what is given back, and who waits for the answer.

    ``waiting``: the deadline that was asked for, None for an acknowledgement; where; the ack id.
    ``repeated``: acknowledgements that have succeeded before.
    """

    acked: dict[int, list[int]] = field(default_factory=dict)
    deadlines: dict[timedelta, dict[int, list[int]]] = field(default_factory=dict)
    given_back: dict[int, Positions] = field(default_factory=dict)
    waiting: list[tuple[timedelta | None, Place, str, Asked]] = field(default_factory=list)
    repeated: list[tuple[Place, str, Asked]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.acked or self.deadlines or self.given_back or self.repeated)

    @property
    def count(self) -> int:
        """How many ids were named."""
        deadlines = (each for named in self.deadlines.values() for each in named.values())
        said = sum(map(len, self.acked.values())) + sum(map(len, deadlines))
        return said + len(self.repeated)

    def fail(self, reason: str) -> None:
        """Fail all of it, for those who wait."""
        waiting = [(ack_id, asked) for _, _, ack_id, asked in self.waiting]
        waiting += [(ack_id, asked) for _, ack_id, asked in self.repeated]
        for ack_id, asked in waiting:
            asked.fail(ack_id, reason)
            asked.end()


@dataclass(frozen=True)
class Finished:
    """The ack ids that a turn has acknowledged and nacked, for those who wait."""

    acknowledged: list[str] = field(default_factory=list)
    nacked: list[str] = field(default_factory=list)


class Unsaid:
    """Words that are gathered for the next turn, while those of the last one are being said.

    What is heard goes into the next turn, or is kept apart while there is a ``hold``.
    """

    def __init__(self) -> None:
        self._next, self._kept = _Words(), _Words()
        self._saying: _Words | None = None
        self._holds = 0

    def __bool__(self) -> bool:
        return bool(self._next) or self._saying is not None

    def check_room(self) -> None:
        """Refuse more where as much waits as may be: what was said cannot be written at all."""
        words = self._next, self._kept
        if sum(each.count for each in words) > MOST_UNSAID:
            raise ResourceExhausted(
                f"ack_ids: more than {MOST_UNSAID:,} of earlier requests wait to be written; "
                "nothing of this one was: send it again a moment later"
            )

    def hold(self) -> None:
        """Keep what is said from now on for the time after ``release``, out of any turn."""
        self._holds += 1

    def release(self) -> None:
        """Let the turns say what was kept, once every ``hold`` is released."""
        self._holds -= 1
        if not self._holds:
            self._next, self._kept = _joined(self._next, self._kept), _Words()

    @property
    def _heard(self) -> _Words:
        """Where what is said goes."""
        return self._kept if self._holds else self._next

    def acknowledge(self, place: Place, ack_id: str, asked: Asked | None) -> None:
        """Say an acknowledgement; ``asked`` waits for what comes of it."""
        lease_id, position = place
        self._heard.acked.setdefault(lease_id, []).append(position)
        self._await(None, place, ack_id, asked)

    def modify(self, deadline: timedelta, place: Place, ack_id: str, asked: Asked | None) -> None:
        """Say a new deadline from now; zero is a nack."""
        lease_id, position = place
        named = self._heard.deadlines.setdefault(deadline, {})
        named.setdefault(lease_id, []).append(position)
        self._await(deadline, place, ack_id, asked)

    def repeat(self, place: Place, ack_id: str, asked: Asked) -> None:
        """Ask whether an acknowledgement that has succeeded holds still."""
        asked.begin()
        self._heard.repeated.append((place, ack_id, asked))

    def give_back(self, lease_id: int, positions: Positions) -> None:
        """Say that messages were never looked at."""
        given_back = self._heard.given_back
        given_back[lease_id] = given_back.get(lease_id, _NONE) | positions

    def turn(self, extensions: Mapping[timedelta, PositionsByLease]) -> AckRequest:
        """Return a turn of everything that is to be said, and of extensions of leases.

        If the turn before was not written, what it said is said again.
        """
        words = self._next if self._saying is None else _joined(self._saying, self._next)
        self._saying, self._next = words, _Words()
        deadlines: dict[timedelta, PositionsByLease] = dict(extensions)
        for deadline, named in words.deadlines.items():
            said = dict(deadlines.get(deadline, {}))
            for lease_id, positions in named.items():
                said[lease_id] = said.get(lease_id, _NONE) | Positions.of(positions)
            deadlines[deadline] = said
        acknowledged = {lease: Positions.of(found) for lease, found in words.acked.items()}
        repeated: dict[int, list[int]] = {}
        for (lease_id, position), _, _ in words.repeated:
            repeated.setdefault(lease_id, []).append(position)
        return AckRequest(
            acknowledged,
            deadlines,
            dict(words.given_back),
            {lease: Positions.of(found) for lease, found in repeated.items()},
        )

    def settle(self, answer: AckResponse) -> Finished:
        """Tell those who wait what came of the turn; return the ids that are done with."""
        words, self._saying = self._saying or _Words(), None
        done = Finished()
        for deadline, (lease_id, position), ack_id, asked in words.waiting:
            outcomes = answer.acknowledged if deadline is None else answer.deadlines[deadline]
            if position not in outcomes.success.get(lease_id, _NONE):
                asked.fail(ack_id)
            elif not deadline:
                (done.acknowledged if deadline is None else done.nacked).append(ack_id)
            asked.end()
        for (lease_id, position), ack_id, asked in words.repeated:
            if position not in answer.holding.get(lease_id, _NONE):
                asked.fail(ack_id)
            asked.end()
        return done

    def give_up(self, reason: str = TRANSIENT) -> None:
        """Fail everything that is not written, for those who wait."""
        given_up = self._saying or _Words(), self._next, self._kept
        self._saying, self._next, self._kept = None, _Words(), _Words()
        for words in given_up:
            words.fail(reason)

    def _await(
        self, deadline: timedelta | None, place: Place, ack_id: str, asked: Asked | None
    ) -> None:
        if asked is not None:
            asked.begin()
            self._heard.waiting.append((deadline, place, ack_id, asked))


def _joined(one: _Words, other: _Words) -> _Words:
    """Return what one says and then the other."""
    for lease_id, positions in other.acked.items():
        one.acked.setdefault(lease_id, []).extend(positions)
    for deadline, named in other.deadlines.items():
        ours = one.deadlines.setdefault(deadline, {})
        for lease_id, positions in named.items():
            ours.setdefault(lease_id, []).extend(positions)
    for lease_id, held in other.given_back.items():
        one.given_back[lease_id] = one.given_back.get(lease_id, _NONE) | held
    one.waiting.extend(other.waiting)
    one.repeated.extend(other.repeated)
    return one
