"""What a query of ``subscribe_stream`` does with its micro-batches, without Spark."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from traceback import format_exception
from types import SimpleNamespace
from typing import Any

import pytest

from pubsub_delta import (
    DeadLetterPolicy,
    FailedPrecondition,
    InvalidArgument,
    Unavailable,
)
from pubsub_delta.delivery.leases import Lease
from pubsub_delta.operations import pull
from pubsub_delta.streaming import QueryExited, QueryStopped, _Consuming, _stop_when_drained
from tests.unit.in_memory import LETTERS, NAME, InMemory


class Query:
    """A query as Spark shows it; ``error``: what a question to its JVM ends in."""

    id = "query"

    def __init__(self, *, active: bool = True, error: Exception | None = None) -> None:
        self._active = active
        self._error = error

    @property
    def isActive(self) -> bool:
        if self._error is not None:
            raise self._error
        return self._active

    def stop(self) -> None:
        self._active = False


class Ticks:
    """The rows that drive a micro-batch which was not planned before."""

    def collect(self) -> list[dict[str, bool]]:
        return [{"repeated": False}]


class Failed(Exception):
    """The function of a query fails, or is interrupted."""


def consuming(
    world: InMemory,
    query: Query,
    process: Callable[[object, int], None],
    max_messages: int | None = None,
) -> Any:
    """Return what Spark calls for each micro-batch of a query."""
    name, uid = world.store._subscription(NAME), world.store.get_subscription(NAME).uid
    clock = world.driver.clock
    made = _Consuming(world.tables, name, "/checkpoint", clock, uid, process, max_messages)
    started: Any = made._started
    started.set_result(query)
    return made


def test_a_jvm_that_is_gone_leaves_no_lease_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    # "None is held for ever": the program goes on, and so would the extension of the lease.
    world = InMemory()
    world.publish("a", "b")
    monkeypatch.setattr(Lease, "df", "the messages")

    def process(messages: object, batch_id: int) -> None:
        assert (messages, batch_id) == ("the messages", 0)
        assert world.backlog() == {"a": "leased", "b": "leased"}
        raise ConnectionRefusedError("no answer of the JVM")

    query = Query(error=ConnectionRefusedError("Connection refused"))
    with pytest.raises(QueryStopped):
        consuming(world, query, process)(Ticks(), 0)
    assert [each.data for each in world.pull()] == ["a", "b"]


@pytest.mark.parametrize(("active", "attempt"), [(False, 1), (True, 2)])
def test_only_a_query_that_was_not_stopped_has_failed(
    active: bool, attempt: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # "If process fails, that is a nack"; a query that is stopped gives its messages back
    world = InMemory(dead_letter_policy=DeadLetterPolicy(LETTERS))
    world.publish("a")
    monkeypatch.setattr(Lease, "df", None)

    def fail(_: object, __: int) -> None:
        raise Failed

    with pytest.raises(Failed if active else QueryStopped):
        consuming(world, Query(active=active), fail)(Ticks(), 0)
    (message,) = world.store.pull(NAME)
    assert message.delivery_attempt == attempt


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_an_exit_ends_its_query_as_any_error_does(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Py4J hands on exceptions alone: a query whose function called ``sys.exit`` hung."""
    world = InMemory()
    world.publish("a")
    monkeypatch.setattr(Lease, "df", None)

    def leave(_: object, __: int) -> None:
        raise error

    with pytest.raises(QueryExited, match=f"it has ended by {type(error).__name__}") as told:
        consuming(world, Query(), leave)(Ticks(), 0)
    assert isinstance(told.value, Exception)
    assert world.backlog() == {"a": "available"}


