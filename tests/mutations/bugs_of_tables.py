"""Bugs of ack states as rows, of their compare-and-swap, and of the registry's."""

from __future__ import annotations

from tests.mutations.bug import Bug

_STATES = "tables/ack_state/states.py"
_TABLES = "tables/ack_state/tables.py"
_ROWS = "tables/ack_state/rows.py"
_LOCKS = "tables/lanes/locks.py"
_RESOURCES = "tables/registry/resource_table.py"

BUGS_OF_TABLES = (
    Bug(
        "revision-not-raised",
        "A state is stored under the revision of the one before.",
        _STATES,
        "following = StoredAckState(state, stored.revision + 1, recent, version)",
        "following = StoredAckState(state, stored.revision, recent, version)",
    ),
    Bug(
        "own-commit-not-recognised",
        "A swap whose answer was lost is decided again although it landed.",
        _STATES,
        "        if commit_id in now.recent_commits:\n            return True\n",
        "",
    ),
    Bug(
        "own-conflict-believed",
        "A swap that met its own commit in object storage is decided again.",
        _STATES,
        "landed = commit_id in self._storage.read(uid).recent_commits",
        "landed = False",
    ),
    Bug(
        "memory-believed",
        "A change that changes nothing is answered from memory, however old that is.",
        _STATES,
        "                if self._storage.read(uid).is_same(cached):\n",
        "                if remembered.is_same(cached):\n",
    ),
    Bug(
        "same-revision-same-state",
        "A state is taken for another one of the same revision, after a restore.",
        _STATES,
        "return (self.revision, self.commit_id) == (other.revision, other.commit_id)",
        "return self.revision == other.revision",
    ),
    Bug(
        "lost-swap-remembered",
        "A state whose swap was lost is remembered as if it were stored.",
        _STATES,
        "        if landed:\n            self._cache[uid] = following",
        "        self._cache[uid] = following",
    ),
    Bug(
        "too-many-others",
        "A swap that landed is decided again, if more others followed than are remembered.",
        _STATES,
        "if now.revision - expected >= RECENT_COMMITS:",
        "if now.revision - expected > RECENT_COMMITS + 1:",
    ),
    Bug(
        "swap-without-commit-id",
        "Whoever remembers a later state writes over one that was restored.",
        _TABLES,
        '[("revision", "=", "expected_revision"), ("commit_id", "=", "expected_commit_id")]',
        '[("revision", "=", "expected_revision")]',
    ),
    Bug(
        "dropped-table-stays-open",
        "A process keeps what it holds of tables that it has dropped, some hundred of them.",
        "tables/lanes/direct/tables.py",
        "            self.open_tables.forget(table)\n            try:\n                opened =",
        "            try:\n                opened =",
    ),
    Bug(
        "swap-of-nothing-believed",
        "A swap that changed no row is taken for one that landed.",
        "tables/lanes/direct/tables.py",
        "return self.merge(table, rows, merge) == 1",
        "return self.merge(table, rows, merge) >= 0",
    ),
    Bug(
        "dropped-snapshot-is-damaged",
        "A snapshot whose table has been dropped is told as damaged.",
        "tables/ack_state/snapshots.py",
        "if rows.num_rows == 0:",
        "if rows.num_rows < 0:",
    ),
    Bug(
        "history-numbered-as-before",
        "Commits that landed while a history was read are given versions of earlier ones.",
        "tables/lanes/direct/history.py",
        "return version + commits.index(known[0]), commits",
        "return version, commits",
    ),
    Bug(
        "merge-ignores-etag",
        "The row of a resource is changed whether or not it is as it was read.",
        _RESOURCES,
        '(("uid", "=", "uid"), ("etag", "=", "expected_etag"))',
        '(("uid", "=", "uid"),)',
    ),
    Bug(
        "delete-ignores-etag",
        "The row of a resource is deleted whether or not it is as it was checked.",
        _RESOURCES,
        'unchanged: Where = [("uid", "=", uid), ("etag", "=", row["etag"])]',
        'unchanged: Where = [("uid", "=", uid)]',
    ),
    Bug(
        "lost-race-told-as-changed",
        "A change of a resource that lost its race is told as made.",
        _RESOURCES,
        "        if not changed:\n",
        "        if False:\n",
    ),
    Bug(
        "own-change-told-as-of-another",
        "A change of a resource whose answer was lost is told as failed.",
        _RESOURCES,
        "if not self._has_landed(row, etag, version):",
        "if True:",
    ),
    Bug(
        "own-change-below-others",
        "A change whose answer was lost is made again if others have changed the row since.",
        _RESOURCES,
        "for between in range(newest - 1, version, -1)",
        "for between in range(0)",
    ),
    Bug(
        "own-row-told-as-missing",
        "A resource whose creation lost its answer is told as not created.",
        _RESOURCES,
        '            if self.row(row["uid"]) is None:\n                raise\n',
        "            raise\n",
    ),
    Bug(
        "rows-remembered-for-ever",
        "A process does not see what others have written to the registry since it looked.",
        _RESOURCES,
        "if (version, table_id) != (last, self._last_id):",
        "if last is None:",
    ),
    Bug(
        "lock-named-as-written",
        "A table has one lock for each way to write its root.",
        _LOCKS,
        "os.path.relpath(os.path.realpath(on_disk(path) or path), root)",
        '"/".join(path.split("/")[-2:])',
    ),
    Bug(
        "lock-named-by-its-schema",
        "A table of a catalog has one lock for each name of its schema.",
        _LOCKS,
        'within = table.rpartition(".")[2]',
        "within = table",
    ),
    Bug(
        "lock-waited-for-for-ever",
        "Everybody waits for a process that is stopped.",
        _LOCKS,
        "lock.acquire(timeout=patience, blocking=wait)",
        "lock.acquire(blocking=wait)",
    ),
    Bug(
        "announced-holds-nothing",
        "What only a snapshot holds that is being taken is deleted.",
        "tables/registry/registry.py",
        "return held + [EVERY_MESSAGE for row in rows if is_announced(row)]",
        "return held",
    ),
    Bug(
        "lengthened-snapshot-deleted",
        "A snapshot that is given more time at the end of its time is deleted.",
        "tables/registry/registry.py",
        "            return is_there and check(row)",
        "            return is_there",
    ),
    Bug(
        "floor-not-stored",
        "A purge until a later time is forgotten when the ack state is stored.",
        _ROWS,
        '"floor": state.floor,',
        '"floor": None,',
    ),
    Bug(
        "seek-without-coverage",
        "A noted seek forgets what the topic's retention covered.",
        _ROWS,
        'covered_from=utc(row["covered_from"]),',
        "covered_from=None,",
    ),
    Bug(
        "seal-not-checked",
        "A bitmap is read although its checksum is wrong.",
        _ROWS,
        'if checksum[len(_CHECKSUM_MARK) :] != zlib.crc32(body).to_bytes(4, "big"):',
        "if not checksum[len(_CHECKSUM_MARK) :]:",
    ),
    Bug(
        "count-not-checked",
        "A bitmap is read although it holds fewer positions than were written.",
        _ROWS,
        'if len(positions) != row["message_count"]:',
        'if len(positions) > row["message_count"]:',
    ),
)
