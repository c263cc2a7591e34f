"""What a browser posts: read, checked, and given back with the errors at the fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qsl

from fastapi import Depends, HTTPException, Request, Response
from fastapi.concurrency import run_in_threadpool

from pubsub_delta.clock import UTC, read_time
from pubsub_delta.console.phrases import plain
from pubsub_delta.console.security import SAFE_METHODS
from pubsub_delta.errors import InvalidArgument, PubSubError

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

LARGEST_FORM = 48 * 1024 * 1024
"""Bytes: a message of 10 MB, of which every byte may be written as three."""
MOST_FIELDS = 5_000

_MINUTE = re.compile(r"\d\d:\d\d")
_NAMED = re.compile(r"([a-z_]+(?:\.[a-z_]+)?):")


@dataclass
class Form:
    """The fields of a form as they were typed, and what is wrong with them.

    ``errors``: by field. ``problem``: what concerns no single field. ``warning``: what the reader
    must know before the form is sent again.
    """

    values: dict[str, str] = field(default_factory=dict)
    many: dict[str, list[str]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    problem: str = ""
    warning: str = ""

    @property
    def is_wrong(self) -> bool:
        """Whether something of it is to be put right."""
        return bool(self.errors or self.problem)

    def __getitem__(self, name: str) -> str:
        return self.values.get(name, "")

    def is_on(self, name: str) -> bool:
        """Tell whether a box is checked."""
        return self[name] == "on"

    def text(self, name: str) -> str:
        """Return what was typed, without blanks around it."""
        return self[name].strip()

    def told(self, error: PubSubError, fields: Mapping[str, str]) -> Form:
        """Put an error of the library where it belongs; the first one of a field stands.

        ``fields``: the form's field for each name that the library's errors begin with; the empty
        name is for an error that names none.
        """
        text = str(error)
        named = _NAMED.match(text)
        name = named[1] if named else ""
        target = fields.get(name) or fields.get(name.split(".")[0])
        if target:
            beginning = named[0] if named else ""
            self.errors.setdefault(target, plain(text.removeprefix(beginning).strip()))
        else:
            self.problem = plain(text)
        return self

    def attempt(self, read: Callable[[], T], fields: Mapping[str, str]) -> T | None:
        """Return what a part of the form says; None where it is wrong, which is told.

        So every error of a form is told at once.
        """
        try:
            return read()
        except InvalidArgument as error:
            self.told(error, fields)
            return None


STALE = (
    "This form was written before the console was started anew, or in another session. Nothing "
    "was done. What you typed is still in it: look at it, and send it again."
)


class StaleForm(Exception):
    """A form that was not written for the session which sends it. Nothing may be done for it."""

    def __init__(self, form: Form) -> None:
        super().__init__(STALE)
        self.form = form


def shown_again(show: Callable[..., Response]) -> Callable[[F], F]:
    """Give a route that takes a form what shows the form again, as it was typed.

    ``show`` is given the request, the form, and the parameters of the path.
    """

    def add(route: F) -> F:
        route.shown_again = show  # type: ignore[attr-defined]
        return route

    return add


class Mistyped(InvalidArgument):
    """A field that cannot be read as what it should be."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(f"{field}: {text}")
        self.field = field


async def posted(request: Request) -> Form:
    """Read the form that a request carries; StaleForm unless it was written for this session.

    Every route depends on it, so that none that changes something can do without. How many bytes
    it has stands in ``request.state.form_bytes``.
    """
    request.state.form_bytes = 0
    if request.method in SAFE_METHODS:
        return Form()
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_FORM:
            raise HTTPException(413, f"The form is larger than {LARGEST_FORM // 2**20} MB.")
    request.state.form_bytes = len(body)
    try:
        form = await run_in_threadpool(_read, bytes(body))
    except ValueError as error:
        raise HTTPException(400, "The form cannot be read.") from error
    sessions = request.app.state.console.sessions
    if not sessions.is_form_token(request.state.session, form["form_token"]):
        raise StaleForm(form)
    return form


Posted = Annotated[Form, Depends(posted)]
"""A parameter that holds the form of the request."""


def _read(body: bytes) -> Form:
    text = body.decode("ascii")
    given = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    return form_of(given)


def form_of(pairs: Iterable[tuple[str, str]]) -> Form:
    """Return a form of names and values; of several values of a name the last one counts."""
    form = Form()
    for name, value in pairs:
        form.values[name] = value.replace("\r\n", "\n")
        form.many.setdefault(name, []).append(value)
    return form


def whole_number(form: Form, name: str, meaning: str) -> int:
    """Return a field as a whole number."""
    text = form.text(name)
    if not re.fullmatch(r"-?[0-9]{1,9}", text, re.ASCII):
        raise Mistyped(name, f"{text!r} is not a whole number; {meaning} is accepted")
    return int(text)


def duration(form: Form, name: str) -> timedelta:
    """Return the sum of the fields for days, hours and minutes."""
    days, hours, minutes = (
        whole_number(form, f"{name}_{unit}", "a number of days, hours and minutes")
        for unit in ("days", "hours", "minutes")
    )
    return timedelta(days=days, hours=hours, minutes=minutes)


def duration_values(name: str, length: timedelta) -> dict[str, str]:
    """Return the fields for days, hours and minutes that show a duration; seconds are cut off."""
    minutes = length // timedelta(minutes=1)
    parts = {"days": minutes // 1440, "hours": minutes // 60 % 24, "minutes": minutes % 60}
    return {f"{name}_{unit}": str(number) for unit, number in parts.items()}


def pairs(form: Form, name: str) -> dict[str, str]:
    """Return the lines ``key=value`` of a field."""
    found: dict[str, str] = {}
    for line in form[name].split("\n"):
        key, equals, value = line.partition("=")
        if not line.strip():
            continue
        if not equals or not key.strip():
            raise Mistyped(name, f"{line!r} is not a pair; key=value is accepted, one on each line")
        if key.strip() in found:
            raise Mistyped(name, f"{key.strip()!r} stands on two lines; each key once is accepted")
        found[key.strip()] = value
    return found


def pair_lines(given: Mapping[str, Any]) -> str:
    """Return the lines that show a mapping."""
    return "\n".join(f"{key}={value}" for key, value in given.items())


def moment(form: Form, name: str) -> datetime:
    """Return the time of a field for a date and one for a time of day, both in UTC."""
    day, clock = form.text(f"{name}_date"), form.text(f"{name}_time")
    try:
        return read_time(f"{day}T{clock}{':00' * bool(_MINUTE.fullmatch(clock))}Z", name)
    except InvalidArgument:
        pass
    raise Mistyped(
        name, f"{f'{day} {clock}'.strip()!r} is not a time; a date and a time of day are accepted"
    )


def moment_values(name: str, time: datetime) -> dict[str, str]:
    """Return the fields that show a time, to the second."""
    in_utc = time.astimezone(UTC)
    return {f"{name}_date": f"{in_utc:%Y-%m-%d}", f"{name}_time": f"{in_utc:%H:%M:%S}"}
