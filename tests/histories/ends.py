"""The beginning and the end of a history: its resources are created; what is left is drained.

The drain looks at everything when all leases are over. Whatever comes then it acknowledges, so what
was never acknowledged is lost. What a snapshot holds it gets by a seek of a new subscription.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pubsub_delta import NotFound
from tests.histories.plans import Step
from tests.histories.worker import Process, Worker

_MOST_ROUNDS = 40


class End(Worker):
    """A thread that decides by itself what comes next."""

    def __init__(self, process: Process) -> None:
        super().__init__(process, 0, [])
        self._step = -1

    def do(self, op: str, **step: Any) -> Any:
        """Take one more step."""
        self._step += 1
        return self.take({"op": op, **step})

    def look(self, kind: str, resources: Callable[[], Any]) -> list[str]:
        """List something, and write down what was there."""
        self._step += 1

        def names() -> dict[str, Any]:
            return {"names": [each.name.rsplit("/", 1)[1] for each in resources()]}

        done = self._call(f"list_{kind}s", names)
        return list(done["names"]) if done else []

    def empty(self, subscription: str) -> None:
        """Acknowledge everything that a subscription has; tell how much it has afterwards."""
        for _ in range(_MOST_ROUNDS):
            if not (self.do("pull", subscription=subscription) or {}).get("messages"):
                break
            whole: Step = {"share": 1.0, "whole": True, "keep": False, "seconds": 0}
            self.do("ack", subscription=subscription, **whole)
        self._step += 1

        def left() -> dict[str, Any]:
            found = self._store.metrics(subscription)["num_undelivered_messages"]
            return {"left": int(found)}

        self._call("drained", left, subscription=subscription)


def setup(process: Process) -> None:
    """Create what the plan is about."""
    one = End(process)
    for topic in sorted(process.plan["world"]["topics"]):
        one.do("create_topic", topic=topic)
    for subscription in process.plan["world"]["subscriptions"]:
        one.do("create_subscription", subscription=subscription)


def drain(process: Process) -> None:
    """Take everything that is left."""
    one, store = End(process), process.store
    one.look("topic", store.list_topics)
    present = one.look("subscription", store.list_subscriptions)
    snapshots = one.look("snapshot", store.list_snapshots)
    one.do("maintain")
    for subscription in sorted(present, key=lambda name: name == "undertaker"):
        one.empty(subscription)
    for snapshot in snapshots:
        with suppress(NotFound):
            topic = store.get_snapshot(snapshot).topic.rsplit("/", 1)[-1]
            probe = f"probe-{snapshot}-{topic}"
            if topic not in process.plan["world"]["topics"]:
                continue  # it was deleted
            if one.do("create_subscription", subscription=probe) is None:
                continue
            if one.do("seek_snapshot", subscription=probe, snapshot=snapshot) is not None:
                one.empty(probe)
