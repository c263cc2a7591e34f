"""Seeded bugs of ``server/name_lookups.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_server_name_lookups.py",)

BUGS = (
    Bug(
        "one-cancels-the-lookup-of-all",
        "Who gives a look-up up cancels it for all others who wait for it.",
        "await asyncio.shield(running)",
        "await running",
    ),
    Bug(
        "lookup-without-a-thread-takes-a-place",
        "A process that was out of threads for a while looks no name up any more.",
        "            _threads.release()\n            raise",
        "            raise",
    ),
)
