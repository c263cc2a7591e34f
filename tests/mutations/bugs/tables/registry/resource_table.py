"""Seeded bugs of ``tables/registry/resource_table.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_changed_at_that_moment.py",
    "tests/unit/test_resource_table.py",
    "tests/lanes/test_registry.py",
    "tests/lanes/test_tables_that_are_gone.py",
    "tests/unit/test_lost_registry.py",
    "tests/unit/test_lost_answers.py",
    "tests/unit/test_layout_version.py",
    "tests/unit/test_tables_in_memory.py",
    "tests/unit/test_snapshot_calls.py",
    "tests/unit/test_if_unchanged.py",
    "tests/unit/test_expiration.py",
)

BUGS = (
    Bug(
        "rows-of-an-earlier-store",
        "A process reads the resources of a store that was removed, where another was created.",
        "            if (version, table_id) != (last, self._last_id):\n",
        "            if version != last:\n",
    ),
    Bug(
        "merge-ignores-etag",
        "The row of a resource is changed whether or not it is as it was read.",
        '(("uid", "=", "uid"), ("etag", "=", "expected_etag"))',
        '(("uid", "=", "uid"),)',
    ),
    Bug(
        "delete-ignores-etag",
        "The row of a resource is deleted whether or not it is as it was checked.",
        'unchanged: Where = [("uid", "=", uid), ("etag", "=", row["etag"])]',
        'unchanged: Where = [("uid", "=", uid)]',
    ),
    Bug(
        "lost-race-told-as-changed",
        "A change of a resource that lost its race is told as made.",
        "        if not changed:\n",
        "        if False:\n",
    ),
    Bug(
        "own-change-told-as-of-another",
        "A change of a resource whose answer was lost is told as failed.",
        "if not self._has_landed(row, etag, version):",
        "if True:",
    ),
    Bug(
        "own-change-below-others",
        "A change whose answer was lost is made again if others have changed the row since.",
        "for between in range(newest - 1, version, -1)",
        "for between in range(0)",
    ),
    Bug(
        "own-row-told-as-missing",
        "A resource whose creation lost its answer is told as not created.",
        '            if self.row(row["uid"]) is None:\n                raise\n',
        "            raise\n",
    ),
    Bug(
        "rows-remembered-for-ever",
        "A process does not see what others have written to the registry since it looked.",
        "if (version, table_id) != (last, self._last_id):",
        "if last is None:",
    ),
    Bug(
        "layout-compared-at-start-only",
        "A process that runs does not notice that the store was upgraded.",
        "                self._check_layout_version()  # rows of another layout might not be read",
        "                if last is None:\n"
        "                    self._check_layout_version()  # rows might not be read",
    ),
    Bug(
        "another-snapshot-finished",
        "A snapshot that another thread has announced is finished in place of this one.",
        'if added is not None and added[1]["uid"] == uid:',
        "if added is not None:",
    ),
    Bug(
        "lost-registry-is-empty",
        "Retention deletes what the rows keep that a half restored store has no more.",
        "            self._check_not_lost()\n            return -1, []",
        "            return -1, []",
    ),
    Bug(
        "lost-schemas-were-never-there",
        "Half of a store that was restored is told as a deleted schema, and gets another table.",
        "self._created_later)) or self._is_named()",
        "self._created_later))",
    ),
    Bug(
        "remove-swallows",
        "A deletion of a row that failed is told as done: the subscription is still there.",
        "                if self.row(uid) is not None:\n                    raise\n        "
        "        return True\n",
        "                return True\n",
    ),
    Bug(
        "half-a-creation-is-no-loss",
        "A lost table of topics passes for one that never was, where snapshots had no table yet.",
        "any(map(self._lane.exists, self._created_later))",
        "all(map(self._lane.exists, self._created_later))",
    ),
    Bug(
        "the-first-version-after-is-not-asked",
        "An update that landed, and whose answer was lost, has failed if others followed.",
        "range(newest - 1, version, -1)",
        "range(newest - 1, version + 1, -1)",
    ),
    Bug(
        "added-row-swapped-blindly",
        "A change of a new resource fails if somebody has changed it first.",
        "            with suppress(Conflict):\n"
        "                self._swap(added[1], columns, added[0])\n"
        "                return True\n",
        "            self._swap(added[1], columns, added[0])\n            return True\n",
    ),
    Bug(
        "compacted-at-each-row",
        "Each new resource joins all small files of the registry.",
        "if version % COMPACT_INTERVAL == 0:",
        "if version % COMPACT_INTERVAL != 1:",
    ),
    Bug(
        "layout-is-checked-once",
        "After a table of another layout was refused, a row is added to it.",
        "            self._last = (None, [])  # so that an insert checks again\n",
        "",
    ),
    Bug(
        "row-that-was-changed-meanwhile-counts-as-deleted",
        "A deletion is told as done though an update was faster, and the resource is still there.",
        "                if self._lane.delete(self._table, unchanged, self._new_id()):",
        "                if self._lane.delete(self._table, unchanged, self._new_id()) >= 0:",
    ),
    Bug(
        "creation-that-lost-a-race-was-there-before",
        "Who creates a resource while another one is created is told that it exists.",
        '            if self.row(row["uid"]) is None:\n                raise',
        '            if self.row(row["uid"]) is None:\n                return False',
    ),
)
