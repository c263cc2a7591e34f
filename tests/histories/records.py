"""What processes wrote down: operations, deliveries, and the lives of names.

Nothing of the library is imported. Times that order operations are nanoseconds of the machine's
monotonic clock; ``now``, deadlines and publish times are microseconds of the clock that a process
was given, and may be an hour apart from those of another process.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.journal import entries

NEVER = 1 << 62
_AFTER_A_KILL = 1_000_000_000
"""How long after it was killed what a process had sent may still arrive: a second."""

CHANGED_NOTHING = frozenset(
    {"NotFound", "AlreadyExists", "InvalidArgument", "Aborted", "FailedPrecondition", "Unavailable"}
)
"""Errors that say that nothing was written."""


@dataclass(frozen=True, eq=False)
class Op:
    """An operation: what was asked, when, and what was answered, if anything."""

    id: str
    kind: str
    args: Mapping[str, Any]
    begin: int
    end: int
    now: int
    done: Mapping[str, Any] | None = None
    error: str | None = None
    text: str = ""

    @property
    def process(self) -> str:
        return self.id.split("/")[0]

    @property
    def sure(self) -> bool:
        """Whether it was told that it was done."""
        return self.done is not None

    @property
    def may(self) -> bool:
        """Whether it may have been done: it was, or nobody was told."""
        if self.kind == "seek_snapshot" and self.error == "NotFound":
            return "leases have ended" in self.text  # it had been noted, and was withdrawn
        return self.sure or self.error not in CHANGED_NOTHING

    def before(self, other: Op) -> bool:
        """Tell whether it was over when the other began."""
        return self.end <= other.begin


@dataclass(frozen=True)
class Published:
    """A message as somebody may have published it; ``place``: in the list of its operation."""

    text: str
    topic: str
    key: str
    place: int
    op: Op

    def surely_before(self, other: Published) -> bool:
        """Tell whether it came before another one of its topic."""
        if self.op is other.op:
            return self.place < other.place
        return self.op.sure and self.op.before(other.op)


@dataclass(frozen=True)
class Delivery:
    """A message as a pull gave it to somebody."""

    op: Op
    place: int
    uid: str
    lease: str
    ack_id: str
    text: str
    message_id: str
    publish_time: int
    key: str
    source: str
    until: int


@dataclass(frozen=True)
class Answer:
    """What an ack, a nack or a new deadline was told of one delivery; None where it was not."""

    op: Op
    delivery: Delivery
    outcome: str | None


@dataclass(frozen=True)
class Life:
    """A topic, a subscription or a snapshot between its creation and its deletion.

    ``create``: that made it, or may have made it. ``known``: when it was there at the latest.
    """

    kind: str
    name: str
    uid: str
    create: Op
    known: int
    sure: bool


@dataclass(frozen=True)
class Violation:
    """What cannot be: ``kind`` of it, which message of which subscription, and by which steps."""

    kind: str
    says: str
    subscription: str = ""
    message: str = ""
    ops: tuple[str, ...] = ()


@dataclass
class History:
    """All that was written down of one run."""

    world: Mapping[str, Any]
    ops: list[Op]
    events: list[Mapping[str, Any]] = field(default_factory=list)

    @classmethod
    def read(cls, folder: Path) -> History:
        """Read what the processes of a run wrote down."""
        world = json.loads((folder / "plan.json").read_text(encoding="utf-8"))["world"]
        lines = [entry for path in sorted(folder.glob("*.jsonl")) for entry in entries(path)]
        return cls.of(world, lines)

    @classmethod
    def of(cls, world: Mapping[str, Any], lines: Iterable[Mapping[str, Any]]) -> History:
        """Join beginnings and ends; what was cut off by a kill ended with its process."""
        begun: dict[str, Mapping[str, Any]] = {}
        ended: dict[str, Mapping[str, Any]] = {}
        events = []
        for line in lines:
            if "event" in line:
                events.append(line)
            elif "op" in line:
                begun[line["id"]] = line
            else:
                ended[line["id"]] = line
        killed = {each["process"]: each["at"] for each in events if each["event"] == "kill"}
        ops = [_op(line, ended.get(id_), killed) for id_, line in begun.items()]
        return cls(world, sorted(ops, key=lambda op: op.begin), events)

    def of_kind(self, *kinds: str) -> list[Op]:
        return [op for op in self.ops if op.kind in kinds]

    def config(self, subscription: str) -> Mapping[str, Any]:
        """Return the fields of a subscription, which all lives of its name have."""
        found: Mapping[str, Any] = {**self.world["subscriptions"], **self.world["probes"]}[
            subscription
        ]
        return found

    @cached_property
    def published(self) -> dict[str, Published]:
        """Every message that somebody may have published, by its text."""
        return {
            text: Published(text, op.args["topic"], key, place, op)
            for op in self.of_kind("publish")
            if op.may
            for place, (text, key) in enumerate(op.args["messages"])
        }

    @cached_property
    def deliveries(self) -> list[Delivery]:
        """Every message that a pull gave to somebody."""
        found = []
        for op in self.of_kind("pull"):
            if op.done is None:
                continue
            for place, row in enumerate(op.done["messages"]):
                uid, lease, _ = row["ack_id"].split(".", 2)
                found.append(Delivery(op, place, uid, lease, until=op.done["until"], **row))
        return found

    @cached_property
    def by_ack_id(self) -> dict[str, Delivery]:
        return {each.ack_id: each for each in self.deliveries}

    @cached_property
    def answers(self) -> dict[str, list[Answer]]:
        """What was said of deliveries, by their ack ids."""
        found: dict[str, list[Answer]] = defaultdict(list)
        for op in self.of_kind("ack", "nack", "extend"):
            if not op.may:
                continue
            told = {ack_id: outcome for outcome, ids in (op.done or {}).items() for ack_id in ids}
            for ack_id in op.args["ids"]:
                delivery = self.by_ack_id.get(ack_id)
                if delivery is not None:
                    outcome = told.get(ack_id, "missing" if op.sure else None)
                    found[ack_id].append(Answer(op, delivery, outcome))
        return found

    @cached_property
    def landed(self) -> dict[str, int]:
        """When a message was there at the latest: its publish was told, or it was delivered."""
        found: dict[str, int] = {}
        seen: dict[str, int] = {}
        for each in self.deliveries:
            seen[each.text] = min(seen.get(each.text, NEVER), each.op.end)
        for op in self.of_kind("publish"):
            texts = [text for text, _ in op.args["messages"]]
            end = op.end if op.sure else min((seen.get(t, NEVER) for t in texts), default=NEVER)
            for text in texts if end < NEVER else ():
                found[text] = min(found.get(text, NEVER), end)
        return found

    @cached_property
    def lives(self) -> dict[str, list[Life]]:
        """All lives of topics, subscriptions and snapshots, by kind and name: ``topic orders``."""
        found: dict[str, list[Life]] = defaultdict(list)
        named: set[str] = set()
        for kind in ("topic", "subscription", "snapshot"):
            for op in self.of_kind(f"create_{kind}"):
                if op.may:
                    uid = (op.done or {}).get("uid", "")
                    life = Life(kind, op.args[kind], uid, op, op.end, op.sure)
                    found[f"{kind} {life.name}"].append(life)
                    named.add(uid)
        for each in self.deliveries:  # of subscriptions whose creation nobody was told of
            if each.uid not in named:
                named.add(each.uid)
                name = each.op.args["subscription"]
                mine = found[f"subscription {name}"]
                untold = [life for life in mine if not life.uid]
                untold = [life for life in untold if life.create.begin < each.op.end]
                if untold:
                    first = min(untold, key=lambda life: life.create.begin)
                    mine.append(
                        Life("subscription", name, each.uid, first.create, each.op.end, True)
                    )
        return found

    @cached_property
    def subscriptions(self) -> dict[str, Life]:
        """The lives of subscriptions that have a uid."""
        return {
            life.uid: life
            for lives in self.lives.values()
            for life in lives
            if life.kind == "subscription" and life.uid
        }

    def deletes(self, life: Life) -> list[Op]:
        """Return what may have deleted a topic, a subscription or a snapshot of a name."""
        found = self.of_kind(f"delete_{life.kind}")
        return [op for op in found if op.may and op.args[life.kind] == life.name]

    def is_dead(self, life: Life, at: int) -> bool:
        """Tell whether something was surely gone at a time."""
        ends = [op.end for op in self.deletes(life) if op.sure and op.begin >= life.known]
        ends += [
            other.known
            for other in self.lives[f"{life.kind} {life.name}"]
            if other.sure and other.uid != life.uid and other.create.begin >= life.known
        ]
        return any(end <= at for end in ends)

    def may_live(self, life: Life, op: Op) -> bool:
        """Tell whether something may have been there at some time of an operation."""
        return life.create.begin < op.end and not self.is_dead(life, op.begin)

    def lives_through(self, life: Life, begin: int, end: int) -> bool:
        """Tell whether something was surely there all the time from a beginning to an end."""
        if not life.sure or life.known > begin:
            return False
        return not any(op.begin < end and op.end > life.create.begin for op in self.deletes(life))

    def possible(self, kind: str, name: str, op: Op) -> list[Life]:
        """Return the lives of a name that an operation may have met."""
        return [life for life in self.lives[f"{kind} {name}"] if self.may_live(life, op)]


def _op(line: Mapping[str, Any], end: Mapping[str, Any] | None, killed: Mapping[str, int]) -> Op:
    args = {k: v for k, v in line.items() if k not in ("id", "op", "at", "now")}
    if end is None:
        death = killed.get(line["id"].split("/")[0])
        until = NEVER if death is None else death + _AFTER_A_KILL
        return Op(line["id"], line["op"], args, line["at"], until, line["now"], error="no answer")
    return Op(
        line["id"], line["op"], args, line["at"], end["at"], line["now"],
        end.get("done"), end.get("error"), end.get("text", ""),
    )  # fmt: skip
