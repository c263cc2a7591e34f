"""Bugs of looks that are saved or made at the same time, and of turns at an ack state."""

from __future__ import annotations

from tests.mutations.bug import Bug

_STATES = "tables/ack_state/states.py"
_HISTORY = "tables/messages/commits.py"
_MERGING = "tables/lanes/direct/merging.py"
_TABLES = "tables/lanes/direct/tables.py"

BUGS_OF_LOOKS = (
    Bug(
        "an-early-look-is-a-lost-log",
        "A topic that was looked at before an ack state is taken for one whose log was cut.",
        _HISTORY,
        "if read[0].version < version:",
        "if read[0].version < version - 10:",
    ),
    Bug(
        "a-seek-is-noted-too-early",
        "A seek does not cover commits that the ack state has seen already.",
        _HISTORY,
        "if self._newest < at_least:",
        "if self._newest < at_least - 10:",
    ),
    Bug(
        "threads-race-each-other",
        "Threads of one process lose races to each other in object storage.",
        _STATES,
        "        with self._lock(uid):\n"
        "            return self._change(uid, decide, prefetching)\n",
        "        return self._change(uid, decide, prefetching)\n",
    ),
    Bug(
        "a-lost-swap-is-tried-each-time",
        "Where several processes consume, each change begins with a swap that is bound to lose.",
        _STATES,
        "            self._contended.add(uid)\n",
        "",
    ),
    Bug(
        "a-state-is-read-for-ever",
        "Once another process has changed an ack state, each change of this one reads it first.",
        _STATES,
        "                if cached is not None and stored.is_same(cached):\n"
        "                    self._contended.discard(uid)\n",
        "",
    ),
    Bug(
        "a-freed-name-stays-taken",
        "In object storage a name that another process has freed is refused as taken.",
        _TABLES,
        "            if not changed:\n                with self.open_tables.newest",
        "            if changed is None:\n                with self.open_tables.newest",
    ),
    Bug(
        "null-is-equal-to-null",
        "A row without a value is taken for the one that is looked for without one.",
        _MERGING,
        "None not in (each, value) and compare(each, value)",
        "each == value or (None not in (each, value) and compare(each, value))",
    ),
    Bug(
        "a-large-registry-is-copied",
        "A table of any size is written anew for a change of one row.",
        "tables/lanes/direct/table_snapshots.py",
        "None not in counts and sum(counts) <= _MAX_FEW_ROWS",
        "None not in counts",
    ),
    Bug(
        "each-look-asks-for-a-checkpoint",
        "A look at a table where nothing is new takes two requests.",
        "tables/lanes/direct/open_tables.py",
        "if self.was_behind or newest_version(opened) != before:",
        "if newest_version(opened) is not None:",
    ),
)
