"""What transforms, durations and projections make of values at the rims of each rule."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from pubsub_delta.cli.formats import parse_format, projected
from pubsub_delta.cli.grammar.context import Context
from pubsub_delta.cli.grammar.time_transforms import read_as_time
from pubsub_delta.cli.grammar.transforms import bound
from pubsub_delta.cli.periods import Period, parse_period
from pubsub_delta.cli.printing import render
from pubsub_delta.cli.shell_lines import CONTINUED, PROMPT, commands
from pubsub_delta.cli.times import parse_duration
from pubsub_delta.errors import InvalidArgument

UTC = timezone.utc
NOW = datetime(2026, 11, 21, 15, 30, tzinfo=UTC)
NEW_YORK = ZoneInfo("America/New_York")


def made(value: Any, calls: str) -> Any:
    (column,) = parse_format(f"value(a.{calls})").columns
    return column.of({"a": value})


@pytest.mark.parametrize(
    ("value", "calls", "text"),
    [
        (0, "size()", "0"),
        (1, "size()", "1 bytes"),
        (1023, "size()", "1023 bytes"),
        (1024, "size()", "1 KiB"),
        (1536, "size()", "1.5 KiB"),
        (1024**2 - 1, "size()", "1024.0 KiB"),
        (1024**2, "size()", "1 MiB"),
        (1024**3 * 2.5, "size()", "2.5 GiB"),
        (1024**4, "size()", "1 TiB"),
        (1024**5, "size()", "1 PiB"),
        (1024**6, "size()", "1024 PiB"),
        (1536, "size(precision=3)", "1.500 KiB"),
        (5, "size(units_in=MiB)", "5 MiB"),
        (5, "size(min=10)", "< 10 bytes"),
        ("no number", "size()", "0 bytes"),
        ("one\nTWO", "sub(^two, 2)", "one\n2"),
        ("one\ntwo", "sub(e.t, -)", "on-wo"),
        ("ONE two", "sub(one, 1)", "1 two"),
        ("ONE two", "sub(one, 1, 0, false)", "ONE two"),
        ("aaa", "sub(a, b)", "bbb"),
        ("aaa", "sub(a, b, 2)", "bba"),
        (7, "sub(a, b)", 7),
    ],
)
def test_a_transform_takes_values_on_both_sides_of_its_bounds(
    value: Any, calls: str, text: Any
) -> None:
    """ "gcloud topic projections": size scales by 1024; sub replaces in all lines, of any case."""
    assert made(value, calls) == text


def of_defaults(value: Any, one: str, two: str = "2") -> str:
    return f"{value}{one}{two}"


def of_none(value: Any, one: str, two: str) -> str:
    return f"{value}{one}{two}"


def of_any(value: Any, *plain: str, **named: str) -> str:
    return f"{value}{plain}{named}"


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (of_defaults, ["1"], (["1"], {})),
        (of_defaults, ["1", "two=3"], (["1"], {"two": "3"})),
        (of_defaults, ["two=3", "1"], (["1"], {"two": "3"})),
        (of_defaults, ["one=1", "two=a=b"], ([], {"one": "1", "two": "a=b"})),
        (of_defaults, ["three=3"], (["three=3"], {})),  # it is no argument: text
        (of_none, ["one=1", "2"], (["one=1", "2"], {})),
        (of_any, ["1", "a=b", "="], (["1"], {"a": "b", "": ""})),
        (of_defaults, [], "f(): these arguments are not accepted; f(one, two=2) is accepted"),
        (
            of_defaults,
            ["1", "2", "3"],
            "f(1, 2, 3): these arguments are not accepted; f(one, two=2) is accepted",
        ),
        (of_none, ["1"], "f(1): these arguments are not accepted; f(one, two) is accepted"),
    ],
)
def test_the_arguments_of_a_transform_are_named_where_it_has_defaults(
    function: Callable[..., str], arguments: list[str], expected: object
) -> None:
    """A function without defaults has no named arguments, so its arguments may contain "="."""
    if isinstance(expected, str):
        with pytest.raises(InvalidArgument) as error:
            bound("f", function, arguments)
        assert str(error.value) == expected
    else:
        assert bound("f", function, arguments) == expected


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("1ms", 1_000),
        ("250ms", 250_000),
        ("1us", 1),
        ("1000ns", 1),
        ("1500000000ns", 1_500_000),
        ("0.5ms", 500),
        ("2MS", 2_000),
        ("1", 1_000_000),
        ("0.5", 500_000),
    ],
)
def test_fractions_of_a_second_have_units(text: str, microseconds: int) -> None:
    assert parse_duration(text, "ttl") == timedelta(microseconds=microseconds)


@pytest.mark.parametrize(
    ("text", "months", "days"),
    [
        ("P1M", 1, 0),
        ("P1.5M", 1, 15),
        ("P0.1M", 0, 3),
        ("P12M", 12, 0),
        ("P1W", 0, 7),
        ("P1.5W", 0, 10.5),
        ("P2W3D", 0, 17),
        ("2W3D", 0, 17),
    ],
)
def test_fractions_of_months_are_days(text: str, months: int, days: float) -> None:
    found = parse_period(text)
    assert (found.years, found.months, float(found.days)) == (0, months, days)
    assert parse_period(f"-{text}") == Period(
        found.years, found.months, found.days, found.seconds, negative=True
    )


@pytest.mark.parametrize(
    ("text", "zone", "shown"),
    [
        ("2026-01-01T00:00:00", None, "2026-01-01T00:00:00+00:00"),
        ("2026-01-01T00:00:00", NEW_YORK, "2026-01-01T00:00:00-05:00"),
        ("2026-07-01T00:00:00", NEW_YORK, "2026-07-01T00:00:00-04:00"),
        ("2026-01-01T00:00:00Z", NEW_YORK, "2026-01-01T00:00:00+00:00"),
        ("2026-01-01T00:00:00-05:30", None, "2026-01-01T00:00:00-05:30"),
        ("2026-01-01T00:00:00+0130", NEW_YORK, "2026-01-01T00:00:00+01:30"),
    ],
)
def test_a_time_keeps_the_zone_that_it_names_or_that_is_assumed(
    text: str, zone: ZoneInfo | None, shown: str
) -> None:
    found = read_as_time(text, Context(NOW, UTC), zone)
    assert found is not None
    assert found.isoformat() == shown


RECORD = {"a": [{"b": 1, "c": 2}, {"c": 3}, {"b": 4}], "d": {"e": None, "f": []}, "g": 5}


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        ("", RECORD),
        ("g", {"g": 5}),
        ("absent", None),
        ("a[].b", {"a": [{"b": 1}, None, {"b": 4}]}),
        ("a[0].c", {"a": [{"c": 2}]}),
        ("a[1].b", None),
        ("a[].absent", None),
        ("a[1].c", {"a": [None, {"c": 3}]}),
        ("d.f", {"d": {"f": []}}),
        ("a, a[].b", {"a": RECORD["a"]}),
        ("a[].b, a", {"a": [{"b": 1}, None, {"b": 4}]}),
        ("g, g", {"g": 5}),
    ],
)
def test_a_projection_keeps_what_is_asked_for_and_nothing_more(keys: str, found: Any) -> None:
    """ "gcloud topic projections": json and yaml show the keys that are named, where they are."""
    assert projected(RECORD, parse_format(f"json({keys})" if keys else "json").columns) == found


def test_the_prompt_tells_whether_a_command_goes_on() -> None:
    lines = iter(["one \\", "two", "# a comment", "", "three \\", "four \\", "five", "six \\"])
    asked: list[str] = []

    def read(prompt: str) -> str:
        asked.append(prompt)
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    assert list(commands(read)) == ["one two", "three four five", "six"]
    first, more = PROMPT, CONTINUED
    assert asked == [first, more, first, first, first, more, more, first, more]


@pytest.mark.parametrize(
    ("attributes", "is_boxed"),
    [("box", True), ("no-box", False), ("box,no-box", False), ("no-box,box", True)],
)
def test_of_an_attribute_and_its_opposite_the_later_one_holds(
    attributes: str, is_boxed: bool
) -> None:
    """As of flags of a command line."""
    drawn = render([{"name": "a"}], parse_format(f"table[{attributes}](name)"), single=False)
    assert drawn.startswith("┌") is is_boxed


@pytest.mark.parametrize(
    "setting",
    [
        "label=X",
        "sort=1",
        "sort=1:reverse",
        "align=right",
        "width=20",
        "wrap",
        "optional",
        "format='value(.)'",
        "basename()",
    ],
)
def test_a_setting_of_a_column_may_follow_in_a_projection_that_shows_nothing(setting: str) -> None:
    """The settings of ``:(settings of columns)`` hold as if they stood at the columns."""
    records = [{"name": f"b/{'long ' * 40}", "size": 2}, {"name": "a/c", "size": 10}]

    def table(of_columns: str, follows: str = "") -> str:
        name, none = f"name{of_columns}", f"none{of_columns}"
        return render(records, parse_format(f"table({name},size,{none}){follows}"), width=80)

    of = f".{setting}" if setting.endswith("()") else f":{setting}"
    after = table("", f":(name{of},none{of})")
    assert after == table(of)
    assert (after == table("")) is (setting == "sort=1:reverse")


def test_map_reaches_into_lists_of_lists() -> None:
    """ "gcloud topic projections": "map(depth=1): applies the next transform function to each"."""
    assert made([["a", "bc"], ["def"]], "map(2).len()") == [1, 2, 3]
    assert made(["a", "bc"], "map(1).len()") == [1, 2]


def test_a_time_zone_that_is_none_is_told() -> None:
    (column,) = parse_format("value(a.date(tz=Mars))").columns
    with pytest.raises(InvalidArgument, match="'Mars' is not a time zone"):
        column.of({"a": "2026-01-01T00:00:00Z"})