def test_an_error_that_py4j_does_not_send_is_told_in_text_that_it_sends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A file may have a name that is no Unicode: "Error while sending a command" was all."""
    world = InMemory()
    world.publish("a")
    monkeypatch.setattr(Lease, "df", None)

    def open_file(_: object, __: int) -> None:
        try:
            raise FileNotFoundError("b\udcff.csv is not there")
        except FileNotFoundError as error:
            raise ValueError("no input") from error

    with pytest.raises(QueryExited, match="ValueError: no input") as told:
        consuming(world, Query(), open_file)(Ticks(), 0)
    sent = "".join(format_exception(told.value)).encode()
    assert rb"FileNotFoundError: b\udcff.csv is not there" in sent
    assert world.backlog() == {"a": "available"}


@pytest.mark.parametrize(("active", "held"), [(False, {}), (True, {"a": "leased"})])
def test_what_was_leased_while_its_query_was_stopped_is_given_back(
    active: bool, held: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was stopped is given back: by Spark's lane the stop can hide the lease's answer.

    A query that goes on, or is started again, has it still.
    """
    world = InMemory(dead_letter_policy=DeadLetterPolicy(LETTERS))
    world.publish("a")
    leased = pull.pull_micro_batch

    def interrupted(*given: Any, **more: Any) -> None:
        leased(*given, **more)
        raise Failed

    monkeypatch.setattr(pull, "pull_micro_batch", interrupted)
    with pytest.raises(Failed if active else QueryStopped):
        consuming(world, Query(active=active), lambda *_: None)(Ticks(), 0)
    assert world.backlog() == (held or {"a": "available"})
    if not active:
        (message,) = world.store.pull(NAME)
        assert message.delivery_attempt == 1


def test_available_now_takes_what_failed_before_it_and_not_what_comes_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ "The run ends when each message that was available when it began has been offered once"."""
    monkeypatch.setattr(Lease, "df", None)
    world = InMemory()
    world.publish("a", "b", "c")
    world.store.pull(NAME).nack()
    seen = []

    def process(_: object, __: int) -> None:
        seen.append(sorted(each for each, state in world.backlog().items() if state == "leased"))
        world.publish("d", "e")

    run = consuming(world, Query(), process, max_messages=2)
    run.drain()
    for batch_id in range(5):
        run(Ticks(), batch_id)
    assert seen == [["a", "b"], ["c"]]
    assert run.drained_at is not None
    assert sorted(world.backlog()) == ["d", "e"]


def test_a_query_counts_the_messages_that_its_function_has_returned_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those of other consumers, and of a micro-batch that failed, are none of its own."""
    monkeypatch.setattr(Lease, "df", None)
    world = InMemory()
    world.publish("a", "b", "c", "d")
    world.store.pull(NAME, 1).ack()
    told: list[int] = []

    errors = {1: [Failed()]}

    def process(_: object, batch_id: int) -> None:
        for error in errors.pop(batch_id, []):
            raise error

    query = consuming(world, Query(), process, max_messages=2)
    query._metrics = SimpleNamespace(write=lambda _, processed: told.append(processed))
    query(Ticks(), 0)
    with pytest.raises(Failed):
        query(Ticks(), 1)
    query(Ticks(), 1)
    query(Ticks(), 2)
    assert sorted(set(told)) == [0, 2, 3]


def test_a_run_ends_though_its_session_keeps_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """With ``spark.sql.streaming.numRecentProgressUpdates=1`` Spark drops each report at once."""
    monkeypatch.setattr(Lease, "df", None)
    world = InMemory()
    world.publish("a")
    query = Query()
    monkeypatch.setattr(query, "lastProgress", None, raising=False)
    run = consuming(world, query, lambda *_: None)
    run.drain()
    for batch_id in range(2):
        run(Ticks(), batch_id)
    ending = Thread(target=_stop_when_drained, args=(query, run), daemon=True)
    ending.start()
    ending.join(0.3)
    assert query.isActive  # Spark has not recorded the end of the last one
    run(Ticks(), 2)
    ending.join(10)
    assert not query.isActive


class Writer:
    """A DataStreamWriter whose ``start`` fails as Spark does."""

    def __init__(self, text: str) -> None:
        self._text = text

    def foreachBatch(self, _: object) -> Writer:
        return self

    def option(self, *_: str) -> Writer:
        return self

    def start(self) -> None:
        raise RuntimeError(f"An error occurred while calling o119.start.\n: {self._text}")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("org.apache.hadoop.fs.FSError: java.io.IOException: No space left on device", Unavailable),
        (
            "org.apache.hadoop.fs.ParentNotDirectoryException: Parent path is not a directory: "
            "file:/checkpoint",
            InvalidArgument,
        ),
        ("java.io.FileNotFoundException: /checkpoint/m (Permission denied)", FailedPrecondition),
    ],
)
def test_a_checkpoint_that_cannot_be_written_is_told(text: str, error: type[Exception]) -> None:
    """Spark told an error of Java, as it writes the checkpoint before the query begins."""
    rows: Any = SimpleNamespace(writeStream=Writer(text))
    with pytest.raises(error, match=r"^checkpoint_location: .*/checkpoint"):
        consuming(InMemory(), Query(), lambda *_: None).start(rows, {})
