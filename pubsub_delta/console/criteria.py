"""What a reader looks for among messages: the fields of the search, read and written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from pubsub_delta.clock import read_time
from pubsub_delta.console.forms import Form, Mistyped
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.operations.find import KEPT, UNACKED, MessageQuery

STATES = {
    "unacked": ("Unacknowledged", UNACKED),
    "available": ("Available", frozenset({"available"})),
    "leased": ("Leased", frozenset({"leased"})),
    "backing_off": ("Backing off", frozenset({"backing_off"})),
    "forwarding": ("To dead letters", frozenset({"forwarding"})),
    "writing": ("To its table", frozenset({"writing"})),
    "kept": ("Acknowledged, kept to replay", KEPT),
    "any": ("All that the topic stores", None),
}
"""The states that can be asked for, by their word in the address."""

FIELDS = ("text", "attribute", "key", "message_id", "earliest", "latest", "state")
AT_FIELD = {name: name for name in FIELDS}


@dataclass(frozen=True)
class Criteria:
    """The fields of a search as they were typed, and what they mean; None where one is wrong."""

    form: Form
    wanted: MessageQuery | None

    @property
    def query(self) -> str:
        """The fields as they stand in an address."""
        given = {name: self.form[name] for name in FIELDS if self.form[name]}
        return urlencode(given)

    @property
    def is_narrow(self) -> bool:
        """Whether anything but the state is asked for."""
        return any(self.form[name] for name in FIELDS if name != "state")


def criteria(asked: Mapping[str, str], *, of_topic: bool) -> Criteria:
    """Read the fields of a search. ``before``: messages with lower ids only, for the next page."""
    form = Form({name: asked.get(name, "").strip() for name in FIELDS})
    if not of_topic:
        form.values["state"] = form["state"] or "unacked"
    states = None if of_topic else form.attempt(lambda: _states(form), AT_FIELD)
    found = MessageQuery(
        message_id=form.attempt(lambda: _id(form, "message_id"), AT_FIELD),
        earliest=form.attempt(lambda: _time(form, "earliest"), AT_FIELD),
        latest=form.attempt(lambda: _time(form, "latest"), AT_FIELD),
        ordering_key=form["key"] or None,
        attribute=_attribute(form),
        text=form["text"].encode(errors="surrogatepass"),
        states=states,
        before=_id(Form({"before": asked.get("before", "")}), "before"),
    )
    return Criteria(form, None if form.is_wrong else found)


def _states(form: Form) -> frozenset[str] | None:
    if form["state"] not in STATES:
        raise Mistyped("state", f"{form['state']!r} is none; one of the menu is accepted")
    return STATES[form["state"]][1]


def _id(form: Form, name: str) -> int | None:
    text = form[name]
    if not text:
        return None
    if not (text.isdecimal() and text.isascii() and len(text) <= 18):
        raise Mistyped(name, f"{text!r} is not a message ID; digits are accepted")
    return int(text)


def _time(form: Form, name: str) -> datetime | None:
    text = form[name]
    if not text:
        return None
    written = text if text.endswith("Z") else f"{text}{':00' * (text.count(':') == 1)}Z"
    try:
        return read_time(written, name)
    except InvalidArgument:
        raise Mistyped(name, f"{text!r} is not a time; a date and a time are accepted") from None


def _attribute(form: Form) -> tuple[str, str | None] | None:
    key, equals, value = form["attribute"].partition("=")
    if not form["attribute"]:
        return None
    return key.strip(), value.strip() if equals else None
