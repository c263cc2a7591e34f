"""Histories made by hand: one second an operation, one after the other unless it is said otherwise.

story = Story()
story.publish("a")
lease = story.pull("a")
story.ack(lease)
assert story.violations() == {}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tests.histories.checker import kinds, violations
from tests.histories.records import History

SECOND = 1_000_000_000
MICROS = 1_000_000
NAME, TOPIC = "billing", "orders"
_FIELDS: dict[str, Any] = {
    "topic": TOPIC, "ordered": False, "exactly_once": False, "retains": False, "attempts": None,
    "retention": 7 * 86_400, "deadline": 10,
}  # fmt: skip


class Story:
    """A store with a topic and a subscription, and what processes say happened to them."""

    def __init__(self, **fields: Any) -> None:
        letters = {"undertaker": {**_FIELDS, "topic": "letters"}} if fields.get("attempts") else {}
        self.world: dict[str, Any] = {
            "topics": {TOPIC: {}, "letters": {}},
            "subscriptions": {NAME: {**_FIELDS, **fields}, "other": _FIELDS, **letters},
            "probes": {"probe": _FIELDS},
        }
        self.lines: list[dict[str, Any]] = []
        self.time = 0
        self._ops = self._leases = self._ids = 0
        self.ids: dict[str, str] = {}
        self.times: dict[str, int] = {}
        self.keys: dict[str, str] = {}
        self.uids: dict[str, str] = {}
        for topic in (TOPIC, *(["letters"] if letters else [])):
            self.op("create_topic", {"uid": f"t{topic}"}, topic=topic)
        for name in (NAME, *letters):
            self.create(name)

    def op(
        self,
        kind: str,
        done: dict[str, Any] | None = None,
        *,
        error: str | None = None,
        text: str = "",
        lasts: int = 1,
        by: str = "p.0",
        clock: float = 0.0,
        **args: Any,
    ) -> str:
        """Add an operation; without an answer and an error it was cut off by a kill."""
        self._ops += 1
        id_ = f"{by}/0/{self._ops}"
        begin = self.time * SECOND
        now = round((self.time + clock) * MICROS)
        self.lines.append({"id": id_, "op": kind, "now": now, "at": begin, **args})
        if done is not None:
            self.lines.append({"id": id_, "at": begin + lasts * SECOND - 1, "done": done})
        elif error is not None:
            end = begin + lasts * SECOND - 1
            self.lines.append({"id": id_, "at": end, "error": error, "text": text})
        self.time += lasts
        return id_

    def wait(self, seconds: int) -> None:
        self.time += seconds

    def kill(self, process: str) -> None:
        self.lines.append({"event": "kill", "process": process, "at": self.time * SECOND})

    def create(self, name: str = NAME) -> None:
        uid = f"u{len(self.uids)}{name}"
        self.uids[name] = uid
        topic = self.world["subscriptions"].get(name, _FIELDS)["topic"]
        self.op("create_subscription", {"uid": uid}, subscription=name, topic=topic)

    def delete(self, name: str = NAME) -> None:
        self.op("delete_subscription", {}, subscription=name)

    def publish(self, *texts: str, key: str = "", told: bool = True, **more: Any) -> None:
        for text in texts:
            self._ids += 1
            self.ids[text], self.keys[text] = str(self._ids), key
            self.times[text] = round((self.time + more.get("clock", 0.0)) * MICROS)
        done = {"ids": [[self.ids[text] for text in texts]]} if told else None
        messages = [[text, key] for text in texts]
        self.op("publish", done, topic=TOPIC, messages=messages, **more)

    def pull(self, *texts: str, name: str = NAME, seconds: int = 10, **more: Any) -> list[str]:
        """Give messages to somebody for so many seconds; return their ack ids."""
        self._leases += 1
        source = more.pop("source", "")
        uid = more.pop("uid", self.uids.get(name, ""))
        until = round((self.time + more.get("clock", 0.0) + seconds) * MICROS)
        rows = [
            {
                "ack_id": f"{uid}.{self._leases}.{self.ids.get(text, '0')}.1", "text": text,
                "message_id": more.get("ids", self.ids).get(text, "0"),
                "key": self.keys.get(text, ""), "publish_time": self.times.get(text, 0),
                "source": source,
            }
            for text in texts
        ]  # fmt: skip
        more.pop("ids", None)
        self.op("pull", {"messages": rows, "until": until}, subscription=name, **more)
        return [row["ack_id"] for row in rows]

    def ack(self, ids: Sequence[str], outcome: str = "success", **more: Any) -> None:
        self._answer("ack", ids, outcome, **more)

    def nack(self, ids: Sequence[str], outcome: str = "success", **more: Any) -> None:
        self._answer("nack", ids, outcome, **more)

    def extend(self, ids: Sequence[str], seconds: int, outcome: str = "success") -> None:
        self._answer("extend", ids, outcome, seconds=seconds)

    def _answer(self, kind: str, ids: Sequence[str], outcome: str, **more: Any) -> None:
        done = {outcome: list(ids)} if outcome else None
        name = more.pop("name", NAME)
        self.op(kind, done, subscription=name, ids=list(ids), **more)

    def seek(self, time: int, **more: Any) -> None:
        """Seek to a time, in seconds of the story."""
        self.op("seek_time", {}, subscription=NAME, time=time * MICROS, **more)

    def snapshot(self, name: str = NAME) -> None:
        self.op("create_snapshot", {"uid": f"s{self.time}"}, snapshot="noon", subscription=name)

    def seek_snapshot(self, name: str = NAME, **more: Any) -> None:
        self.op("seek_snapshot", {}, snapshot="noon", subscription=name, **more)

    def restore(self) -> None:
        self.op("restore", {"version": 1}, subscription=NAME, uid=self.uids[NAME])

    def end(self, *left: str, name: str = NAME) -> None:
        """Let the drain take what is left, and acknowledge it."""
        self.wait(1000)
        if left:
            self.ack(self.pull(*left, name=name), name=name)
        self.op("drained", {"left": 0}, subscription=name)

    def history(self) -> History:
        return History.of(self.world, self.lines)

    def violations(self) -> dict[str, int]:
        """Return what is found, counted by its kind."""
        found: Counter[str] = kinds(violations(self.history()))
        return dict(found)


def leased(**fields: bool) -> tuple[Story, list[str]]:
    """Return a story in which somebody holds ``a`` for ten seconds."""
    story = Story(**fields)
    story.publish("a")
    return story, story.pull("a")
