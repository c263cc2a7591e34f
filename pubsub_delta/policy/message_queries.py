"""Message queries: the conditions of a search among stored messages."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime

from pubsub_delta.clock import read_time
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy.ack_state import State

_STATES = frozenset(state.value for state in State)
_HIGHEST = 2**63 - 1
"""Of message IDs and of versions of a table."""


@dataclass(frozen=True)
class MessageQuery:
    """The conditions of a search, all of which a message meets. InvalidArgument names a wrong one.

    ``earliest``, ``latest``: publish times, both included. ``attribute``: a key, and the value that
    it has, or None for any. ``text``: bytes that the data contains. ``json_field``: of data that is
    JSON: a path with dots, such as ``gate.terminal``, and the value there, or None for any.
    ``states``: of a subscription's messages; None also finds messages without a state: acknowledged
    for good, excluded by the filter, or older than the subscription. ``before``: only messages with
    lower ids. ``after_version``: only messages that were committed after this version of the
    topic's table, such as the one of an earlier search.

    >>> MessageQuery(text="late")
    Traceback (most recent call last):
    pubsub_delta.errors.InvalidArgument: query.text: 'late'; bytes are accepted
    """

    message_id: int | None = None
    earliest: datetime | None = None
    latest: datetime | None = None
    ordering_key: str | None = None
    attribute: tuple[str, str | None] | None = None
    text: bytes = b""
    states: frozenset[str] | None = None
    before: int | None = None
    json_field: tuple[str, str | None] | None = None
    after_version: int | None = None

    def __post_init__(self) -> None:
        for name in ("message_id", "before", "after_version"):
            self._check(name, _is_number, f"a whole number from 0 to {_HIGHEST}")
        for name, until in (("earliest", False), ("latest", True)):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, read_time(given, f"query.{name}", until=until))
        self._check("ordering_key", _is_text, "text in UTF-8")
        for name in ("attribute", "json_field"):
            self._check(name, _is_pair, "a pair of a name, and a value or None,")
        self._check("states", _are_states, f"a set of {', '.join(sorted(_STATES))}")
        if not isinstance(self.text, (bytes, bytearray)):
            raise InvalidArgument(f"query.text: {self.text!r}; bytes are accepted")

    def _check(self, name: str, is_accepted: Callable[[object], bool], accepted: str) -> None:
        given = getattr(self, name)
        if given is not None and not is_accepted(given):
            raise InvalidArgument(f"query.{name}: {given!r}; {accepted} is accepted")


def _is_number(given: object) -> bool:
    return type(given) is int and 0 <= given <= _HIGHEST


def _is_text(given: object) -> bool:
    if not isinstance(given, str):
        return False
    return given.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in given)


def _is_pair(given: object) -> bool:
    if not isinstance(given, tuple) or len(given) != 2:
        return False
    return _is_text(given[0]) and (given[1] is None or _is_text(given[1]))


def _are_states(given: object) -> bool:
    if not isinstance(given, Collection) or isinstance(given, (str, bytes)):
        return False
    return all(isinstance(each, str) and each in _STATES for each in given)
