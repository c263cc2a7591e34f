"""HTML forms: reads and validates their fields, and keeps the errors by field."""

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
from pubsub_delta.console.error_texts import readable
from pubsub_delta.console.formatting import visible
from pubsub_delta.console.security import SAFE_METHODS
from pubsub_delta.errors import InvalidArgument, PubSubError

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

LARGEST_FORM = 48 * 1024 * 1024
"""Bytes: a message of 10 MB, each byte of which may be percent-encoded as three."""
MOST_FIELDS = 5_000

NOT_IN_LINES = frozenset("\n\r\x00")
"""Characters that a browser changes in a field of one line, or that end a line."""
_MINUTE = re.compile(r"\d\d:\d\d")
_NAMED = re.compile(r"([a-z_]+(?:\.[a-z_]+)?):")


@dataclass
class Form:
    """The values of a form, and its errors.

    ``multi``: all values of each field. ``errors``: by field. ``problem``: an error of no single
    field. ``warning``: what the reader must know before the form is sent again.
    """

    values: dict[str, str] = field(default_factory=dict)
    multi: dict[str, list[str]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    problem: str = ""
    warning: str = ""

    @property
    def has_errors(self) -> bool:
        """Whether a field, or the form as a whole, has an error."""
        return bool(self.errors or self.problem)

    def __getitem__(self, name: str) -> str:
        return self.values.get(name, "")

    def is_on(self, name: str) -> bool:
        """Return whether a checkbox is checked."""
        return self[name] == "on"

    def text(self, name: str) -> str:
        """Return the value of a field without blanks around it."""
        return self[name].strip()

    def add_error(self, error: PubSubError, fields: Mapping[str, str]) -> Form:
        """Add an error to its field, unless the field has one already.

        ``fields``: the form's field for each name that begins an error; "" for errors without one.
        An InvalidField names a field of the form itself.
        """
        text = str(error)
        named = _NAMED.match(text)
        name = named[1] if named else ""
        own = error.field if isinstance(error, InvalidField) else ""
        target = fields.get(name) or fields.get(name.split(".")[0]) or own
        if target:
            beginning = named[0] if named else ""
            self.errors.setdefault(target, readable(text.removeprefix(beginning).strip()))
        else:
            self.problem = readable(text)
        return self

    def validate(self, read: Callable[[], T], fields: Mapping[str, str]) -> T | None:
        """Return the value that ``read`` makes of fields; None after adding its error.

        So a form shows all of its errors at once.
        """
        try:
            return read()
        except InvalidArgument as error:
            self.add_error(error, fields)
            return None


FOREIGN_FORM = (
    "This form is from another session, or from before the console was restarted. Nothing was "
    "changed."
)


class InvalidCsrfToken(Exception):
    """A form whose CSRF token is not of the session that sends it."""

    def __init__(self, form: Form) -> None:
        super().__init__(FOREIGN_FORM)
        self.form = form


def redisplay_with(show: Callable[..., Response]) -> Callable[[F], F]:
    """Mark a route with the function that shows its form again after an invalid CSRF token.

    ``show`` is called with the request, the form, and the parameters of the path.
    """

    def add(route: F) -> F:
        route.redisplay_with = show  # type: ignore[attr-defined]
        return route

    return add


class InvalidField(InvalidArgument):
    """A field whose value has the wrong form."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(f"{field}: {text}")
        self.field = field


async def read_form(request: Request) -> Form:
    """Read the form of a request. InvalidCsrfToken unless it was made for this session.

    Every route depends on this function, so no route can skip the check.
    ``request.state.form_bytes`` is set to the size of the form.
    """
    request.state.form_bytes = 0
    if request.method in SAFE_METHODS:
        return Form()
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_FORM:
            raise HTTPException(
                413, f"The form is larger than {LARGEST_FORM // 2**20} MB; send a smaller one."
            )
    request.state.form_bytes = len(body)
    try:
        form = await run_in_threadpool(_read, bytes(body))
    except ValueError as error:
        raise HTTPException(
            400, "The form cannot be read; load the page again, and send the form again."
        ) from error
    sessions = request.app.state.console.sessions
    if not sessions.is_csrf_token(request.state.session, form["csrf_token"]):
        raise InvalidCsrfToken(form)
    return form


PostedForm = Annotated[Form, Depends(read_form)]
"""A parameter that holds the form of the request."""


def _read(body: bytes) -> Form:
    text = body.decode("ascii")
    given = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    return form_from_pairs(given)


def form_from_pairs(pairs: Iterable[tuple[str, str]]) -> Form:
    """Return a form from names and values; the last value of a repeated name counts."""
    form = Form()
    for name, value in pairs:
        form.values[name] = value.replace("\r\n", "\n")
        form.multi.setdefault(name, []).append(value)
    return form


def integer(form: Form, name: str, meaning: str) -> int:
    """Return a field as a whole number."""
    text = form.text(name)
    if not re.fullmatch(r"-?[0-9]{1,9}", text, re.ASCII):
        raise InvalidField(name, f"{text!r} is not a whole number; {meaning} is accepted")
    return int(text)


def duration(form: Form, name: str) -> timedelta:
    """Return the sum of the fields for days, hours and minutes."""
    days, hours, minutes = (
        integer(form, f"{name}_{unit}", "a number of days, hours and minutes")
        for unit in ("days", "hours", "minutes")
    )
    return timedelta(days=days, hours=hours, minutes=minutes)


def duration_values(name: str, length: timedelta) -> dict[str, str]:
    """Return the fields for days, hours and minutes of a duration, without its seconds."""
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
            raise InvalidField(name, f"{line!r} is not key=value; write one pair on each line")
        if key.strip() in found:
            raise InvalidField(name, f"{key.strip()!r} is given twice; give each key once")
        found[key.strip()] = value
    return found


def pairs_text(given: Mapping[str, Any]) -> str:
    """Return a mapping as lines ``key=value``."""
    return "\n".join(f"{key}={value}" for key, value in given.items())


def fits_line(key: str, value: str) -> bool:
    """Return whether the line ``key=value`` of a field is read as the pair that it was made of."""
    return "=" not in key and key == key.strip() and NOT_IN_LINES.isdisjoint(key + value)


def pairs_values(name: str, given: Mapping[str, str]) -> dict[str, str]:
    """Return the field of pairs, and the keys of those that its lines cannot hold (``…_kept``)."""
    shown = {key: value for key, value in given.items() if fits_line(key, value)}
    kept = [visible(key) for key in given if key not in shown]
    return {name: pairs_text(shown), f"{name}_kept": ", ".join(kept)}


def with_kept(edited: Mapping[str, str], stored: Mapping[str, str]) -> dict[str, str]:
    """Return the pairs of an edited field, and the stored ones that it could not show."""
    kept = {key: value for key, value in stored.items() if not fits_line(key, value)}
    return {**kept, **edited}


def utc_time(form: Form, name: str) -> datetime:
    """Return the time of two fields, for a date and a time of day in UTC."""
    day, clock = form.text(f"{name}_date"), form.text(f"{name}_time")
    try:
        return read_time(f"{day}T{clock}{':00' * bool(_MINUTE.fullmatch(clock))}Z", name)
    except InvalidArgument:
        pass
    raise InvalidField(
        name, f"{f'{day} {clock}'.strip()!r} is not a time; a date and a time of day are accepted"
    )


def utc_time_values(name: str, time: datetime) -> dict[str, str]:
    """Return the two fields of a time, to the second."""
    in_utc = time.astimezone(UTC)
    return {f"{name}_date": f"{in_utc:%Y-%m-%d}", f"{name}_time": f"{in_utc:%H:%M:%S}"}
