"""Conditions on a field of JSON data: a path, and the value there."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

_CONSTANTS = {"true": True, "false": False, "null": None}


@dataclass(frozen=True)
class JsonField:
    """A field of JSON data, with a value or with any value.

    ``path``: names from the outermost object on, with dots between; the items of a list are
    numbered from 0. ``value``: as text, None for any. Numbers are compared as numbers, other values
    as text.

    >>> late = JsonField("gate.terminal", "B")
    >>> late.matches(b'{"gate": {"terminal": "B"}}'), late.matches(b'{"gate": "B"}')
    (True, False)
    >>> JsonField("delays.0", "5").matches(b'{"delays": [5.0, 7]}')
    True
    """

    path: str
    value: str | None = None

    def matches(self, data: bytes) -> bool:
        """Return whether data is JSON and has the field with the value.

        >>> JsonField("a").matches(b'{"a": null}'), JsonField("a").matches(b"a")
        (True, False)
        """
        try:
            found = json.loads(data.decode(), parse_int=_number, parse_float=_number,
                               parse_constant=str)  # fmt: skip
        except (ValueError, RecursionError):
            return False
        for name in self.path.split("."):
            if isinstance(found, dict) and name in found:
                found = found[name]
            elif isinstance(found, list) and _is_index(name) and int(name) < len(found):
                found = found[int(name)]
            else:
                return False
        return self.value is None or _equals(found, self.value)

    @property
    def name_text(self) -> bytes:
        """The last name of the path, which all matching data contains; "" if it can be an index.

        The exceptions are those of ``WRITTEN_OTHERWISE``.
        """
        name = self.path.rpartition(".")[2]
        return b"" if _is_index(name) else name.encode(errors="surrogatepass")

    @property
    def value_text(self) -> bytes:
        """The value as all matching data contains it.

        The exceptions are those of ``WRITTEN_OTHERWISE``.

        >>> JsonField("a", "late").value_text, JsonField("a", "007").value_text
        (b'late', b'7')
        """
        value = self.value or ""
        if not isinstance(_number(value), Decimal):
            return value.encode(errors="surrogatepass")
        is_whole = re.fullmatch(r"-?[0-9]{1,30}", value, re.ASCII) is not None
        return str(abs(int(value))).encode() if is_whole else b""


WRITTEN_OTHERWISE = r"\\|[0-9][.eE]"
r"""Data with names or texts that may be escaped (``\u0061``), or with numbers such as ``7e3``."""


def _is_index(name: str) -> bool:
    return name.isascii() and name.isdecimal() and len(name) < 10


def _number(text: str) -> Decimal | str:
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent beyond what a decimal has
        return text


def _equals(found: Any, value: str) -> bool:
    if isinstance(found, str):
        return found == value
    if isinstance(found, bool) or found is None:
        return value in _CONSTANTS and found is _CONSTANTS[value]
    if isinstance(found, Decimal):
        number = _number(value)
        return isinstance(number, Decimal) and number.is_finite() and found == number
    return False
