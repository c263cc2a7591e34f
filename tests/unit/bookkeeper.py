"""Who watches a simulation: a row per message, and what must hold of it at every commit.

It knows what was published, which operations landed in which order, and what each consumer was
told. It calls nothing of the library; what it compares are numbers and plain words.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from tests.unit.model import AckId, Fields, Model, Outcome, Stored, one_by_one

Where = tuple[str, int | None, float | None]
"""What is stored of a message: its state, the number it is under, and until when."""


class Violated(Exception):
    """Something that must hold did not."""

    def __init__(self, invariant: str, what: str) -> None:
        super().__init__(f"{invariant}: {what}")
        self.invariant = invariant


@dataclass
class Row(Stored):
    """One message: also which forwarding it is under, and to whom it was ever delivered."""

    version: int = 0
    leaving: int | None = None
    deliveries: set[int] = field(default_factory=set)
    letters: int = 0


@dataclass(frozen=True)
class Said:
    """What an operation says of messages: acknowledged, given deadlines (0: a nack), given back."""

    acknowledged: tuple[AckId, ...] = ()
    deadlines: tuple[tuple[float, tuple[AckId, ...]], ...] = ()
    given_back: tuple[AckId, ...] = ()
    micro_batch: tuple[str, int] | None = None


@dataclass(frozen=True)
class Answer:
    """What an operation came to: the messages that it leased, and the outcome of each id."""

    leased: frozenset[int] = frozenset()
    lease_id: int | None = None
    until: float = 0.0
    acknowledged: tuple[tuple[AckId, str], ...] = ()
    deadlines: tuple[tuple[float, tuple[tuple[AckId, str], ...]], ...] = ()
    forgotten: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Change:
    """One change of the ack state that a consumer asked for; it lands once, or not at all."""

    number: int
    consumer: str
    now: float
    said: Said = Said()
    pulls: bool = False
    wants: bool = False
    settles: bool = True


@dataclass
class MicroBatch:
    """What a query was given last, less what others were given since."""

    batch_id: int
    lease_id: int
    positions: set[int]


@dataclass
class Bookkeeper(Model):
    """What the specification makes of the operations, in the order in which they landed."""

    fields: Fields = field(default_factory=Fields)
    messages: dict[int, Row] = field(default_factory=dict)  # type: ignore[assignment]
    landed_as: dict[int, tuple[int, Answer]] = field(default_factory=dict)
    told_acked: dict[int, int] = field(default_factory=dict)
    queries: dict[str, MicroBatch] = field(default_factory=dict)
    believed: dict[str, dict[AckId, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._landings = count(1)

    def publish(self, position: int, key: str, now: float, version: int) -> None:
        self.messages[position] = Row(now, key, version=version)

    # What lands

    def landed(self, change: Change, answer: Answer) -> None:
        """Check what a change did, at the moment at which it lands, and do it to the rows."""
        if change.number in self.landed_as:
            raise Violated("no change applies twice", f"{change} landed once more")
        self.landed_as[change.number] = (next(self._landings), answer)
        if not change.settles:
            self._forget(answer.forgotten)
            return
        self.settle(change.now)
        self._hear(change, answer)
        if change.said.micro_batch:
            self._finish_before(*change.said.micro_batch)
        if change.pulls:
            self._decide_forwarding()
            if not self._runs_again(change, answer):
                self._deliver(change, answer)

    def settle(self, now: float) -> None:
        super().settle(now)
        for row in self.messages.values():
            row.waits_until = row.waits_until if row.waits_until > now else 0.0

    def fail(self, lease_id: int, failing: set[int], at: float) -> None:
        super().fail(lease_id, failing, at)
        for row in (self.messages[position] for position in failing):
            row.waits_until = row.waits_until if row.waits_until > at else 0.0

    def _hear(self, change: Change, answer: Answer) -> None:
        said = change.said
        for lease_id, position in said.acknowledged:
            row = self.messages.get(position)
            if row is None or lease_id not in row.deliveries:
                raise Violated("nothing is acked that was not delivered", f"{change}, {position}")
        expected = one_by_one(list(said.acknowledged), self.acknowledge)
        _same(f"acknowledged by {change}", dict(answer.acknowledged), expected)
        for (deadline, named), (_, found) in zip(said.deadlines, answer.deadlines, strict=True):
            _same(
                f"{deadline} s by {change}",
                dict(found),
                self._new_deadline(change, named, deadline),
            )
        self._give_back(said.given_back)

    def _new_deadline(self, change: Change, named: tuple[AckId, ...], seconds: float) -> Outcome:
        if not seconds:
            return self.nack(list(named), change.now)
        return one_by_one(list(named), lambda each: self.modify(each, change.now, seconds))

    def acknowledge(self, ack_id: AckId) -> str:
        row = self.messages[ack_id[1]]
        if row.leaving and not self.fields.exactly_once:
            return "expired"  # "acked by this, unless it is under another lease" or forwarded
        return super().acknowledge(ack_id)

    def _give_back(self, named: tuple[AckId, ...]) -> None:
        # No delivery failed: the counts stay as they are.
        for lease_id in sorted({lease_id for lease_id, _ in named}):
            given = {p for each, p in named if each == lease_id}
            given = {p for p in given if self.messages[p].held_by(lease_id)}
            before = {position: replace(self.messages[position]) for position in given}
            self.fail(lease_id, given, 0.0)
            for position, old in before.items():
                row = self.messages[position]
                row.failures, row.attempt, row.waits_until = old.failures, old.attempt, 0.0
                row.failed_under = old.failed_under

    def free(self, now: float) -> list[int]:
        return [each for each in super().free(now) if not self.messages[each].leaving]

    def is_exhausted(self, message: Stored) -> bool:
        assert isinstance(message, Row)
        return not message.leaving and super().is_exhausted(message)

    def _decide_forwarding(self) -> None:
        exhausted = [row for row in self.messages.values() if self.is_exhausted(row)]
        self.leases += 1 if exhausted else 0  # forwardings and leases share their numbers
        for row in exhausted:
            row.leaving = self.leases

    def _deliver(self, change: Change, answer: Answer) -> None:
        for position in sorted(answer.leased):
            self._check_delivery(position, change.now, answer)
        if not answer.leased:
            return
        self.leases += 1
        if answer.lease_id != self.leases:
            raise Violated("each lease has a number of its own", f"{answer}, not {self.leases}")
        for position in answer.leased:
            row = self.messages[position]
            row.lease_id, row.until = self.leases, answer.until
            row.deliveries.add(self.leases)
        for other in self.queries.values():
            other.positions -= answer.leased
        if change.said.micro_batch:
            query, batch_id = change.said.micro_batch
            self.queries[query] = MicroBatch(batch_id, self.leases, set(answer.leased))

    def _check_delivery(self, position: int, now: float, answer: Answer) -> None:
        row = self.messages.get(position)
        if row is None:
            raise Violated("only what was published is delivered", f"{position}")
        what = f"{position} leased at {now:g}: {row}"
        if row.lease_id:
            raise Violated("no message is under two leases", what)
        if row.acked:
            raise Violated("no ack is lost", what)
        if row.leaving or self.is_exhausted(row):
            raise Violated("no dead letter is delivered", what)
        if row.waits_until > now:
            raise Violated("a failed message waits its backoff", what)
        if self.fields.ordered and row.key:
            self._check_order(position, row, answer)

    def _check_order(self, position: int, row: Row, answer: Answer) -> None:
        for other, earlier in self.messages.items():
            if earlier.key != row.key or earlier.acked or earlier.leaving:
                continue
            if earlier.lease_id or (other < position and other not in answer.leased):
                raise Violated("each key comes in order", f"{position} before {other}: {earlier}")

    # Micro-batches of streaming queries

    def _finish_before(self, query: str, batch_id: int) -> None:
        """Acknowledge a query's last micro-batch: this is a later one, so it has ended."""
        last = self.queries.get(query)
        if last is None or batch_id <= last.batch_id:
            return
        for row in (self.messages[position] for position in last.positions):
            if not row.acked and not row.leaving and row.lease_id in (None, last.lease_id):
                row.acked, row.lease_id, row.waits_until = True, None, 0.0
        last.positions = set()

    def _runs_again(self, change: Change, answer: Answer) -> bool:
        """Check that a micro-batch that is run again is given what it had, and tell if it is."""
        query, batch_id = change.said.micro_batch or ("", 0)
        last = self.queries.get(query)
        if last is None or last.batch_id != batch_id:
            return False
        rows = {n: self.messages[n] for n in last.positions if not self.messages[n].acked}
        rows = {n: r for n, r in rows.items() if not r.leaving and not self.is_exhausted(r)}
        same = {n for n, row in rows.items() if row.lease_id in (None, last.lease_id)}
        if answer.leased != same:
            raise Violated("a micro-batch is the same when run again", f"{answer}, not {same}")
        for row in (rows[n] for n in same):
            row.lease_id, row.until, row.waits_until = last.lease_id, answer.until, 0.0
        last.positions = same
        return True

    # Dead letters

    def appended(self, number: int, positions: list[int]) -> None:
        """Note what was written to the dead-letter topic."""
        for position in positions:
            row = self.messages[position]
            row.letters += 1
            if row.leaving != number or row.letters > 1:
                raise Violated("each dead letter is written once", f"{position} {number}: {row}")

    def _forget(self, positions: frozenset[int]) -> None:
        for position in positions:
            row = self.messages[position]
            if not row.letters:
                raise Violated("nothing is lost", f"{position} forgotten, not written: {row}")
            row.acked, row.leaving = True, None

    # What is stored

    def check_stored(self, stored: list[tuple[int, Where]], version: int) -> None:
        """Compare what is stored with what the operations that landed make of the messages."""
        found = dict(stored)
        if len(found) != len(stored):
            raise Violated("a message stands in one place", f"{sorted(stored)}")
        rows = {n: row for n, row in self.messages.items() if row.version <= version}
        expected = {n: _where(row) for n, row in rows.items() if not row.acked}
        if found != expected:
            differing = dict(set(found.items()) ^ set(expected.items()))
            raise Violated(
                "what is stored is what landed",
                "; ".join(f"{n}: {found.get(n)}, not {expected.get(n)}" for n in differing),
            )

    # What consumers are told, and may believe

    def told(self, change: Change, answer: Answer, now: float) -> None:
        """Check what a consumer is told: it must have landed, as it is told."""
        landing, landed = self.landed_as.get(change.number, (0, Answer()))
        if landing and landed != answer:
            raise Violated("what is told is what landed", f"{change}: {answer}, not {landed}")
        query, _ = change.said.micro_batch or ("", 0)
        if query in self.queries and answer.lease_id == self.queries[query].lease_id:
            pass  # run again at the same time, it holds what it had: nothing need be written
        elif not landing and (answer.leased or answer.acknowledged):
            raise Violated("what is told has landed", f"{change}: {answer}")
        final = self.fields.exactly_once or not self.fields.ordered
        for position in answer.leased if final else ():
            if landing > self.told_acked.get(position, landing):
                raise Violated("no ack is lost", f"{position} was told to be acknowledged")
        for (_, position), outcome in answer.acknowledged:
            if outcome == "success":
                self.told_acked.setdefault(position, landing)
        self._believe(change, answer, now)

    def _believe(self, change: Change, answer: Answer, now: float) -> None:
        """Note until when the consumer may believe that it holds messages; nobody else may."""
        mine = self.believed.setdefault(change.consumer, {})
        for (lease_id, position), _ in answer.acknowledged:
            mine.pop((lease_id, position), None)
        for deadline, outcomes in answer.deadlines:
            for ack_id, outcome in outcomes:
                if outcome == "success" and deadline and ack_id in mine:
                    mine[ack_id] = change.now + deadline
                else:
                    mine.pop(ack_id, None)
        for ack_id in change.said.given_back:
            mine.pop(ack_id, None)
        if answer.lease_id is None or answer.until <= now:
            return
        for position in answer.leased:
            if self.fields.ordered and self.messages[position].key:
                continue  # the failure of an earlier one ends its lease
            for consumer, held in self.believed.items():
                others = [until for (_, each), until in held.items() if each == position]
                if consumer != change.consumer and max(others, default=0.0) > now:
                    raise Violated(
                        "no two consumers hold a message",
                        f"{position}: {consumer} until {max(others):g}, then {change} at {now:g}",
                    )
            mine[answer.lease_id, position] = answer.until

    def told_in_peace(self, change: Change, answer: Answer) -> None:
        """Check an answer for which nothing was written, and while nothing else happened."""
        if change.number in self.landed_as:
            return
        free = self.free(change.now) if change.wants else []
        if free:
            raise Violated("what is available is delivered", f"{change} was not given {free}")
        for deadline, outcomes in () if self.fields.ordered else answer.deadlines:
            for (lease_id, position), outcome in outcomes:
                row = self.messages[position]
                live = row.held_by(lease_id) and row.until > change.now
                _same(f"{deadline} s by {change}", outcome == "success", live)

    def doubt(self, change: Change) -> None:
        """Let a consumer believe no more than is sure, after an answer that did not come."""
        mine = self.believed.setdefault(change.consumer, {})
        for ack_id in (*change.said.acknowledged, *change.said.given_back):
            mine.pop(ack_id, None)
        for deadline, named in change.said.deadlines:
            for ack_id in named:
                if ack_id in mine:
                    mine[ack_id] = min(mine[ack_id], change.now + deadline)

    def gave_up(self, change: Change) -> None:
        """Check what is said with Aborted: nothing was written."""
        if change.number in self.landed_as:
            raise Violated("Aborted means that nothing was written", f"{change}")

    # The end

    def check_drained(self) -> None:
        """Check that everything came to somebody and was acknowledged, or is a dead letter."""
        for position, row in self.messages.items():
            if not row.acked:
                raise Violated("nothing is lost", f"{position} never came again: {row}")
            if not row.deliveries:
                raise Violated("nothing is acked that was not delivered", f"{position}: {row}")


def _where(row: Row) -> Where:
    if row.leaving:
        return "forwarding", row.leaving, None
    if row.lease_id:
        return "leased", row.lease_id, row.until
    return ("backing_off", None, row.waits_until) if row.waits_until else ("available", None, None)


def _same(what: str, found: Any, expected: Any) -> None:
    if found != expected:
        raise Violated("the outcome is that of the rules", f"{what}: {found}, not {expected}")
