"""Whatever an argument of a method is, it gives a result or an error of the documented list."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple, cast

import pytest

import pubsub_delta
from pubsub_delta import MessageQuery
from pubsub_delta.errors import InvalidArgument, PubSubError
from tests.unit.in_memory import NAME, TOPIC, InMemory

VALUES: list[Any] = [
    *(None, True, -1, 0, 2**63, 2**200, 1e308, math.nan, math.inf, 0.5),
    *("", " ", "a\nb", "\x00", "\ud800", "é" * 2000, "x" * 100_000, b"", b"x" * 9, b"\xff"),
    *([], [None], [[]], (), {}, {1: 2}, {"a": math.nan}, {"é": "é"}, set(), range(3), object()),
    *(datetime(2026, 1, 1), datetime.max, timedelta.max, timedelta.min, int, len),
]
STARTS_SOMETHING = {
    "publisher",
    "subscribe",
    "process_stream",
    "publish_stream",
    "metrics_exporter",
}
"""Methods that return what runs until it is stopped."""
KINDS = ("topic", "subscription", "snapshot", "schema")


def methods() -> Iterator[str]:
    for name, found in inspect.getmembers(pubsub_delta.PubSub):
        if not name.startswith("_") and callable(found) and name not in STARTS_SOMETHING:
            yield name


def good(method: str, argument: str) -> Any:
    """Return a value that an argument may have, if it has to be given."""
    names = {"topic": TOPIC, "subscription": NAME, "snapshot": "before", "schema": "kinds"}
    kind = argument if argument in names else next((k for k in KINDS if k in method), "topic")
    given = {"messages": ["a"], "ack_ids": ["x"], "data": b"a", "attributes": {}, "role": "x"}
    return given.get(argument, names[kind])


def calls(method: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the calls of a method that have a single argument of VALUES."""
    of_method = list(inspect.signature(getattr(pubsub_delta.PubSub, method)).parameters.values())[
        1:
    ]
    named = [each for each in of_method if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)]
    needed = {each.name: good(method, each.name) for each in named if each.default is each.empty}
    for each in named:
        for value in VALUES:
            yield each.name, {**needed, each.name: value}


@pytest.mark.parametrize("method", list(methods()))
def test_no_argument_ends_in_an_error_of_another_class(method: str) -> None:
    """Bad input is refused by name, and so is what needs Spark."""
    store = InMemory().store
    store.create_snapshot("before", NAME)
    for argument, given in calls(method):
        told = ""
        try:
            getattr(store, method)(**given)
        except PubSubError as error:
            told = str(error)
        except Exception as error:
            pytest.fail(f"{method}: {argument}={given[argument]!r:.60}: {error!r:.200}")
        assert len(told) <= 3_000


@pytest.mark.parametrize("field", list(inspect.signature(MessageQuery).parameters))
@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{value!r:.20}")
def test_a_search_finds_or_refuses_by_name(field: str, value: Any) -> None:
    world = InMemory()
    world.publish("a", attributes={"k": "v"})
    try:
        query = MessageQuery(**{field: value})
    except InvalidArgument as error:
        assert str(error).startswith(f"query.{field}: ")  # noqa: PT017
        return
    with suppress(PubSubError):
        list(world.store.find_messages(f"projects/local/topics/{TOPIC}", query).messages())
    with suppress(PubSubError):
        list(world.store.find_messages(f"projects/local/subscriptions/{NAME}", query).messages())


@pytest.mark.parametrize("names", [5, [5], [None], object(), math.nan])
def test_an_exporter_of_what_is_no_name_is_refused_at_once(names: Any) -> None:
    """A program that exports metrics for months is told when it begins."""
    pytest.importorskip("prometheus_client")
    with pytest.raises(InvalidArgument, match="is not a name"):
        InMemory().store.metrics_exporter(names)


@pytest.mark.parametrize("field", ["message_id", "before", "after_version"])
def test_a_search_takes_every_number_that_a_message_can_have(field: str) -> None:
    """ "a whole number from 0 to 9223372036854775807"."""
    for number in (0, 2**63 - 1):
        given: dict[str, Any] = {field: number}
        assert getattr(MessageQuery(**given), field) == number
    for number in (-1, 2**63):
        given = {field: number}
        with pytest.raises(InvalidArgument, match=rf"query\.{field}: {number}; a whole"):
            MessageQuery(**given)


def test_a_search_goes_by_a_query_alone() -> None:
    asked: Any = "a"
    with pytest.raises(InvalidArgument, match="is not a MessageQuery"):
        InMemory().store.find_messages(f"projects/local/topics/{TOPIC}", asked)


