"""Ctrl-C at lines of the library that are drawn by a seed; what follows finds a store that works.

Jupyter: "interrupt kernel" raises KeyboardInterrupt in a cell, and the next cell goes on with the
same store.
"""

from __future__ import annotations

import linecache
import os
import random
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import pubsub_delta
from pubsub_delta import DeadLetterPolicy, ManualClock, Message, PubSub
from tests.model.drivers import MemoryPubSub
from tests.model.memory import MemoryTables, World
from tests.unit.builders import START

LIBRARY = str(Path(pubsub_delta.__file__).parent)
LINES = int(os.environ.get("LINES_INTERRUPTED", "100"))
SEED = int(os.environ.get("SEED", "1"))
LONG = 60
TO_DEAD = DeadLetterPolicy("dead", 5)


@dataclass
class Interrupt:
    """Ctrl-C when a call comes to its ``number``-th line of the library. ``lines``: those it had.

    Python looks for signals after calls and jumps. So none comes between the end of a ``with``
    block and the release of its lock, and such lines do not count.
    """

    number: int
    lines: int = 0

    def during(self, call: Callable[[], object]) -> None:
        sys.settrace(self._begin)
        try:
            call()
        finally:
            sys.settrace(None)

    def _begin(self, frame: FrameType, event: str, _: Any) -> Any:
        return self._go_on if frame.f_code.co_filename.startswith(LIBRARY) else None

    def _go_on(self, frame: FrameType, event: str, _: Any) -> Any:
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
        if event == "line" and not line.lstrip().startswith("with "):
            self.lines += 1
            if self.lines == self.number:
                raise KeyboardInterrupt
        return self._go_on


def fail_five_times(store: PubSub) -> None:
    for _ in range(5):
        store.pull("failing").nack()
    store.pull("failing")


OPERATIONS: dict[str, Callable[[PubSub], object]] = {
    "publish": lambda store: store.publish("orders", ["x", "y"], idempotency_id=("till", 1)),
    "pull and ack": lambda store: store.pull("ordered").ack(),
    "pull and nack": lambda store: store.pull("once", 2).nack(),
    "pull with a filter": lambda store: list(store.pull("filtered")),
    "ack by ids": lambda store: store.acknowledge("once", [m.ack_id for m in store.pull("once")]),
    "dead letters": fail_five_times,
    "seek": lambda store: store.seek("failing", snapshot="kept"),
    "create a snapshot": lambda store: store.create_snapshot("taken", "failing"),
    "create a subscription": lambda store: store.create_subscription(
        "audit", "orders", dead_letter_policy=TO_DEAD
    ),
    "update": lambda store: store.update_subscription("ordered", dead_letter_policy=TO_DEAD),
    "delete a topic": lambda store: store.delete_topic("orders"),
    "maintain": lambda store: store.maintain(),
}


def prepared() -> tuple[PubSub, PubSub]:
    """Return a store in which there is something for each operation, and another process of it."""
    world, clock = World(), ManualClock(START)
    store = MemoryPubSub(MemoryTables(world), clock)
    for topic in ("orders", "dead"):
        store.create_topic(topic)
    store.create_subscription("letters", "dead")
    store.create_subscription("failing", "orders", dead_letter_policy=TO_DEAD)
    store.create_subscription("ordered", "orders", enable_message_ordering=True)
    store.create_subscription("once", "orders", enable_exactly_once_delivery=True)
    store.create_subscription("filtered", "orders", filter='attributes.odd = "1"')
    messages = [Message(b"%d" % n, {"odd": str(n % 2)}, str(n % 2)) for n in range(6)]
    store.publish("orders", messages)
    store.create_snapshot("kept", "filtered")
    store.pull("failing", 2).nack()
    return store, MemoryPubSub(MemoryTables(world), clock)


def names(store: PubSub) -> list[str]:
    listed = (store.list_topics(), store.list_subscriptions(), store.list_snapshots())
    return [each.name for page in listed for each in page]


def use(store: PubSub, other: PubSub) -> None:
    """Do something with all that there is, and see what the other process sees."""
    assert names(store) == names(other)
    for topic in store.list_topics():
        store.publish(topic.name, [Message(b"later", {"odd": "1"})])
    for each in store.list_subscriptions():
        if each.topic.endswith("/topics/orders") or each.topic.endswith("/topics/dead"):
            batch = store.pull(each.name)
            assert b"later" in [message.data for message in batch]
            batch.ack()
    store.maintain()
    assert names(store) == names(other)


def within(seconds: float, call: Callable[[], object]) -> None:
    """Call in a thread, and raise what it raises; fail where it waits for ever."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        stack = traceback.format_stack(sys._current_frames()[thread.ident or 0])
        pytest.fail(f"it waits: {''.join(stack[-4:])}")
    for error in raised:
        raise error


def drawn(name: str, most: int) -> list[int]:
    """Return so many lines of an operation, by number, or all of them."""
    whole = Interrupt(0)
    whole.during(partial(OPERATIONS[name], prepared()[0]))
    assert whole.lines > 100
    numbers = range(1, whole.lines + 1)
    return random.Random(f"{SEED} {name}").sample(numbers, min(most, whole.lines))


def interrupt_and_go_on(name: str, most: int) -> None:
    for number in drawn(name, most):
        store, other = prepared()
        with pytest.raises(KeyboardInterrupt):
            Interrupt(number).during(partial(OPERATIONS[name], store))
        within(LONG, partial(use, store, other))


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_store_goes_on_wherever_a_call_was_interrupted(name: str) -> None:
    interrupt_and_go_on(name, 4)


@pytest.mark.trial
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_store_goes_on_at_many_lines(name: str) -> None:
    interrupt_and_go_on(name, LINES)
