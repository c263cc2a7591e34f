"""Seeded bugs of ``ids.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_resources.py",
    "tests/lanes/test_pickling.py",
)

BUGS = (
    Bug(
        "ids-are-not-pickled",
        "A worker of a pool cannot return which messages it has published or acknowledged.",
        "        return Ids.of, (tuple(self),)\n",
        "        return Ids, (self._count, self._make)\n",
    ),
    Bug(
        "a-pass-for-each-id",
        "A search among ids goes through all before each of them: among a million it takes hours.",
        "zip(within, islice(self, within.start, within.stop), strict=True)",
        "((each, self[each]) for each in within)",
    ),
)