def test_the_last_time_of_a_search_is_the_earlier_microsecond_and_the_first_the_later() -> None:
    fine: Any = "2026-01-01T00:00:00.000001999Z"
    query = MessageQuery(earliest=fine, latest=fine)
    assert query.earliest is not None
    assert query.latest is not None
    assert (query.earliest.microsecond, query.latest.microsecond) == (2, 1)


async def _awaited(*_: object) -> None: ...


def _iterated(*_: object) -> Iterator[None]:
    yield


class _Awaited:
    async def __call__(self, *_: object) -> None: ...


@pytest.mark.parametrize("function", [_awaited, _iterated, _Awaited(), partial(_awaited, 1), None])
def test_a_function_whose_body_no_call_runs_is_refused(function: Any) -> None:
    """Its messages would never be acknowledged; those of a query would be, and not processed."""
    store = InMemory().store
    with pytest.raises(InvalidArgument, match=r"callback: .*; a function .* is accepted"):
        store.subscribe(NAME, function)
    with pytest.raises(InvalidArgument, match=r"process: .*; a function .* is accepted"):
        store.subscribe_stream(NAME, function, checkpoint_location="/c")


class Column:
    """As a Column of Spark: it has every attribute, is no truth, and is iterated by nobody."""

    def __getattr__(self, name: str) -> Column:
        return Column()

    def __bool__(self) -> bool:
        raise ValueError("CANNOT_CONVERT_COLUMN_INTO_BOOL")

    def __iter__(self) -> Iterator[None]:
        raise TypeError("NOT_ITERABLE")


def test_a_column_is_no_dataframe() -> None:
    """Each call that takes a DataFrame says what it takes, and no error of Spark's comes out."""
    world, column = InMemory(), cast(Any, Column())
    with pytest.raises(InvalidArgument, match="a Column is neither a DataFrame nor iterable"):
        world.store.publish(TOPIC, column)
    with pytest.raises(InvalidArgument, match=r"a Column; a DataFrame is accepted"):
        world.store.check_messages(column)
    with pytest.raises(InvalidArgument, match=r"ack_ids: .* list of ack ids"):
        world.store.acknowledge(NAME, column)


@pytest.mark.parametrize("place", ["", " ", "/", "//", " / "])
def test_a_checkpoint_has_a_directory_of_its_own(place: str) -> None:
    """The root of a disk is nobody's own, and Spark's error of it names no argument."""
    store = InMemory().store
    with pytest.raises(InvalidArgument, match=f"^checkpoint_location: {place!r}"):
        store.subscribe_stream(NAME, lambda *_: None, checkpoint_location=place)


class FlowControlOfGoogle(NamedTuple):
    """Settings as ``google.cloud.pubsub_v1.types.FlowControl`` has them."""

    max_bytes: int = 100 * 1024 * 1024
    max_messages: int = 1000
    max_lease_duration: float = 3600


@pytest.mark.parametrize("given", [FlowControlOfGoogle(), {"max_messages": 1}, None])
def test_settings_of_another_kind_are_refused(given: Any) -> None:
    """A publisher took them, and each ``publish`` ended in an AttributeError."""
    store, wanted = InMemory().store, r"; a pubsub_delta\.{} is accepted"
    with pytest.raises(InvalidArgument, match="flow_control: .*" + wanted.format("FlowControl")):
        store.subscribe(NAME, print, flow_control=given)
    for field, kind in (
        ("batch_settings", "BatchSettings"),
        ("flow_control", "PublishFlowControl"),
    ):
        with pytest.raises(InvalidArgument, match=f"{field}: .*" + wanted.format(kind)):
            store.publisher(TOPIC, **{field: given})


def switches() -> Iterator[tuple[str, str]]:
    """Return the arguments of all methods that are true or false."""
    for name, method in inspect.getmembers(pubsub_delta.PubSub, inspect.isfunction):
        for each in inspect.signature(method).parameters.values():
            if not name.startswith("_") and each.annotation in ("bool", "bool | None"):
                yield name, each.name


@pytest.mark.parametrize(("method", "switch"), list(switches()))
@pytest.mark.parametrize("value", ["false", "no", 0, 1], ids=repr)
def test_what_is_neither_true_nor_false_is_no_switch(method: str, switch: str, value: Any) -> None:
    """A widget and a parameter of a job are texts, and the text "false" is true in Python."""
    world = InMemory()
    world.publish("a")
    world.ack("a")
    world.be_at(1)
    of_method = inspect.signature(getattr(world.store, method)).parameters.values()
    needed = {
        each.name: good(method, each.name)
        for each in of_method
        if each.default is each.empty and each.kind is not each.VAR_KEYWORD
    }
    with pytest.raises(InvalidArgument, match=f"{switch}: .* neither True nor False"):
        getattr(world.store, method)(**needed, **{switch: value})
    assert world.stored() == ["a"]
