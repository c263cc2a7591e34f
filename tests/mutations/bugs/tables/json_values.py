"""Seeded bugs of ``tables/json_values.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug
from tests.mutations.groups import TABLE_WRITES

NEAREST = (
    "tests/unit/test_json_members.py",
    "tests/unit/test_target_rows.py",
    *TABLE_WRITES,
)

BUGS = (
    Bug(
        "json-numbers-are-rounded",
        "A decimal number with more digits than its column has room for is rounded.",
        "    if exact != number:\n        raise ValueError(value)\n    return exact",
        "    return exact",
    ),
    Bug(
        "whole-number-of-eight-bytes",
        "A number that is one too large for its column fails the rows beside it.",
        "if not -limit <= number < limit or int(number) != number:",
        "if not -limit <= number <= limit or int(number) != number:",
    ),
    Bug(
        "decimals-of-28-digits",
        "A number of more than 28 digits does not fit into a column of 38.",
        ", context=Context(type_.precision))",
        ")",
    ),
    Bug(
        "number-becomes-infinity",
        "A number that is too large for its column becomes infinity.",
        "if math.isinf(pa.scalar(found, type_).as_py()) and Decimal(str(value)).is_finite():",
        "if math.isinf(pa.scalar(found, type_).as_py()) and value is None:",
    ),
    Bug(
        "dates-of-times-without-zone",
        "A time without a zone is refused for a column without one.",
        "read_time(text, name) if type_.tz else _without_zone(text, name)",
        "read_time(text, name)",
    ),
    Bug(
        "record-with-fields-of-another",
        "A JSON object with an unknown member in a struct ends the write.",
        "if unknown and not drops_unknown:",
        "if len(unknown) > 1 and not drops_unknown:",
    ),
    Bug(
        "integers-beyond-all-numbers-of-a-column",
        "An integer in JSON that no double holds keeps a writer from the other messages.",
        "except (ValueError, TypeError, ArithmeticError, KeyError):",
        "except (ValueError, TypeError, KeyError):",
    ),
    Bug(
        "members-of-records-do-not-fit",
        "A member of a record without a field is refused, where such members are to be dropped.",
        "if unknown and not drops_unknown:",
        "if unknown:",
    ),
    Bug(
        "numbers-of-python-in-tables",
        "A member of JSON is a number for a table as Python writes it: 1_000.",
        "    if isinstance(value, str) and not (is_number(value) or _NO_NUMBER.fullmatch(value)):\n"
        "        raise ValueError(value)\n",
        "",
    ),
    Bug(
        "dates-of-python-in-tables",
        "A DATE of a table may be written as a week: 2026-W10-3.",
        "    if not _DATE.fullmatch(text):\n        raise ValueError(text)\n",
        "",
    ),
    Bug(
        "zones-dropped-in-tables",
        "A column without a zone takes a time of a zone as another time of day.",
        "else _without_zone(text, name)",
        "else datetime.fromisoformat(text)",
    ),
    Bug(
        "any-member-is-true-or-false",
        "1 and [] are rows of a BOOLEAN column.",
        "        return _of(bool, value)",
        "        return bool(value)",
    ),
    Bug(
        "any-text-is-base64",
        "Characters that are no Base64 are left out of the bytes of a column.",
        "        return base64.b64decode(text, validate=True)",
        "        return base64.b64decode(text)",
    ),
    Bug(
        "true-is-a-number",
        "true is 1 in a column of numbers.",
        "    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, str)):",
        "    if not isinstance(value, (int, float, Decimal, str)):",
    ),
)
