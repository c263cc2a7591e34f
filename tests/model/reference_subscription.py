"""One subscription of the reference: a row per message, each looked at alone.

It knows nothing of tails and spans. What a publish, a failure, a seek or a limit does to a message
is done to its row at once, as the specification says it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from tests.model.reference_values import FILTERS, Fields, Letter, Message, Topic

Named = tuple[int, Message]
"""What an ack id names: the delivery and the message."""

OPEN = "open"
"""The outcome of an ack of a message that was discarded meanwhile: nothing is said of it."""


@dataclass
class Row:
    """A message as a subscription has it."""

    acked: bool = False
    acked_under: int | None = None
    delivery: int | None = None
    until: int = 0
    waits_until: int = 0
    failures: int = 0
    attempt: int = 1
    failed_under: int = 0
    retained: bool = False
    discarded: bool = False

    def acknowledge(self, under: int | None, retain: bool) -> None:
        # "only messages acked *after* it is turned on are retained"
        self.acked, self.acked_under, self.delivery, self.retained = True, under, None, retain

    def give_back(self) -> None:
        self.acked, self.acked_under, self.delivery = False, None, None
        self.retained = self.discarded = False

    def forget(self) -> None:
        # "voids all leases made before it …, resets delivery attempts to 0 and backoff to none"
        self.delivery, self.acked_under, self.waits_until = None, None, 0
        self.failures, self.attempt, self.failed_under = 0, 1, 0


@dataclass(frozen=True)
class Held:
    """What a snapshot holds: "what was unacked then, and everything published … afterwards"."""

    topic: Topic
    unacked: frozenset[Message]
    commit: int
    floor: int | None

    def holds(self, message: Message) -> bool:
        if message.commit <= self.commit:
            return message in self.unacked
        # "a snapshot copies the state as it is, a pending purge included"
        return self.floor is None or message.publish_time >= self.floor


@dataclass(eq=False)
class Subscription:
    """A subscription, message by message."""

    name: str
    topic: Topic
    fields: Fields
    active: int
    surely_active: int
    rows: dict[Message, Row] = field(default_factory=dict)
    detached: bool = False
    deliveries: int = 0
    first_valid: int = 1
    floor: int | None = None
    counts: dict[str, int] = field(
        default_factory=lambda: {"success": 0, "expired": 0, "invalid": 0}
    )
    dead_letters: int = 0

    def copy(self) -> Subscription:
        rows = {message: replace(row) for message, row in self.rows.items()}
        return replace(self, rows=rows, counts=dict(self.counts))

    def passes(self, message: Message) -> bool:
        # "Messages that do not match are never in the backlog"
        return FILTERS[self.fields.filter](message.attributes)

    def in_order(self) -> list[tuple[Message, Row]]:
        return sorted(self.rows.items(), key=lambda each: each[0].number)

    def arrive(self, message: Message, now: int) -> None:
        if self.detached or not self.passes(message):
            return
        row = self.rows[message] = Row()
        # "A future t purges (and also acks what is published until t)."
        if self.floor is not None and message.publish_time < self.floor:
            row.acknowledge(None, self.fields.retain_acked)
        self.pass_time(now)

    # What time brings

    def pass_time(self, now: int) -> None:
        # "Deadline passed = failed delivery."
        while over := [r for r in self.rows.values() if r.delivery and r.until <= now]:
            first = min(row.until for row in over)
            for delivery in sorted({row.delivery or 0 for row in over if row.until == first}):
                held = self.held_under(delivery)
                self.fail(delivery, {m for m in held if self.rows[m].until == first}, first)
        limit = now - self.fields.retention
        for message, row in self.rows.items():
            old = message.publish_time < limit  # "an age equal to the limit is still kept"
            # "acked ones … not older than the subscription's retention"
            row.retained = row.retained and not old
            # "unacked messages not older than max(subscription, topic) retention"
            gone = old and not self.topic.covers(message, now)
            if gone and not row.acked and not row.delivery:
                row.acknowledge(None, False)
                row.discarded = True

    def held_under(self, delivery: int) -> set[Message]:
        return {message for message, row in self.rows.items() if row.delivery == delivery}

    def fail(self, delivery: int, failing: Iterable[Message], at: int) -> None:
        failing = set(failing)
        for message, row in self.rows.items():
            # "the failure of a message ends the leases of the later messages of its key at once;
            # later messages already acked return too, except with exactly-once"
            of_batch = row.delivery == delivery or (
                row.acked and row.acked_under == delivery and not self.fields.exactly_once
            )
            follows = message not in failing and any(
                each.number < message.number and each.key == message.key for each in failing
            )
            if self.fields.ordered and message.key and of_batch and follows:
                row.give_back()
        for row in (self.rows[message] for message in failing):
            row.delivery, row.failed_under = None, delivery
            # "after the *k*-th consecutive failure … min(maximum, minimum · 2^(k−1))"
            row.failures = row.failures + 1 if self.fields.retry else 0
            # "is counted … only while a dead-letter policy is set"
            row.attempt = row.attempt + 1 if self.fields.dead_letter else 1
            wait = 0
            if self.fields.retry is not None and not self.had_its_attempts(row):
                smallest, largest = self.fields.retry
                wait = min(largest, smallest * 2 ** (row.failures - 1))
            row.waits_until = at + wait if wait else 0

    def had_its_attempts(self, row: Row) -> bool:
        policy = self.fields.dead_letter
        return policy is not None and row.attempt > policy[1]

    def is_exhausted(self, row: Row, now: int) -> bool:
        free = not row.acked and not row.delivery and row.waits_until <= now
        return free and self.had_its_attempts(row)

    def forward(self, now: int) -> list[Letter]:
        # "forwarded, never delivered again … then it is acked on the source"
        letters = []
        for message, row in self.in_order():
            if self.fields.dead_letter is not None and self.is_exhausted(row, now):
                target = self.fields.dead_letter[0]
                letters.append(Letter.of(message, target, self.name, row.attempt - 1))
                row.acknowledge(None, self.fields.retain_acked)
                self.dead_letters += 1
        self.pass_time(now)  # one that is too old to be retained is not
        return letters

    # Pull, acknowledge, modify

    def free(self, now: int) -> list[Message]:
        def is_busy(row: Row) -> bool:
            return not row.acked and bool(row.delivery or row.waits_until > now)

        # "While a key has leased or backing-off messages, pull returns none of that key"
        rows = self.rows.items()
        blocked = {m.key for m, row in rows if self.fields.ordered and is_busy(row)} - {""}
        return [
            message
            for message, row in self.in_order()
            if not row.acked and not is_busy(row) and message.key not in blocked
        ]

    def pull(self, count: int | None, now: int) -> list[Message]:
        # "leases up to that many available messages until now + ack deadline"
        free = self.free(now)
        first = sorted(free, key=lambda message: (self.last_failure(message, free), message.number))
        taken = [message for message in free if message in first[:count]]
        self.deliveries += 1 if taken else 0
        for row in (self.rows[message] for message in taken):
            row.delivery, row.until = self.deliveries, now + (self.fields.ack_deadline or 10)
            row.waits_until = 0
            # what returns with an earlier message of its key has had its turn with it
            row.failed_under = self.deliveries if row.failed_under else 0
        return taken

    def last_failure(self, message: Message, free: list[Message]) -> int:
        # "what has failed comes again after what is available and has not been tried yet"; "order
        # by key is kept": a key waits with the one of its messages that failed last
        same = [each for each in free if self.fields.ordered and each.key == message.key != ""]
        return max(self.rows[each].failed_under for each in (message, *same))

    def acknowledge(self, named: Named) -> str:
        delivery, message = named
        row = self.rows[message]
        if delivery < self.first_valid:
            # "an ack id from before a seek never changes anything afterwards"
            return "invalid" if self.fields.exactly_once else "expired"
        if row.delivery == delivery:  # "live lease → success"
            # with exactly-once "a successful ack is final"
            under = None if self.fields.exactly_once else delivery
            row.acknowledge(under, self.fields.retain_acked)
            return "success"
        if self.fields.exactly_once:
            return "invalid"  # "everything but a live, latest lease is `invalid`"
        if row.discarded:
            return OPEN
        if row.acked:
            return "success"  # "Lease over and the message already acked → success"
        if not row.delivery:  # "acked by this, unless it is under another lease"
            row.acknowledge(None, self.fields.retain_acked)
        return "expired"

    def modify(self, named: set[Named], seconds: int, now: int) -> dict[Named, str]:
        # "after the lease is over: `expired` (`invalid` with exactly-once), no effect"
        too_late = "invalid" if self.fields.exactly_once else "expired"
        live = {each for each in named if each[1] in self.held_under(each[0])}
        for _, message in live if seconds else ():
            self.rows[message].until = now + seconds  # "new deadline from now"
        for delivery in sorted({delivery for delivery, _ in live} if not seconds else ()):
            # "one `nack` call with several messages of a key is a failure of each"
            self.fail(delivery, (message for each, message in live if each == delivery), now)
        return {each: "success" if each in live else too_late for each in named}

    # Seeks and snapshots

    def void_leases(self) -> None:
        self.first_valid = self.deliveries + 1
        for row in self.rows.values():
            row.forget()

    def seek_to_time(self, time: int, now: int) -> None:
        self.void_leases()
        for message in filter(self.passes, self.topic.messages):
            row = self.rows.get(message)
            # "retained messages with publish_time < t become acked, those with ≥ t unacked"
            if message.publish_time < time:
                if row is not None and not row.acked:
                    row.acknowledge(None, self.fields.retain_acked)
            elif row is not None and row.retained:
                row.give_back()
            elif self.topic.covers(message, now):
                # "any message while the topic's retention covers it, also from before the
                # subscription existed"
                self.rows.setdefault(message, Row()).give_back()
        self.floor = time if time > now else None
        self.pass_time(now)

    def snapshot(self) -> Held:
        unacked = frozenset(message for message, row in self.rows.items() if not row.acked)
        return Held(self.topic, unacked, self.topic.commits, self.floor)

    def seek_to_snapshot(self, held: Held, now: int) -> None:
        self.void_leases()
        # "with the *seeker's* filter applied"
        for message in filter(self.passes, self.topic.messages):
            row = self.rows.get(message)
            if held.holds(message):
                self.rows.setdefault(message, Row()).give_back()
            elif row is not None and not row.acked:
                row.acknowledge(None, self.fields.retain_acked)
        self.floor = held.floor
        self.pass_time(now)  # "The seeker's retention applies to what a snapshot brings back."

    # What can be seen

    def backlog(self, now: int) -> dict[Message, tuple[str, int | None]]:
        """Return the unacknowledged messages with their state and attempt."""
        seen = {}
        for message, row in self.rows.items():
            state = "backing_off" if row.waits_until > now else "available"
            if not row.acked:
                attempt = row.attempt if self.fields.dead_letter else None
                seen[message] = ("leased" if row.delivery else state, attempt)
        return seen

    def retained(self) -> set[Message]:
        return {message for message, row in self.rows.items() if row.retained and row.acked}

    def may_return(self) -> set[Message]:
        """Return what was acked after a message of its key and batch that may fail yet."""
        if not self.fields.ordered or self.fields.exactly_once:
            return set()
        live = [(m, row.delivery) for m, row in self.rows.items() if row.delivery]
        return {
            message
            for message, row in self.rows.items()
            if row.acked and message.key and row.acked_under
            if any(
                each.number < message.number and (each.key, under) == (message.key, row.acked_under)
                for each, under in live
            )
        }
