"""Ack ids: opaque text that names one delivery of one message.

An ack id reads ``{subscription uid}.{lease}.{position}.{check}``. The check is a CRC-32 of the text
before it, so that a truncated or mistyped id is noticed and never names another message. It is not
a signature: a program that can write the tables can also forge an id.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass

END_OF_POSITIONS = 9 * 10**18
"""The end of positions and of lease ids: a BIGINT holds the sum of one and of a few."""

_FORM = re.compile(r"([0-9a-f]{32})\.([0-9]{1,19})\.([0-9]{1,19})\.([0-9]{1,10})")


@dataclass(frozen=True)
class AckId:
    """The parts of an ack id."""

    subscription_uid: str
    lease_id: int
    position: int

    def __str__(self) -> str:
        named = f"{prefix(self.subscription_uid, self.lease_id)}{self.position}"
        return f"{named}.{zlib.crc32(named.encode())}"


def is_message_id(text: str) -> bool:
    """Return whether a text is the ID that a message can have, if with zeros before it.

    >>> is_message_id("8" * 19), is_message_id("9" * 19), is_message_id("x")
    (True, False, False)
    """
    is_number = text.isdecimal() and text.isascii() and len(text) <= 19
    return is_number and int(text) < END_OF_POSITIONS


def prefix(subscription_uid: str, lease_id: int) -> str:
    """Return the beginning of all ack ids of one lease."""
    return f"{subscription_uid}.{lease_id}."


def parse_ack_id(text: object) -> AckId | None:
    """Parse an ack id; None if the text is not exactly one.

    >>> ack_id = AckId("0" * 32, 7, 42)
    >>> parse_ack_id(str(ack_id)) == ack_id
    True
    >>> parse_ack_id(str(ack_id)[:-1]) is None
    True
    """
    match = _FORM.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return None
    ack_id = AckId(match[1], int(match[2]), int(match[3]))
    if max(ack_id.lease_id, ack_id.position) >= END_OF_POSITIONS:
        return None
    return ack_id if str(ack_id) == text else None
