"""The job that drains a subscription into a table, on tables in memory and without Spark.

Waiting takes no time: the clock goes on by as long as the lease is waited upon.
"""

from __future__ import annotations

import threading
from contextlib import nullcontext
from typing import Any

import pytest
from click.testing import CliRunner

from pubsub_delta.errors import Unavailable
from pubsub_delta.jobs import consume, leases, outputs
from pubsub_delta.jobs.terminal import REFUSED
from tests.unit.in_memory import NAME, TOPIC, InMemory

TURNS = 12
PATIENCE = 5


class Slow:
    """A table whose writes take four times as long as a lease without an extension."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **fields: Any) -> None:
        self.world = InMemory(ack_deadline_seconds=10, **fields)
        self.rows: list[str] = []
        self.taken_by_others: list[str] = []
        self.turned = threading.Event()
        world, turned = self.world, self.turned

        class Waiting(threading.Event):
            turns = 0

            def wait(self, timeout: float | None = None) -> bool:
                if self.turns == TURNS:
                    turned.set()
                    return super().wait()
                self.turns += 1
                world.driver.clock.advance(timeout or 0)
                return self.is_set()

        monkeypatch.setattr(leases, "Event", Waiting)
        monkeypatch.setattr(consume, "local_session", lambda **_: None)
        monkeypatch.setattr(consume, "PubSub", lambda *_, **__: world.store)
        monkeypatch.setattr(consume, "transformed", lambda batch, _: Rows(batch))
        monkeypatch.setattr(outputs, "append", self._append)

    def _append(self, rows: Rows, *_: object, **__: object) -> None:
        if not self.turned.wait(PATIENCE):
            self.world.driver.clock.advance(40)
        self.taken_by_others += [each.data for each in self.world.pull()]
        self.rows += [each.data.decode() for each in rows.batch]

    def consume(self, most: int = 3, patience: int = 0, name: str = NAME) -> tuple[int, str]:
        given = ["--root", "x", "--subscription", name, "--output", "y"]
        limits = ["--max-batches", f"{most}", "--patience", f"{patience}"]
        done = CliRunner().invoke(consume.consume, [*given, *limits])
        return done.exit_code, done.output


class Rows:
    """The rows of a batch, as many files or as one."""

    def __init__(self, batch: Any) -> None:
        self.batch = batch

    def coalesce(self, _: int) -> Rows:
        return self


@pytest.mark.parametrize("exactly_once", [False, True])
def test_a_batch_that_takes_longer_than_its_lease_is_written_once(
    monkeypatch: pytest.MonkeyPatch, exactly_once: bool
) -> None:
    # "None is delivered for ever": its ack came too late each time, and it was written again.
    slow = Slow(monkeypatch, enable_exactly_once_delivery=exactly_once)
    slow.world.publish("a", "b")
    code, told = slow.consume()
    assert slow.taken_by_others == []
    assert slow.rows == ["a", "b"]
    assert code == 0, told
    assert "2 acked, 0 acked too late" in told
    assert slow.world.backlog() == {}


def test_a_lease_is_extended_by_the_deadline_that_its_batch_was_pulled_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An update of the deadline holds for the next pull, of a job that runs for hours, too."""
    slow = Slow(monkeypatch)
    slow.world.store.update_subscription(NAME, ack_deadline_seconds=600)
    slow.world.publish("a")
    append = slow._append

    def shorten(*args: Any, **more: Any) -> None:
        append(*args, **more)
        if slow.rows == ["a"]:
            slow.world.store.update_subscription(NAME, ack_deadline_seconds=10)
            slow.world.publish("b")
            slow.turned.clear()

    monkeypatch.setattr(outputs, "append", shorten)
    code, told = slow.consume()
    assert slow.taken_by_others == []
    assert (code, slow.rows) == (0, ["a", "b"]), told


def test_what_is_acked_after_its_lease_is_counted_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others may have been given it, so that it may be written twice: whoever runs the job is told.

    The lease ends though it is extended, as on a machine that slept.
    """
    slow = Slow(monkeypatch)
    monkeypatch.setattr(leases, "extended", lambda *_: nullcontext())
    monkeypatch.setattr(outputs, "append", lambda *_, **__: slow.world.driver.clock.advance(40))
    slow.world.publish("a", "b")
    code, told = slow.consume()
    assert (code, "0 acked, 2 acked too late" in told) == (0, True), told


@pytest.mark.parametrize(("waits", "code"), [(True, 0), (False, 4)])
def test_what_others_held_when_it_began_is_not_left_where_it_has_come(
    monkeypatch: pytest.MonkeyPatch, waits: bool, code: int
) -> None:
    """Exit code 4: "messages are left that other consumers hold"."""
    slow = Slow(monkeypatch)
    slow.turned.set()
    slow.world.publish("a")
    held = slow.world.store.pull(NAME)
    monkeypatch.setattr("pubsub_delta.jobs.consume.time.sleep", lambda _: held.nack())
    ended, told = slow.consume(most=1, patience=60 if waits else 0)
    assert (ended, slow.rows) == (code, ["a"] if waits else []), told
    assert ("1 left, held or waiting" in told) == (not waits)


def test_a_lease_is_extended_though_an_earlier_extension_has_failed() -> None:
    """As with a full disk: the next time may succeed, and the lease is not over before."""
    extended = threading.Event()

    class Batch:
        extensions = 0

        def modify_ack_deadline(self, _: int) -> None:
            self.extensions += 1
            if self.extensions == 1:
                raise Unavailable("the disk is full")
            extended.set()

    batch: Any = Batch()
    with leases.extended(batch, 0):
        assert extended.wait(PATIENCE)


def test_a_topic_is_no_subscription_to_consume(monkeypatch: pytest.MonkeyPatch) -> None:
    """NOT_FOUND, naming it: an id of a topic has metrics, too, but no backlog."""
    slow = Slow(monkeypatch)
    code, told = slow.consume(name=TOPIC)
    assert (code, f"NOT_FOUND: subscription projects/local/subscriptions/{TOPIC} " in told) == (
        REFUSED,
        True,
    )
    slow.turned.set()
    slow.world.store.create_topic(NAME)
    slow.world.publish("a")
    assert slow.consume()[0] == 0, "a topic of the same id changes nothing"
    assert slow.rows == ["a"]
