"""The steps of the search are those of the library: on real tables the same commits come in turn.

An operation runs once on tables in memory and once on real ones by the direct lane. Each commit is
told by its table, and by the function that made it. The order below is the protocol.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pubsub_delta import DeadLetterPolicy, ManualClock, PubSub
from pubsub_delta.tables.lanes.direct.tables import DirectLane
from pubsub_delta.tables.lanes.protocol import TableMissing
from tests.model.drivers import MemoryDriver
from tests.model.memory_lane import MemoryLane
from tests.protocol.stepping import WRITES, functions
from tests.unit.builders import MINUTE, at

Verb = Callable[[PubSub], object]
WRITTEN = [each for each in WRITES if each != "restore"]


def begin(store: PubSub) -> None:
    """Make a message that is exhausted, one that is not, and one that only a snapshot holds."""
    store.create_topic("letters")
    store.create_topic("flights")
    policy = DeadLetterPolicy("letters", 5)
    store.create_subscription("first", "flights", dead_letter_policy=policy)
    store.create_subscription("held", "flights")
    store.publish("flights", ["a"])
    for _ in range(5):
        store.pull("first").nack()
    store.create_snapshot("before", "held")
    store.pull("held").ack()
    clock: Any = store.clock
    clock.advance(1)
    store.publish("flights", ["b"])


PROTOCOL: dict[str, tuple[Verb, list[str]]] = {
    "publish": (
        lambda store: store.publish("flights", ["c"]),
        [
            "merge positions/flights <- operations.publish.publish",
            "append messages/flights <- operations.publish.publish",
        ],
    ),
    "create a snapshot": (
        lambda store: store.create_snapshot("after", "held"),
        [
            "merge snapshots <- operations.snapshot.create_snapshot",
            "create snapshot/after <- operations.snapshot._completed",
            "merge snapshots <- operations.snapshot._completed",
        ],
    ),
    "delete a snapshot": (
        lambda store: store.delete_snapshot("before"),
        [
            "merge snapshots <- operations.snapshot.delete_snapshot",
            "drop snapshot/before <- operations.snapshot.delete_snapshot",
            "delete snapshots <- operations.snapshot.delete_snapshot",
        ],
    ),
    "seek to a time": (
        lambda store: store.seek("held", time="2026-01-01T00:00:00Z"),
        ["swap ack_state/held <- operations.seek._noted"],
    ),
    "seek to a snapshot": (
        lambda store: store.seek("held", snapshot="before"),
        ["swap ack_state/held <- operations.seek._noted"],
    ),
    "pull with a dead letter": (
        lambda store: store.pull("first"),
        [
            "swap ack_state/first <- delivery.consuming.commit",
            "merge positions/letters <- delivery.dead_letters._append",
            "append messages/letters <- delivery.dead_letters._append",
            "swap ack_state/first <- delivery.dead_letters.forward",
        ],
    ),
    "maintain: dead letters": (
        lambda store: store.maintain(retention=False, expiration=False),
        [
            "swap ack_state/first <- operations.maintain._forward",
            "merge positions/letters <- delivery.dead_letters._append",
            "append messages/letters <- delivery.dead_letters._append",
            "swap ack_state/first <- delivery.dead_letters.forward",
        ],
    ),
    "maintain: retention": (
        lambda store: (
            store.delete_subscription("first"),
            store.delete_snapshot("before"),
            store.maintain(exact=True),
        ),
        [
            "delete subscriptions <- operations.administer.delete_subscription",
            "merge snapshots <- operations.snapshot.delete_snapshot",
            "drop snapshot/before <- operations.snapshot.delete_snapshot",
            "delete snapshots <- operations.snapshot.delete_snapshot",
            "append messages/flights <- delivery.discard.discard",
            "delete messages/flights <- delivery.discard.discard",
        ],
    ),
    "ack": (
        lambda store: store.pull("held").ack(),
        [
            "swap ack_state/held <- delivery.consuming.commit",
            "swap ack_state/held <- operations.acknowledge._apply",
        ],
    ),
    "delete a subscription": (
        lambda store: store.delete_subscription("held"),
        ["delete subscriptions <- operations.administer.delete_subscription"],
    ),
    "create a subscription": (
        lambda store: store.create_subscription("new", "flights"),
        [
            "create ack_state/new <- operations.administer.create_subscription",
            "merge subscriptions <- operations.administer.create_subscription",
        ],
    ),
}


def recorded(monkeypatch: pytest.MonkeyPatch, lane: type) -> list[tuple[str, str, str]]:
    """Return a list that takes each commit of a lane: method, table, and function."""
    commits: list[tuple[str, str, str]] = []
    inside: list[str] = []

    def version(of: Any, table: str) -> int:
        try:
            return int(of.version(table))
        except TableMissing:
            return -1

    def recording(name: str) -> Callable[..., Any]:
        method = getattr(lane, name)

        def called(self: Any, *args: Any, **named: Any) -> Any:
            if inside:  # a call that another one makes
                return method(self, *args, **named)
            table = args[0]
            before = version(self, table)
            inside.append(name)
            try:
                return method(self, *args, **named)
            finally:
                inside.pop()
                if version(self, table) > before:
                    commits.append((name, table, functions()))

        return called

    for each in WRITTEN:
        monkeypatch.setattr(lane, each, recording(each))
    return commits


def shown(commits: list[tuple[str, str, str]], names: dict[str, str]) -> list[str]:
    """Write each commit with the name of its table, and the function of an operation."""
    found = []
    for method, table, step in commits:
        *_, kind, last = re.split(r"[/`]", table.rstrip("`"))
        at_ = f"{kind}/{names[last]}" if last in names else last
        verbs = [each for each in step.split(" < ") if each.startswith(("operations", "delivery"))]
        found.append(f"{method} {at_} <- {verbs[0]}")
    return found


def names_of(store: PubSub) -> dict[str, str]:
    resources: list[Any] = [*store.list_topics(), *store.list_subscriptions()]
    resources += store.list_snapshots()
    return {each.uid: each.name.rpartition("/")[2] for each in resources}


def commits_of(
    verb: Verb, open_store: Callable[[float], PubSub], lane: type, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    begin(open_store(0))
    store = open_store(MINUTE)
    names = names_of(store)
    with monkeypatch.context() as patch:
        commits = recorded(patch, lane)
        verb(store)
    return shown(commits, {**names, **names_of(open_store(MINUTE))})


def in_memory() -> Callable[[float], PubSub]:
    driver = MemoryDriver()
    return lambda seconds: driver._open(ManualClock(at(seconds)))


def on_disk(root: Path) -> Callable[[float], PubSub]:
    return lambda seconds: PubSub(None, str(root), clock=ManualClock(at(seconds)), lane="direct")


@pytest.mark.parametrize("name", PROTOCOL)
def test_an_operation_makes_these_commits_in_this_order(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verb, protocol = PROTOCOL[name]
    searched = commits_of(verb, in_memory(), MemoryLane, monkeypatch)
    assert searched == protocol
    assert commits_of(verb, on_disk(tmp_path / "store"), DirectLane, monkeypatch) == searched
