"""What may have happened to a message between two operations, and what surely happened.

Whatever may have been done counts as done where it excuses something, and as not done where it
would be held against the store. So what is found here to be impossible is impossible.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

from tests.histories.records import NEVER, Answer, Delivery, History, Life, Op, Published

SECOND = 1_000_000
SETTLING = (
    *("pull", "ack", "nack", "extend", "seek_time", "seek_snapshot"),
    *("create_snapshot", "update_subscription", "maintain"),
)
"""Operations that end what is over by their clock."""


class Effects:
    """What operations did to the messages of the subscriptions of a history."""

    def __init__(self, history: History) -> None:
        self.history = history
        self._views: dict[str, View] = {}
        self._asked: set[tuple[str, str]] = set()

    def views(self) -> Iterator[View]:
        """Return every life of a subscription."""
        for life in self.history.subscriptions.values():
            yield self.view(life)

    def view(self, life: Life) -> View:
        if life.uid not in self._views:
            self._views[life.uid] = View(self, life)
        return self._views[life.uid]

    def topic_of(self, message: Published) -> Life | None:
        """Return the life of a topic that a message was surely published to."""
        found = self.history.possible("topic", message.topic, message.op)
        return found[0] if len(found) == 1 else None

    def holds(self, snapshot: Life, text: str) -> bool:
        """Tell whether a snapshot surely holds a message.

        It holds what was unacknowledged on its subscription, and everything published later.
        """
        if (snapshot.uid, text) in self._asked:  # of a snapshot of a seek to itself
            return False
        message, create = self.history.published[text], snapshot.create
        sources = self.history.possible("subscription", create.args["subscription"], create)
        if not snapshot.sure or len(sources) != 1 or not sources[0].uid:
            return False
        source = self.view(sources[0])
        if source.topic is None or self.topic_of(message) != source.topic:
            return False
        if text not in self.history.landed:
            return False
        earlier = self.history.landed[text] <= create.begin and source.surely_has(text)
        if message.op.begin <= create.end and not earlier:
            return False
        self._asked.add((snapshot.uid, text))
        try:
            return not source.ended(text, 0, create)
        finally:
            self._asked.discard((snapshot.uid, text))

    @cached_property
    def forwarded(self) -> dict[tuple[str, str], list[Delivery]]:
        """Dead letters that somebody was given, by the subscription and the text."""
        found = defaultdict(list)
        for each in self.history.deliveries:
            if each.source:
                found[each.source, each.text].append(each)
        return found


class View:
    """A life of a subscription: what was delivered to it, and what was done to it."""

    def __init__(self, effects: Effects, life: Life) -> None:
        self._effects = effects
        self.history = effects.history
        self.life = life
        self.config = self.history.config(life.name)
        self.ordered = bool(self.config["ordered"])
        self.exactly_once = bool(self.config["exactly_once"])
        self._ends: dict[str, list[Op]] = {}

    @cached_property
    def topic(self) -> Life | None:
        """The life of the topic that it is surely attached to."""
        found = self.history.possible("topic", self.config["topic"], self.life.create)
        return found[0] if len(found) == 1 else None

    @cached_property
    def deliveries(self) -> dict[str, list[Delivery]]:
        found = defaultdict(list)
        for each in self.history.deliveries:
            if each.uid == self.life.uid:
                found[each.text].append(each)
        return found

    @cached_property
    def batches(self) -> dict[str, list[Delivery]]:
        """What was delivered together, by lease."""
        found = defaultdict(list)
        for each in self.history.deliveries:
            if each.uid == self.life.uid:
                found[each.lease].append(each)
        return found

    @cached_property
    def ops(self) -> list[Op]:
        """The operations that may have met it."""
        return [
            op
            for op in self.history.ops
            if op.may and self._is_meant(op) and self.history.may_live(self.life, op)
        ]

    def _surely_met(self, op: Op) -> bool:
        """Tell whether an operation can have met no other subscription of the name."""
        return self.history.possible("subscription", self.life.name, op) == [self.life]

    def _is_meant(self, op: Op) -> bool:
        if op.kind == "restore":
            return bool(op.args["uid"] == self.life.uid)
        return op.kind == "maintain" or op.args.get("subscription") == self.life.name

    @cached_property
    def settling(self) -> list[Op]:
        return [op for op in self.ops if op.kind in SETTLING]

    @cached_property
    def seeks(self) -> list[Op]:
        return [op for op in self.ops if op.kind in ("seek_time", "seek_snapshot")]

    @cached_property
    def restores(self) -> list[Op]:
        return [op for op in self.ops if op.kind == "restore"]

    def was_rewound(self, since: int, before: int) -> bool:
        """Tell whether a seek or a RESTORE may have changed it in a time."""
        return any(op.end > since and op.begin < before for op in self.seeks + self.restores)

    def was_restored(self, since: int, before: int) -> bool:
        return any(op.end > since and op.begin < before for op in self.restores)

    def answers(self, text: str) -> Iterator[Answer]:
        for each in self.deliveries.get(text, ()):
            yield from self.history.answers[each.ack_id]

    # Leases

    def earliest_end(self, delivery: Delivery, at: Op) -> int:
        """Return when the lease of a delivery may have ended, as it is known to an operation."""
        ends = [(delivery.op, delivery.until)]
        for each in self.history.answers[delivery.ack_id]:
            moved = each.op.kind == "extend" and each.outcome in ("success", None)
            if moved and each.op.begin < at.end:
                ends.append((each.op, each.op.now + each.op.args["seconds"] * SECOND))
        later = [op for op, _ in ends if op.sure and op.end <= at.begin]
        return min(until for op, until in ends if not any(op.end <= other.begin for other in later))

    def latest_end(self, delivery: Delivery, at: Op) -> int:
        """Return when the lease of a delivery surely had ended, were it known to an operation."""
        extended = [
            each.op.now + each.op.args["seconds"] * SECOND
            for each in self.history.answers[delivery.ack_id]
            if each.op.kind == "extend" and each.op.begin < at.end
        ]
        return max([delivery.until, *map(int, extended)])

    def may_have_ended(self, delivery: Delivery, at: Op) -> bool:
        """Tell whether the lease of a delivery may have been over for an operation."""
        return any(self._enders(delivery, at))

    def _enders(self, delivery: Delivery, at: Op) -> Iterator[bool]:
        since, before = delivery.op.begin, at.end
        yield at.now >= self.earliest_end(delivery, at)
        yield self.was_rewound(since, before)
        for op in self.settling:
            if op.end > since and op.begin < before and op is not delivery.op:
                yield op.now >= self.earliest_end(delivery, op)
        for each in self.history.answers[delivery.ack_id]:
            if each.op.begin < before and each.op is not at:
                yield each.op.kind == "nack" or each.op.kind == "ack"
        if self.ordered and delivery.key:
            for earlier in self.earlier_in_batch(delivery):
                yield self.may_have_failed(earlier, at)

    def earlier_in_batch(self, delivery: Delivery) -> list[Delivery]:
        """Return what came before a delivery in its batch, and has its key."""
        return [
            each
            for each in self.batches[delivery.lease]
            if each.key == delivery.key and each.place < delivery.place
        ]

    def may_have_failed(self, delivery: Delivery, at: Op) -> bool:
        """Tell whether a delivery may have failed, by a nack or its deadline."""
        said = self.history.answers[delivery.ack_id]
        if any(each.op.kind == "nack" and each.op.begin < at.end for each in said):
            return True
        return at.now >= self.earliest_end(delivery, at) or any(
            op.now >= self.earliest_end(delivery, op)
            for op in self.settling
            if op.end > delivery.op.begin and op.begin < at.end
        )

    def is_void(self, answer: Answer) -> bool:
        """Tell whether a seek lies between a delivery and what was said of it."""
        begin = answer.delivery.op.end
        between = [
            s for s in self.seeks if s.sure and s.begin >= begin and s.end <= answer.op.begin
        ]
        return any(not self.was_restored(seek.begin, answer.op.end) for seek in between)

    # Messages

    def surely_has(self, text: str) -> bool:
        """Tell whether a message was surely published to it while it was there."""
        message = self.history.published[text]
        return (
            text in self.history.landed
            and self.topic is not None
            and self._effects.topic_of(message) == self.topic
            and message.op.begin >= self.life.known
            and self.life.sure
        )

    def ends_of(self, text: str) -> list[Op]:
        """Return what may have acknowledged a message, or taken it away."""
        if text not in self._ends:
            self._ends[text] = list(self._find_ends(text))
        return self._ends[text]

    def _find_ends(self, text: str) -> Iterator[Op]:
        """Find what may have acknowledged a message, or taken it away."""
        publish_time = self.history.published[text].op.now
        for answer in self.answers(text):
            may_ack = answer.op.kind == "ack" and answer.outcome in ("success", "expired", None)
            if may_ack and not self.is_void(answer):
                yield answer.op
        for op in self.seeks:
            if op.kind == "seek_time" and op.args["time"] > publish_time:
                yield op
            if op.kind == "seek_snapshot" and not self._seek_holds(op, text):
                yield op
        limit = publish_time + self.config["retention"] * SECOND
        yield from (op for op in self.ops if op.now > limit)
        if self.config["attempts"]:
            tried = [each.op for each in self.deliveries.get(text, ())]
            tried += [op for op in self.ops if op.kind == "pull" and not op.sure]
            forwarded = self._effects.forwarded.get((self.life.name, text))
            if len(tried) >= self.config["attempts"] and forwarded:
                yield from tried

    def ended(self, text: str, since: int, at: Op) -> bool:
        """Tell whether a message may have been acknowledged, or taken away, in a time."""
        return any(op.end > since and op.begin < at.end for op in self.ends_of(text))

    def _seek_holds(self, op: Op, text: str) -> bool:
        """Tell whether what a seek was to surely holds a message."""
        found = self.history.possible("snapshot", op.args["snapshot"], op)
        return bool(found) and all(self._effects.holds(each, text) for each in found)

    def brought_back(self, text: str) -> Iterator[Op]:
        """Return the seeks that surely made a message unacknowledged."""
        publish_time = self.history.published[text].op.now
        for op in self.seeks:
            if not (op.sure and self._surely_met(op)):
                continue
            if op.kind == "seek_snapshot":
                if self._seek_holds(op, text):
                    yield op
            elif (
                self.config["retains"]
                and self.surely_has(text)
                and self.history.landed[text] <= op.begin
                and op.args["time"] <= publish_time
                and not self.config["attempts"]
                and not any(s.kind == "seek_snapshot" and s.begin < op.end for s in self.seeks)
            ):
                yield op

    def last_brought_back(self, text: str, at: Op | None = None) -> int | None:
        """Return since when a message was surely unacknowledged for the last time; None if never.

        ``at``: as it must have been then.
        """
        before = NEVER if at is None else at.begin
        found = [op.begin for op in self.brought_back(text) if op.end <= before]
        if self.surely_has(text) and self.history.landed[text] <= before:
            found.append(0)
        since = max(found, default=None)
        if since is None or (since and self.was_restored(since, before)):
            return 0 if self.surely_has(text) and self.history.landed[text] <= before else None
        return since
