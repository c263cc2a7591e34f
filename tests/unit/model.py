"""A deliberately naive model of delivery: a dict of messages, each looked at alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

AckId = tuple[int, int]
"""The lease and the position that an ack id names."""

Outcome = dict[AckId, str]


@dataclass
class Stored:
    """One message, as one would keep it who has only a few."""

    published: float
    key: str = ""
    acked: bool = False
    acked_under: int | None = None
    lease_id: int | None = None
    until: float = 0.0
    waits_until: float = 0.0
    failures: int = 0
    attempt: int = 1
    failed_under: int = 0

    def held_by(self, lease_id: int) -> bool:
        return self.lease_id == lease_id


@dataclass(frozen=True)
class Fields:
    """A subscription's fields, as far as they matter here; backoffs in seconds."""

    ordered: bool = False
    exactly_once: bool = False
    backoffs: tuple[float, float] | None = None
    max_attempts: int | None = None


@dataclass
class Model:
    """What the specification says, message by message and id by id."""

    fields: Fields = field(default_factory=Fields)
    messages: dict[int, Stored] = field(default_factory=dict)
    leases: int = 0
    forwarded: int = 0

    def is_exhausted(self, message: Stored) -> bool:
        limit = self.fields.max_attempts
        return not message.acked and limit is not None and message.attempt > limit

    def settle(self, now: float) -> None:
        # "Deadline passed = failed delivery."
        while True:
            over = [m for m in self.messages.values() if m.lease_id and m.until <= now]
            if not over:
                return
            first = min(message.until for message in over)
            for lease_id in sorted({m.lease_id or 0 for m in over if m.until == first}):
                ending = {
                    position
                    for position, message in self.messages.items()
                    if message.held_by(lease_id) and message.until == first
                }
                self.fail(lease_id, ending, first)

    def fail(self, lease_id: int, failing: set[int], at: float) -> None:
        for position, message in self.messages.items():
            under = message.held_by(lease_id) or (
                # "Later messages already acked return too, except with exactly-once"
                message.acked and message.acked_under == lease_id and not self.fields.exactly_once
            )
            # "the failure of a message ends the leases of the later messages of its key at once"
            later = any(
                each < position and self.messages[each].key == message.key for each in failing
            )
            if self.fields.ordered and message.key and under and later and position not in failing:
                # "Messages that return only because of an earlier one do not count"
                message.acked, message.lease_id, message.acked_under = False, None, None
        for message in (self.messages[position] for position in failing):
            message.lease_id, message.failed_under = None, lease_id
            wait = 0.0
            if self.fields.backoffs is not None:
                message.failures += 1
                smallest, largest = self.fields.backoffs
                # "min(maximum_backoff, minimum_backoff · 2^(k−1))"
                wait = min(largest, smallest * 2.0 ** (message.failures - 1))
            if self.fields.max_attempts is not None:
                message.attempt += 1
            # "After the last permitted attempt there is no backoff"
            message.waits_until = 0.0 if self.is_exhausted(message) else at + wait

    def free(self, now: float) -> list[int]:
        def is_busy(message: Stored) -> bool:
            waits = message.waits_until > now
            return bool(message.lease_id) or (not message.acked and waits)

        # "While a key has leased or backing-off messages, pull returns none of that key"
        blocked = {
            message.key
            for message in self.messages.values()
            if self.fields.ordered and (is_busy(message) or self.is_exhausted(message))
        } - {""}
        return sorted(
            position
            for position, message in self.messages.items()
            if not message.acked
            and not is_busy(message)
            and not self.is_exhausted(message)
            and message.key not in blocked
        )

    def lease(self, count: int | None, now: float, deadline: float) -> list[int]:
        # "leases up to that many available messages until now + ack deadline"
        taken = sorted(self.in_turn(now)[:count])
        self.leases += 1 if taken else 0
        for message in (self.messages[position] for position in taken):
            message.lease_id, message.until = self.leases, now + deadline
            # given back unseen, it comes again behind what failed meanwhile
            message.failed_under = self.leases if message.failed_under else 0
        return taken

    def in_turn(self, now: float) -> list[int]:
        """Return what is free as it comes: "what has failed comes again after what … has not"."""
        free = self.free(now)

        def turn(position: int) -> int:
            # "Order by key is kept": all messages of a key wait with the one that failed last
            message = self.messages[position]
            shared = [self.messages[each] for each in free] if self.fields.ordered else []
            of_key = [each for each in shared if each.key and each.key == message.key]
            return max(each.failed_under for each in (message, *of_key))

        return sorted(free, key=lambda position: (turn(position), position))

    def acknowledge(self, ack_id: AckId) -> str:
        lease_id, position = ack_id
        if not 1 <= lease_id <= self.leases or position not in self.messages:
            return "invalid"
        message = self.messages[position]
        # "live lease → success"
        if message.held_by(lease_id):
            message.acked, message.acked_under, message.lease_id = True, lease_id, None
            return "success"
        # "With exactly-once everything but a live, latest lease is invalid and changes nothing."
        if self.fields.exactly_once:
            return "invalid"
        # "Lease over and the message already acked → success"
        if message.acked:
            return "success"
        # "expired; it is acked by this, unless it is under another lease"
        message.acked = not message.lease_id
        return "expired"

    def modify(self, ack_id: AckId, now: float, deadline: float) -> str:
        lease_id, position = ack_id
        if not 1 <= lease_id <= self.leases or position not in self.messages:
            return "invalid"
        message = self.messages[position]
        # "after the lease is over | expired (invalid with exactly-once), no effect"
        if not message.held_by(lease_id):
            return "invalid" if self.fields.exactly_once else "expired"
        # "1–600 = new deadline from now"
        if deadline:
            message.until = now + deadline
        return "success"

    def nack(self, named: list[AckId], now: float) -> Outcome:
        # "one nack call with several messages of a key is a failure of each"
        outcome = one_by_one(named, lambda each: self.modify(each, now, 0))
        for lease_id in sorted({lease_id for lease_id, _ in named}):
            failing = {p for each, p in named if each == lease_id and outcome[each, p] == "success"}
            self.fail(lease_id, failing, now)
        return outcome

    def discard(self, oldest: float) -> None:
        # "an unacked message disappears when it is older than … retention"; an acked one of a live
        # ordered lease may yet become unacked, and is looked at then
        for message in self.messages.values():
            if not message.acked and not message.lease_id and message.published < oldest:
                message.acked = True

    def forward(self) -> None:
        # "the message is forwarded at the next pull or maintenance … then it is acked"
        for message in self.messages.values():
            if self.is_exhausted(message):
                message.acked = True
                self.forwarded += 1


def one_by_one(named: list[AckId], decide: Callable[[AckId], str]) -> Outcome:
    """Decide ids in the order of their leases, each once ("An id given twice gets one outcome")."""
    return {ack_id: decide(ack_id) for ack_id in sorted(set(named))}
