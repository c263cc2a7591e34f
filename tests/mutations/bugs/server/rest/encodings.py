"""Seeded bugs of ``server/rest/encodings.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_rest_frameworks.py",)

BUGS = (
    Bug(
        "gzip-of-one-member",
        "Of a body in gzip with several members the later ones are lost.",
        "data = self._member.unused_data if self._member.eof else self._member.unconsumed_tail",
        "data = self._member.unconsumed_tail",
    ),
    Bug(
        "gzip-by-one-name",
        "A body in x-gzip, which is gzip, is refused.",
        'if name in ("gzip", "x-gzip"):',
        'if name in ("gzip",):',
    ),
)
