"""Bugs of the compare-and-swap, of dead letters on their way, and of ack states as rows."""

from __future__ import annotations

from tests.mutations.bug import Bug

_ACK_STATES = "tables/ack_states.py"
_ROWS = "tables/state_rows.py"

_CACHED_IDS = "tests/delta/test_id_frames.py::test_cached_ids_are_those_that_are_acknowledged"
_REMOVED = (
    "tests/delta/test_log_cleanup.py"
    "::test_an_ack_state_forgets_what_only_forgotten_commits_have_removed"
)

BUGS_OF_TABLES = (
    Bug(
        "revision-not-raised",
        "A state is stored under the revision of the one before.",
        _ACK_STATES,
        "following = Stored(state, stored.revision + 1, recent)",
        "following = Stored(state, stored.revision, recent)",
    ),
    Bug(
        "own-commit-not-recognised",
        "A swap whose answer was lost is decided again although it landed.",
        _ACK_STATES,
        "        if commit_id in now.recent_commits:\n            return True\n",
        "",
    ),
    Bug(
        "memory-believed",
        "A change that changes nothing is answered from memory, however old that is.",
        _ACK_STATES,
        "if state == remembered.state and self._port.read(uid).revision == remembered.revision:",
        "if state == remembered.state:",
    ),
    Bug(
        "lost-swap-remembered",
        "A state whose swap was lost is remembered as if it were stored.",
        _ACK_STATES,
        "        if landed:\n            self._written[uid] = following",
        "        self._written[uid] = following",
    ),
    Bug(
        "too-many-others",
        "A swap that landed is decided again, if more others followed than are remembered.",
        _ACK_STATES,
        "if now.revision - expected >= REMEMBERED_COMMITS:",
        "if now.revision - expected > REMEMBERED_COMMITS + 1:",
    ),
    Bug(
        "swap-without-revision",
        "The revision is not compared when an ack state is replaced.",
        "tables/ack_state_tables.py",
        "number=following.revision",
        "number=self.read(uid).revision + 1",
        needs_spark=(
            "tests/delta/test_concurrency.py"
            "::test_who_remembers_an_old_state_reads_again_and_decides_again",
        ),
    ),
    Bug(
        "skipped-swap-believed",
        "A swap that Delta has skipped is taken for one that landed.",
        "tables/ack_state_tables.py",
        "if commit_id in now.recent_commits:",
        "if now.recent_commits:",
        needs_spark=(
            "tests/delta/test_concurrency.py"
            "::test_a_swap_that_comes_second_changes_nothing_and_says_so",
        ),
    ),
    Bug(
        "restored-state-stuck",
        "The numbers of a restored ack state's table are all taken, and nothing lands any more.",
        "tables/ack_state_tables.py",
        "            self._renumber(table, expected_revision)",
        "            pass",
        needs_spark=("tests/delta/test_concurrency.py::test_a_restored_ack_state_goes_on",),
    ),
    Bug(
        "last-checksum-forgotten",
        "The checksum of the last checkpoint's commit is forgotten, too.",
        "tables/log_cleanup.py",
        "int(found[1]) < last]",
        "int(found[1]) <= last]",
    ),
    Bug(
        "passing-retention-stays",
        "A retention that was to be in force for a moment is not changed back by who comes next.",
        "tables/removed_files.py",
        "kept + WORTH_IT or _is_passing(properties)",
        "kept + WORTH_IT",
    ),
    Bug(
        "own-retention-lost",
        "A table's own retention is replaced by that of all tables.",
        "tables/removed_files.py",
        "    if not _is_passing(properties):\n        own",
        "    if False:\n        own",
    ),
    Bug(
        "marks-carried-along",
        "Marks of removed files stay in the checkpoints of ack states.",
        "tables/removed_files.py",
        'f"interval {seconds:d} seconds"',
        "ACK_STATE.properties[RETENTION]",
        needs_spark=(_REMOVED,),
    ),
    Bug(
        "cached-ids-planned-anew",
        "Ids that are cached are planned anew, with their row ids.",
        "tables/id_frames.py",
        '"FileScan", ',
        '"FileScan", "InMemoryTableScan", "InMemoryRelation", ',
        needs_spark=(_CACHED_IDS,),
    ),
    Bug(
        "cache-dropped-with-a-view",
        "Ids lose what is cached of them when they are looked at.",
        "tables/id_frames.py",
        "query = frame.where(F.lit(True))",
        "query = frame",
        needs_spark=(_CACHED_IDS,),
    ),
    Bug(
        "row-ids-believed",
        "Row ids are folded whether or not the ids beside them are theirs.",
        "tables/id_frames.py",
        "if proven else None",
        "",
        needs_spark=("tests/delta/test_id_frames.py::test_ids_that_may_be_anything_are_read",),
    ),
    Bug(
        "restore-undone",
        "Whoever remembers a later state writes over one that was restored.",
        "tables/ack_state_tables.py",
        "if self._has_moved_on(uid, following.recent_commits[1:], expected_revision):",
        "if False:",
        needs_spark=(
            "tests/delta/test_concurrency.py::test_who_remembers_a_state_does_not_undo_a_restore",
        ),
    ),
    Bug(
        "change-without-condition",
        "The row of a resource is changed whether or not it is as it was read.",
        "tables/seen.py",
        "compared: list[str] = [_same(columns[name], name in there) for name in self.columns]",
        "compared: list[str] = []",
        needs_spark=(
            "tests/delta/test_if_unchanged.py"
            "::test_of_two_writers_who_read_the_same_the_second_is_told",
        ),
    ),
    Bug(
        "own-change-told-as-of-another",
        "A change on condition whose answer was lost is told as that of another.",
        "tables/registry.py",
        "return changed > 0 or (seen is not None and self._commits.has_merged(table, seen.mark))",
        "return changed > 0",
        needs_spark=(
            "tests/delta/test_if_unchanged.py"
            "::test_a_change_whose_answer_was_lost_is_not_told_as_that_of_another",
        ),
    ),
    Bug(
        "forgotten-before-append",
        "Dead letters are forgotten on the subscription before they are appended.",
        "tables/dead_letters.py",
        "        assert target is not None\n",
        "        assert target is not None\n"
        "        tables.ack_states.change(source.uid, partial(_finish, forwarded, number))\n",
    ),
    Bug(
        "dead-letters-under-a-new-number",
        "Dead letters are appended under the number that is next, and so perhaps twice.",
        "tables/dead_letters.py",
        'append(letters, now, f"{uid}:{number}", (uid, number))',
        'append(letters, now, f"{uid}:{number}", (uid, tables.ack_states.read(uid).next_lease_id))',
        needs_spark=(
            "tests/delta/test_dead_letters.py"
            "::test_a_crash_on_the_way_neither_loses_nor_duplicates",
        ),
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
        'if seal[len(_SEAL) :] != zlib.crc32(body).to_bytes(4, "big"):',
        "if not seal[len(_SEAL) :]:",
    ),
    Bug(
        "count-not-checked",
        "A bitmap is read although it holds fewer positions than were written.",
        _ROWS,
        'if len(positions) != row["message_count"]:',
        'if len(positions) > row["message_count"]:',
    ),
)
