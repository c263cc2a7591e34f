"""What was said of messages between two turns of a StreamingPull, and what came of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from datetime import timedelta
from typing import TypeAlias

from pubsub_delta.policy.ack_requests import AckRequest, AckResponse, PositionsByLease
from pubsub_delta.policy.positions import Positions

Outcome: TypeAlias = Callable[[int, int], str]
"""Tells what came of a lease's position, or raises the error that kept it from being said."""

_NONE = Positions()


class Words:
    """What was said of messages between two turns, as positions by lease, and what came of it.

    ``gone``: nothing was said of them, but a nack of an earlier message with which they return.
    """

    def __init__(self, outcome: Outcome | None = None) -> None:
        self.acked: defaultdict[int, list[int]] = defaultdict(list)
        self.nacked: defaultdict[int, list[int]] = defaultdict(list)
        self.gone: defaultdict[int, list[int]] = defaultdict(list)
        self.deadlines: dict[tuple[int, int], timedelta] = {}
        self.outcome = outcome
        self.waiting: list[tuple[Future[str], int, int]] = []


def saying(words: Sequence[Words]) -> AckRequest:
    """Return the turn that says some words: of each message the last one."""
    acked = _held(each.acked for each in words)
    nacked = _held(each.nacked for each in words)
    last = {of: deadline for each in words for of, deadline in each.deadlines.items()}
    moved: dict[timedelta, dict[int, list[int]]] = {}
    for (lease_id, position), deadline in last.items():
        if not any(position in held.get(lease_id, _NONE) for held in (acked, nacked)):
            moved.setdefault(deadline, {}).setdefault(lease_id, []).append(position)
    deadlines: dict[timedelta, PositionsByLease] = {timedelta(0): nacked} if nacked else {}
    deadlines.update((deadline, _held([lists])) for deadline, lists in moved.items())
    return AckRequest(acknowledged=acked, deadlines=deadlines)


def _held(parts: Iterable[Mapping[int, list[int]]]) -> dict[int, Positions]:
    together: defaultdict[int, list[int]] = defaultdict(list)
    for part in parts:
        for lease_id, positions in part.items():
            together[lease_id] += positions
    return {lease_id: Positions.of(positions) for lease_id, positions in together.items()}


def told_by(answer: AckResponse) -> Outcome:
    """Return what tells the outcomes that an answer of the store holds."""

    def outcome(lease_id: int, position: int) -> str:
        for outcomes in (answer.acknowledged, *answer.deadlines.values()):
            named = {"success": outcomes.success, "expired": outcomes.expired}
            for name, held in named.items():
                if position in held.get(lease_id, _NONE):
                    return name
        return "invalid"

    return outcome


def failing(error: BaseException) -> Outcome:
    """Return what raises the error with which nothing was written."""

    def outcome(_lease_id: int, _position: int) -> str:
        raise error

    return outcome
