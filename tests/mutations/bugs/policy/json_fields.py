"""Seeded bugs of ``policy/json_fields.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_find.py",
    "tests/unit/test_search_conditions.py",
)

BUGS = (
    Bug(
        "escaped-field-is-missed",
        "A search by a field of JSON data misses names and texts that are written with escapes.",
        'WRITTEN_OTHERWISE = r"\\\\|[0-9][.eE]"',
        'WRITTEN_OTHERWISE = r"[0-9][.eE]"',
    ),
    Bug(
        "null-is-not-found",
        "A search for a field that is null finds nothing.",
        "if isinstance(found, bool) or found is None:",
        "if isinstance(found, bool):",
    ),
    Bug(
        "a-search-by-an-index-finds-nothing",
        "A search by an item of a list, as delays.0, finds nothing.",
        'return b"" if _is_index(name) else name.encode(errors="surrogatepass")',
        'return name.encode(errors="surrogatepass")',
    ),
    Bug(
        "index-behind-a-list",
        "A search for an item of lists ends with an error at a list of exactly as many items.",
        "int(name) < len(found)",
        "int(name) <= len(found)",
    ),
    Bug(
        "not-a-number-is-not-found",
        "A search by a field of JSON data finds no NaN or Infinity.",
        "parse_constant=str",
        "parse_constant=float",
    ),
    Bug(
        "every-constant-is-every-other",
        "A search for a field that is true finds those that are false or null, too.",
        "return value in _CONSTANTS and found is _CONSTANTS[value]",
        "return value in _CONSTANTS",
    ),
    Bug(
        "a-search-for-a-signaling-nan-ends",
        "A search for the number sNaN ends with an error.",
        "isinstance(number, Decimal) and number.is_finite() and found == number",
        "isinstance(number, Decimal) and found == number",
    ),
)
