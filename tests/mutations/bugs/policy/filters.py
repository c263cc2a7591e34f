"""Seeded bugs of ``policy/filters.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_filters.py",
    "tests/unit/test_fuzz_filters.py",
)

BUGS = (
    Bug(
        "filter-measured-in-characters",
        "The length of a filter is counted in characters and not in bytes.",
        'size = len(text.encode(errors="surrogatepass"))',
        "size = len(text)",
    ),
    Bug(
        "blank-filter-refused",
        "A filter of blanks is a syntax error.",
        "return _parse(text) if text.strip(BLANKS) else None",
        "return _parse(text) if text else None",
    ),
)
