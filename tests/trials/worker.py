"""A program that works on a store as it is told, writes down what it was told, and dies on order.

It reads plans from standard input, a line of JSON each: the root, the journal, the calls to make,
and perhaps at which write of the last call to die. It answers each with a line. Dying is SIGKILL to
the process group. With ``spark`` as its argument it works by the Spark lane, on a session of its
own; otherwise by the direct lane, without Java.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

from deltalake import DeltaTable

from pubsub_delta import DeadLetterPolicy, ManualClock, PubSub
from pubsub_delta.clock import from_micros, to_micros
from pubsub_delta.errors import class_name
from pubsub_delta.tables.lanes.direct import DirectLane
from tests.journal import Journal, entries

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WRITES = (
    "append",
    "append_frame",
    "clean_log",
    "compact",
    "create",
    "delete",
    "drop",
    "merge",
    "swap",
    "vacuum",
)
"""The functions of a lane that write; one that calls another counts once."""

_LONGER_THAN_A_LEASE = 11 * 60


@cache
def _answers() -> TextIO:
    """Return where answers go: the standard output, as it is at the first call."""
    return os.fdopen(os.dup(1), "w")


def session() -> SparkSession | None:
    """Start a small session, as fast as it goes, if this process is to have one.

    Its JVM inherits the log as its standard output, where warnings of HotSpot's go.
    """
    _answers()
    os.dup2(2, 1)
    if "spark" not in sys.argv[1:]:
        return None
    from tests.trials.sessions import small_session

    return small_session()


def say(**answer: Any) -> None:
    """Write one line of JSON to whoever told this process what to do."""
    _answers().write(json.dumps(answer) + "\n")
    _answers().flush()


def die() -> None:
    """Kill this process, and its JVM if it has one."""
    os.killpg(os.getpgid(0), signal.SIGKILL)


class Writes:
    """Counts the writes of the library, and dies before or after one of them."""

    def __init__(self, lane: type[Any]) -> None:
        self.count = 0
        self._last: int | None = None
        self._when = ""
        self._within = False
        for name in WRITES:
            if hasattr(lane, name):
                setattr(lane, name, self._counted(getattr(lane, name)))

    def arm(self, crash: dict[str, Any] | None) -> None:
        """Count from now on, and die as told: ``{"write": 2, "when": "after"}``."""
        self.count = 0
        self._last = crash["write"] if crash else None
        self._when = crash["when"] if crash else ""

    def _counted(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def counted(lane: Any, *args: Any, **named: Any) -> Any:
            if self._within:
                return write(lane, *args, **named)
            self.count += 1
            here = self.count == self._last
            if here and self._when == "before":
                die()
            self._within = True
            try:
                result = write(lane, *args, **named)
            finally:
                self._within = False
            if here and self._when == "after":
                die()
            return result

        return counted


class Work:
    """Makes calls to one store; each stands in the journal before it begins and when it is done."""

    def __init__(self, spark: SparkSession | None, root: str, journal: Path) -> None:
        before = entries(journal)
        self._root = root
        last = max((entry["at"] for entry in before if "at" in entry), default=None)
        self._clock = ManualClock() if last is None else ManualClock(from_micros(last))
        self._journal = Journal(journal)
        self._calls = len(before)
        lane: Literal["direct", "spark"] = "direct" if spark is None else "spark"
        self._store = PubSub(spark, root, clock=self._clock, lane=lane)
        self._held: dict[str, dict[str, str]] = {}

    def do(self, call: dict[str, Any]) -> None:
        """Make one call."""
        op = call["op"]
        if op in ("advance", "recover", "checkpoint_often", "shell"):
            getattr(self, f"_{op}")(**{k: v for k, v in call.items() if k != "op"})
            return
        call = dict(call)
        if op in ("ack", "nack"):
            held = list(self._held.get(call["subscription"], {}))
            call["data"] = held[: call.pop("count", None)]
            if not held:
                return
        if op == "publish":
            call["data"] = [f"{self._calls}.{n}" for n in range(call.pop("count"))]
        self._calls += 1
        self._journal.write(**call, at=to_micros(self._clock.now()))
        done = getattr(self, f"_{op}")(**{k: v for k, v in call.items() if k != "op"})
        self._journal.write(done=done or {})

    def _advance(self, seconds: float) -> None:
        self._clock.advance(seconds)
        self._held.clear()

    def _shell(self, command: str) -> None:
        """Do something to the machine, which is none of the store's business."""
        subprocess.run(["/bin/sh", "-c", command], check=True)

    def _look(self, topic: str, subscription: str) -> None:
        """Look at a topic and a subscription, which writes nothing."""
        waiting = self._store.metrics(subscription)["num_undelivered_messages"]
        assert len(self._store.peek(subscription, 1_000)) == waiting
        assert self._store.metrics(topic)["message_count"]

    def _create_topic(self, topic: str) -> None:
        self._store.create_topic(topic)

    def _delete_topic(self, topic: str) -> None:
        self._store.delete_topic(topic)

    def _create_subscription(self, subscription: str, topic: str, fields: dict[str, Any]) -> None:
        target = fields.get("dead_letter_topic")
        kept = {key: value for key, value in fields.items() if key != "dead_letter_topic"}
        if target:
            kept["dead_letter_policy"] = DeadLetterPolicy(target)
        self._store.create_subscription(subscription, topic, **kept)

    def _delete_subscription(self, subscription: str) -> None:
        self._store.delete_subscription(subscription)

    def _create_snapshot(self, snapshot: str, subscription: str) -> None:
        self._store.create_snapshot(snapshot, subscription)

    def _publish(self, topic: str, data: list[str]) -> None:
        self._store.publish(topic, data)

    def _pull(self, subscription: str, max: int | None = None) -> dict[str, Any]:
        batch = self._store.pull(subscription, max)
        rows = [(each.data.decode(), each.ack_id) for each in batch]
        self._held.setdefault(subscription, {}).update(dict(rows))
        until = to_micros(batch.ack_deadline) if batch.ack_deadline else 0
        return {"messages": [row[0] for row in rows], "until": until}

    def _ack(self, subscription: str, data: list[str]) -> dict[str, Any]:
        ids = {self._held[subscription].pop(each): each for each in data}
        result = self._store.acknowledge(subscription, list(ids))
        return {"success": [ids[each] for each in result.success]}

    def _nack(self, subscription: str, data: list[str]) -> None:
        ids = [self._held[subscription].pop(each) for each in data]
        self._store.modify_ack_deadline(subscription, ids, 0)

    def _seek_time(self, subscription: str, micros: int) -> None:
        self._held.pop(subscription, None)
        self._store.seek(subscription, time=from_micros(micros))

    def _seek_snapshot(self, subscription: str, snapshot: str) -> None:
        self._held.pop(subscription, None)
        self._store.seek(subscription, snapshot=snapshot)

    def _maintain(self, duties: dict[str, bool]) -> None:
        off = dict.fromkeys(("dead_letters", "expiration", "retention"), False)
        report = self._store.maintain(**{**off, **duties})
        assert not report.problems, report.problems

    def _checkpoint_often(self) -> None:
        """Let every commit of the tables that are there write a checkpoint."""
        for log in sorted(Path(self._root).rglob("_delta_log")):
            DeltaTable(log.parent).alter.set_table_properties({"delta.checkpointInterval": "1"})

    def _recover(self) -> None:
        """Go on as if nothing had happened: what is left comes, and can be acknowledged."""
        names = [each.name.rsplit("/", 1)[1] for each in self._store.list_subscriptions()]
        topics = [each.name.rsplit("/", 1)[1] for each in self._store.list_topics()]
        for name in names:
            self.do({"op": "pull", "subscription": name, "max": 1})  # leases hold
        self._advance(_LONGER_THAN_A_LEASE)
        for topic in topics:
            self.do({"op": "publish", "topic": topic, "count": 2})
        for name in sorted(names, key=lambda name: name == "undertaker"):  # it is forwarded to
            self.do({"op": "pull", "subscription": name})
            self.do({"op": "ack", "subscription": name})
        self.do(
            {"op": "maintain", "duties": {"dead_letters": True, "retention": True, "exact": True}}
        )


def main() -> None:
    """Do what is told until nothing more is."""
    spark = session()
    if spark is None:
        writes = Writes(DirectLane)
    else:
        from pubsub_delta.tables.lanes.spark import SparkLane

        writes = Writes(SparkLane)
    say(ready=True)
    for line in sys.stdin:
        plan = json.loads(line)
        try:
            work = Work(spark, plan["root"], Path(plan["journal"]))
            for call in plan["calls"]:
                writes.arm(plan.get("crash") if call is plan["calls"][-1] else None)
                work.do(call)
            say(writes=writes.count)
        except Exception as error:
            say(error=f"{class_name(error)}: {error}")


if __name__ == "__main__":
    main()
