"""Formats values for pages: counts, sizes, durations, times, schemas and text."""

from __future__ import annotations

import json
import unicodedata
from contextlib import suppress
from datetime import datetime, timedelta

from pubsub_delta.clock import UTC
from pubsub_delta.schemas import Encoding, SchemaSettings

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_BIDI = {*"\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"}
"""Characters that change the direction of the text around them."""


def count(number: float) -> str:
    """Write a number with a comma between groups of three digits.

    >>> count(1234567)
    '1,234,567'
    """
    return f"{number:,.0f}"


def size(number: float) -> str:
    """Write a number of bytes in the unit that suits it.

    >>> size(999), size(1500), size(999_950), size(10_000_000)
    ('999 B', '1.5 kB', '1.0 MB', '10.0 MB')
    """
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if round(number, 1) < 1000 or unit == "TB":
            break
        number /= 1000
    return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"


def duration(seconds: float | timedelta) -> str:
    """Write a duration in its two largest units.

    >>> duration(0.4), duration(90), duration(timedelta(days=7)), duration(90_061)
    ('0.4 s', '1 min 30 s', '7 d', '1 d 1 h')
    """
    total = seconds.total_seconds() if isinstance(seconds, timedelta) else seconds
    if 0 < total < 1:
        return f"{total:.1f} s"
    rest = int(total)
    parts: list[str] = []
    for unit, name in _UNITS:
        number, rest = divmod(rest, unit)
        if number or parts:
            parts.append(f"{number} {name}" if number else "")
        if len(parts) == 2:
            break
    return " ".join(part for part in parts if part) or "0 s"


def rate(per_second: float | None) -> str:
    """Write a rate per second, or per minute or hour if it is small.

    >>> rate(1250), rate(2.5), rate(0.02), rate(0), rate(None)
    ('1,250 /s', '2.5 /s', '1.2 /min', '0 /s', '–')
    """
    if per_second is None:
        return "–"
    if 0 < per_second < 0.5:
        per_minute = per_second * 60
        return f"{per_minute:.1f} /min" if per_minute >= 0.1 else f"{per_minute * 60:.1f} /h"
    return f"{per_second:.1f} /s" if 0 < per_second < 10 else f"{per_second:,.0f} /s"


def timestamp(moment: datetime) -> str:
    """Write a time in UTC, to the second.

    >>> timestamp(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    '2026-01-02 03:04:05 UTC'
    """
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def short_id(name: str, project: str) -> str:
    """Write a resource's name as its id, or whole where it is of another project.

    >>> short_id("projects/local/topics/flights", "local")
    'flights'
    """
    parts = name.split("/")
    return parts[3] if len(parts) == 4 and parts[1] == project else name


def visible(text: str) -> str:
    r"""Escape characters that are invisible, or change the direction of the text around them.

    Line breaks and tabs stay.

    >>> visible("a\u202eb\x00")
    'a\\u202eb\\x00'
    """
    return "".join(_visible(character) for character in text)


def _visible(character: str) -> str:
    hides = unicodedata.category(character) in ("Cc", "Cs", "Cn", "Co", "Zl", "Zp")
    if character in "\n\t" or not (hides or character in _BIDI):
        return character
    number = ord(character)
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"


SCHEMA_TYPES = {"AVRO": "Avro", "PROTOCOL_BUFFER": "Protocol Buffers"}


def schema(settings: SchemaSettings | None) -> str:
    """Write the schema settings of a topic."""
    return "none" if settings is None else f"{settings.schema}, {schema_terms(settings)}"


def schema_terms(settings: SchemaSettings) -> str:
    """Write the encoding and the revisions of schema settings.

    >>> schema_terms(SchemaSettings("states", "JSON", first_revision_id="0a0b0c0d"))
    'in JSON, revisions 0a0b0c0d to the newest'
    """
    first, last = settings.first_revision_id, settings.last_revision_id
    bounds = f", revisions {first or 'the first'} to {last or 'the newest'}"
    wording = f"in {Encoding(settings.encoding).value}"
    return wording + (bounds if first or last else "")


def definition(text: str) -> str:
    """Write the definition of a schema: JSON, as Avro's is, with a line for each field.

    >>> print(definition('{"type": "string"}'))
    {
      "type": "string"
    }
    """
    with suppress(ValueError, RecursionError):  # of Protocol Buffers
        text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    return visible(text)
