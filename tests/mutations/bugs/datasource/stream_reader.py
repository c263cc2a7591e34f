"""Seeded bugs of ``datasource/stream_reader.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/lanes/test_data_source_stream.py",)

BUGS = (
    Bug(
        "stopped-stream-keeps-leases",
        "The leases of a stopped stream are extended for as long as the process lives.",
        "            self._consumer.leave()\n",
        "            pass\n",
    ),
    Bug(
        "larger-of-two-limits",
        "Of two limits of a micro-batch the larger one counts.",
        "return min(permitted, default=None)",
        "return max(permitted, default=None)",
    ),
)
