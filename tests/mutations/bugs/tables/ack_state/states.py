"""Seeded bugs of ``tables/ack_state/states.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_looks.py",
    "tests/unit/test_lost_answers.py",
    "tests/unit/test_swaps.py",
    "tests/unit/test_restored.py",
    "tests/unit/test_consumer_calls.py",
    "tests/unit/test_simulation.py",
)

BUGS = (
    Bug(
        "revision-not-raised",
        "A state is stored under the revision of the one before.",
        "following = StoredAckState(state, stored.revision + 1, recent, version)",
        "following = StoredAckState(state, stored.revision, recent, version)",
    ),
    Bug(
        "own-commit-not-recognised",
        "A swap whose answer was lost is decided again although it landed.",
        "        if commit_id in now.recent_commits:\n            return True\n",
        "",
    ),
    Bug(
        "own-conflict-believed",
        "A swap that met its own commit in object storage is decided again.",
        "landed = commit_id in self._storage.read(uid).recent_commits",
        "landed = False",
    ),
    Bug(
        "memory-believed",
        "A change that changes nothing is answered from memory, however old that is.",
        "                if self._storage.read(uid).is_same(cached):\n",
        "                if remembered.is_same(cached):\n",
    ),
    Bug(
        "same-revision-same-state",
        "A state is taken for another one of the same revision, after a restore.",
        "return (self.revision, self.commit_id) == (other.revision, other.commit_id)",
        "return self.revision == other.revision",
    ),
    Bug(
        "lost-swap-remembered",
        "A state whose swap was lost is remembered as if it were stored.",
        "        if landed:\n            self._cache[uid] = following",
        "        self._cache[uid] = following",
    ),
    Bug(
        "too-many-others",
        "A swap that landed is decided again, if more others followed than are remembered.",
        "if now.revision - expected >= RECENT_COMMITS:",
        "if now.revision - expected > RECENT_COMMITS + 1:",
    ),
    Bug(
        "lease-numbers-one-by-one",
        "After a RESTORE the numbers of leases are given out again that were given out before.",
        "return secrets.randbelow(MAX_LEASE_ID_GAP)",
        "return 0",
    ),
    Bug(
        "ended-subscription-remembered",
        "The state of each subscription that has ended stays in memory.",
        "        self._cache.pop(uid, None)\n        self._contended.discard(uid)\n",
        "        self._cache.get(uid)\n        self._contended.discard(uid)\n",
    ),
    Bug(
        "a-state-is-of-the-version-before",
        "What is read is taken for the version before it, and no swap ever lands.",
        "version = None if stored.version is None else stored.version + 1",
        "version = stored.version",
    ),
    Bug(
        "threads-race-each-other",
        "Threads of one process lose races to each other in object storage.",
        "        with self._lock(uid):\n"
        "            return self._change(uid, decide, prefetching)\n",
        "        return self._change(uid, decide, prefetching)\n",
    ),
    Bug(
        "a-lost-swap-is-tried-each-time",
        "Where several processes consume, each change begins with a swap that is bound to lose.",
        "            self._contended.add(uid)\n",
        "",
    ),
    Bug(
        "a-state-is-read-for-ever",
        "Once another process has changed an ack state, each change of this one reads it first.",
        "                if cached is not None and stored.is_same(cached):\n"
        "                    self._contended.discard(uid)\n",
        "",
    ),
    Bug(
        "may-have-landed-has-not",
        "A change whose response was lost, and that nobody can see yet, is decided again.",
        "if now.revision <= expected:",
        "if now.revision < expected:",
    ),
)
