"""Seeded bugs of ``console/flash.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_mistakes.py",
    "tests/unit/test_console_flows.py",
    "tests/unit/test_console_whole_pages.py",
)

BUGS = (
    Bug(
        "note-comes-back",
        "A page says again that something was done when it is loaded again.",
        "return self._by_key.pop(key, None)",
        "return self._by_key.get(key)",
    ),
    Bug(
        "newest-message-for-a-page-is-dropped",
        "Of too many messages for pages the newest is never shown.",
        "                self._by_key.popitem(last=False)",
        "                self._by_key.popitem()",
    ),
)
