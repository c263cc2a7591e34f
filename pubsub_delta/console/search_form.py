"""The search form for messages: reads its fields, and writes them to an address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import parse_qsl, urlencode

from pubsub_delta.clock import read_time
from pubsub_delta.console.forms import Form, InvalidField
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.operations.find import KEPT, UNACKED
from pubsub_delta.policy.ack_ids import is_message_id
from pubsub_delta.policy.message_queries import MessageQuery

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
"""The states in the menu, by their value in the address."""

FIELDS = ("text", "attribute", "json_field", "key", "message_id", "earliest", "latest", "state")
_EXACT = ("text", "attribute", "json_field", "key")
"""Fields whose blanks count: a message may have them in its key, its values and its data."""


@dataclass(frozen=True)
class SearchForm:
    """The fields of a search, and the query that they make; None if a field is not valid."""

    form: Form
    message_query: MessageQuery | None

    @property
    def query_string(self) -> str:
        """The fields as the query of an address."""
        given = {name: self.form[name] for name in FIELDS if self.form[name]}
        return urlencode(given)

    @property
    def has_filters(self) -> bool:
        """Whether any field besides the state is set."""
        return any(self.form[name] for name in FIELDS if name != "state")


def search_fields(query_string: str) -> dict[str, str]:
    """Return the fields of a search that the query of an address has.

    >>> search_fields("text=late&done=7")
    {'text': 'late'}
    """
    return {name: value for name, value in parse_qsl(query_string) if name in FIELDS}


def read_search_form(asked: Mapping[str, str], *, of_topic: bool) -> SearchForm:
    """Read a search.

    ``before``: only messages with lower IDs, for the next page. ``version``: only messages that
    were committed after this version of the topic, for those that came since.
    """
    given = Form({name: asked.get(name, "") for name in FIELDS})
    form = Form({name: given[name] if name in _EXACT else given.text(name) for name in FIELDS})
    if not of_topic:
        form.values["state"] = form["state"] or "unacked"
    states = None if of_topic else form.validate(lambda: _states(form), {})
    found = MessageQuery(
        message_id=form.validate(lambda: _id(form, "message_id"), {}),
        earliest=form.validate(lambda: _time(form, "earliest"), {}),
        latest=form.validate(lambda: _end_of(_time(form, "latest")), {}),
        ordering_key=form["key"] or None,
        attribute=_pair(form, "attribute"),
        json_field=_pair(form, "json_field"),
        text=form["text"].encode(errors="surrogatepass"),
        states=states,
        before=_number(asked, "before"),
        after_version=_number(asked, "version"),
    )
    return SearchForm(form, None if form.has_errors else found)


def _states(form: Form) -> frozenset[str] | None:
    if form["state"] not in STATES:
        raise InvalidField("state", f"{form['state']!r} is not a state; choose one of the menu")
    return STATES[form["state"]][1]


def _id(form: Form, name: str) -> int | None:
    text = form[name]
    if not text:
        return None
    if not is_message_id(text):
        raise InvalidField(name, f"{text!r} is not a message ID; type its digits")
    return int(text)


def _time(form: Form, name: str) -> datetime | None:
    text = form[name]
    if not text:
        return None
    written = text if text.endswith("Z") else f"{text}{':00' * (text.count(':') == 1)}Z"
    try:
        return read_time(written, name)
    except InvalidArgument:
        raise InvalidField(
            name, f"{text!r} is not a time; a date and a time are accepted"
        ) from None


def _end_of(time: datetime | None) -> datetime | None:
    """Return the last moment of a second, which pages show without its fraction."""
    if time is None or time.microsecond:
        return time
    return time.replace(microsecond=999_999)


def _number(asked: Mapping[str, str], name: str) -> int | None:
    return _id(Form({name: asked.get(name, "")}), name)


def _pair(form: Form, name: str) -> tuple[str, str | None] | None:
    key, equals, value = form[name].partition("=")
    if not form.text(name):
        return None
    return key.strip(), value if equals else None
