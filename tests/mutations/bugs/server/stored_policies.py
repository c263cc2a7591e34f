"""Seeded bugs of ``server/stored_policies.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_server_access_changes.py",)

BUGS = (
    Bug(
        "old-read-kept-as-new",
        "A policy that was read before it changed is taken for the one after.",
        "if last is None or last.generation != self._generation:",
        "if last is None:",
    ),
    Bug(
        "policies-read-once",
        "What other processes store of policies is never noticed.",
        "if self._uptime() - last.at < CACHE_SECONDS else None",
        "if self._uptime() - last.at < 1e9 else None",
    ),
    Bug(
        "policies-read-before-a-change",
        "Policies that were read before a change are taken for those after it.",
        "                generation, at = self._generation, self._uptime()\n"
        "                self._last = _Read(generation, at, self._read())\n",
        "                at, read = self._uptime(), self._read()\n"
        "                self._last = _Read(self._generation, at, read)\n",
    ),
)
