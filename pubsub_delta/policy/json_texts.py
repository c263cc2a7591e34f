"""Texts by which JSON writes what it has no values of its own for: large numbers, and bytes.

Python reads more as a number than JSON and its other readers: ``1_000``, and digits of any script.
Its decoder of base64 passes over characters that are none.
"""

from __future__ import annotations

import re

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/_-]{4})*(?:[A-Za-z0-9+/_-]{2,3}={0,2})?")


def is_number(text: str) -> bool:
    """Return whether a text is a number to every reader of JSON.

    >>> is_number("-12.5e3"), is_number("1_000"), is_number("\uff11")
    (True, False, False)
    """
    return _NUMBER.fullmatch(text) is not None


def is_base64(text: str) -> bool:
    """Return whether a text is base64, of either alphabet, with its padding or without.

    >>> is_base64("_-8="), is_base64("YQ"), is_base64("a$b")
    (True, True, False)
    """
    return _BASE64.fullmatch(text) is not None
