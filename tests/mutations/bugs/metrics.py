"""Seeded bugs of ``metrics.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_metrics.py",
    "tests/unit/test_exporter.py",
    "tests/lanes/test_pickling.py",
)

BUGS = (
    Bug(
        "metrics-are-not-pickled",
        "A worker of a pool cannot return metrics.",
        "        measured = {name: self._measured(name) for name in self}\n",
        "        measured = self._values\n",
    ),
    Bug(
        "metrics-measured-at-each-access",
        "Expensive metrics are measured again at each access.",
        "found = self._values[name] = found()",
        "found = found()",
    ),
    Bug(
        "expiry-in-milliseconds",
        "The expire time of a snapshot is exported in milliseconds.",
        "yield {}, to_micros(value) / 1_000_000",
        "yield {}, to_micros(value) / 1_000",
    ),
)
