"""The ack buffer: the acks and new deadlines that are not written yet, and who waits for them.

One ack request takes all of them together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Generic, TypeAlias, TypeVar

from pubsub_delta.policy.ack_requests import AckRequest, AckResponse, PositionsByLease
from pubsub_delta.policy.positions import Positions

W = TypeVar("W")

Place: TypeAlias = tuple[int, int]
"""A delivery, by the number of its lease and the position of its message."""

NACK = timedelta(0)
"""The new deadline that is a nack."""

_NONE = Positions()


@dataclass(frozen=True)
class Settled(Generic[W]):
    """The outcome of an acknowledgement (``deadline`` None) or of a new deadline, for its waiter.

    ``outcome``: success, expired, invalid or postponed. ``again``: whether it was a repeated
    acknowledgement, which had succeeded before.
    """

    waiter: W
    deadline: timedelta | None
    outcome: str
    again: bool = False


@dataclass
class _Pending(Generic[W]):
    """The content of one request.

    ``waiting``: the delivery, the requested deadline, and the waiter.
    """

    acknowledged: dict[int, list[int]] = field(default_factory=dict)
    deadlines: dict[int, dict[int, timedelta]] = field(default_factory=dict)
    given_back: dict[int, Positions] = field(default_factory=dict)
    waiting: list[tuple[Place, timedelta | None, W]] = field(default_factory=list)
    repeated: list[tuple[Place, W]] = field(default_factory=list)
    together: list[Sequence[Place]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.acknowledged or self.deadlines or self.given_back or self.repeated)

    def __len__(self) -> int:
        acknowledged = sum(map(len, self.acknowledged.values()))
        return acknowledged + sum(map(len, self.deadlines.values())) + len(self.repeated)

    def acknowledge(self, lease_id: int, position: int) -> None:
        self.acknowledged.setdefault(lease_id, []).append(position)
        if lease_id in self.deadlines and self.deadlines[lease_id].get(position, NACK):
            del self.deadlines[lease_id][position]

    def modify_ack_deadline(self, lease_id: int, position: int, deadline: timedelta) -> bool:
        deadlines = self.deadlines.setdefault(lease_id, {})
        if deadline and deadlines.get(position) == NACK:
            return False
        deadlines[position] = deadline
        return True

    def give_back(self, lease_id: int, positions: Positions) -> None:
        self.given_back[lease_id] = self.given_back.get(lease_id, _NONE) | positions

    def add(self, later: _Pending[W]) -> None:
        for lease_id, positions in later.acknowledged.items():
            for position in positions:
                self.acknowledge(lease_id, position)
        for lease_id, deadlines in later.deadlines.items():
            for position, deadline in deadlines.items():
                self.modify_ack_deadline(lease_id, position, deadline)
        for lease_id, given_back in later.given_back.items():
            self.give_back(lease_id, given_back)
        self.waiting.extend(later.waiting)
        self.repeated.extend(later.repeated)
        self.together.extend(later.together)

    @property
    def waiters(self) -> Iterator[W]:
        yield from (waiter for *_, waiter in self.waiting)
        yield from (waiter for _, waiter in self.repeated)


class AckBuffer(Generic[W]):
    """Acknowledgements and new deadlines for the next request, while the last one is written.

    Of several deadlines of a delivery the last one is written, and none after a nack. An
    acknowledgement replaces the deadline before it, whose waiters get its outcome.
    """

    def __init__(self) -> None:
        self._next: _Pending[W] = _Pending()
        self._held_back: _Pending[W] = _Pending()
        self._sent: _Pending[W] | None = None
        self._holds = 0

    def __bool__(self) -> bool:
        return bool(self._next) or self._sent is not None

    def __len__(self) -> int:
        """Return how many ids are not written yet, those of the last request included."""
        return len(self._sent or ()) + len(self._next) + len(self._held_back)

    def hold(self) -> None:
        """Keep later acks and deadlines out of all requests, until ``release``."""
        self._holds += 1

    def release(self) -> None:
        """Let the next request take the kept acks, once every ``hold`` is released."""
        self._holds -= 1
        if not self._holds:
            self._next.add(self._held_back)
            self._held_back = _Pending()

    @property
    def _open(self) -> _Pending[W]:
        return self._held_back if self._holds else self._next

    def acknowledge(self, place: Place, waiter: W | None = None) -> None:
        """Add an acknowledgement."""
        self._open.acknowledge(*place)
        if waiter is not None:
            self._open.waiting.append((place, None, waiter))

    def modify_ack_deadline(
        self, place: Place, deadline: timedelta, waiter: W | None = None
    ) -> bool:
        """Add a new deadline from the time of the request; zero is a nack.

        False, without effect, if the delivery is nacked already.
        """
        if not self._open.modify_ack_deadline(*place, deadline):
            return False
        if waiter is not None:
            self._open.waiting.append((place, deadline, waiter))
        return True

    def acknowledge_again(self, place: Place, waiter: W) -> None:
        """Add a repeated acknowledgement, which had succeeded before."""
        self._open.repeated.append((place, waiter))

    def together(self, places: Sequence[Place]) -> None:
        """Note that some acknowledgements are of one call: none is written where one fails."""
        self._open.together.append(places)

    def give_back(self, lease_id: int, positions: Positions) -> None:
        """Give back messages that no consumer has processed: their deliveries do not fail."""
        self._open.give_back(lease_id, positions)

    def request(
        self,
        own: Mapping[timedelta, PositionsByLease],
        known_ends: Mapping[datetime, PositionsByLease],
    ) -> AckRequest:
        """Return a request for everything that waits, and for the consumer's own deadlines.

        ``own``: extensions, and zero for what has expired. They do not count where a new deadline
        of the delivery waits. A request that was not settled, as its commit failed, is part of the
        next one.
        """
        if self._sent is not None:
            self._sent.add(self._next)
        pending = self._sent = self._sent or self._next
        self._next = _Pending()
        asked: dict[timedelta, dict[int, list[int]]] = {}
        for lease_id, by_position in pending.deadlines.items():
            for position, deadline in by_position.items():
                asked.setdefault(deadline, {}).setdefault(lease_id, []).append(position)
        deadlines = {deadline: _by_lease(lists) for deadline, lists in asked.items()}
        modified = {of: Positions.of(named) for of, named in pending.deadlines.items()}
        for deadline, owned in own.items():
            named = deadlines.setdefault(deadline, {})
            for lease_id, positions in _without(owned, modified).items():
                named[lease_id] = named.get(lease_id, _NONE) | positions
        return AckRequest(
            _by_lease(pending.acknowledged),
            {deadline: found for deadline, named in deadlines.items() if (found := _some(named))},
            dict(pending.given_back),
            _of_places(place for place, _ in pending.repeated),
            {end: _some(_without(named, modified)) for end, named in known_ends.items()},
            tuple(map(_of_places, pending.together)),
        )

    def settle(self, response: AckResponse) -> list[Settled[W]]:
        """Return the outcomes of the last request, for their waiters."""
        pending, self._sent = self._sent or _Pending(), None
        settled = []
        for (lease_id, position), asked, waiter in pending.waiting:
            outcomes = response.acknowledged
            if asked is not None:
                written = pending.deadlines.get(lease_id, {}).get(position)
                outcomes = outcomes if written is None else response.deadlines[written]
            outcome = outcomes.of(lease_id, position)
            if outcomes is response.acknowledged and position in response.postponed.get(
                lease_id, _NONE
            ):
                outcome = "postponed"
            settled.append(Settled(waiter, asked, outcome))
        for (lease_id, position), waiter in pending.repeated:
            holds = position in response.still_acknowledged.get(lease_id, _NONE)
            outcome = "success" if holds else "invalid"
            settled.append(Settled(waiter, None, outcome, again=True))
        return settled

    def give_up(self) -> list[W]:
        """Drop everything that is not written, and return its waiters."""
        dropped = self._sent or _Pending(), self._next, self._held_back
        self._sent, self._next, self._held_back = None, _Pending(), _Pending()
        return [waiter for pending in dropped for waiter in pending.waiters]


def _by_lease(lists: Mapping[int, list[int]]) -> dict[int, Positions]:
    return {lease_id: Positions.of(positions) for lease_id, positions in lists.items()}


def _of_places(places: Iterable[Place]) -> dict[int, Positions]:
    lists: dict[int, list[int]] = {}
    for lease_id, position in places:
        lists.setdefault(lease_id, []).append(position)
    return _by_lease(lists)


def _without(named: PositionsByLease, others: Mapping[int, Positions]) -> dict[int, Positions]:
    return {of: positions - others.get(of, _NONE) for of, positions in named.items()}


def _some(named: dict[int, Positions]) -> dict[int, Positions]:
    return {lease_id: positions for lease_id, positions in named.items() if positions}
