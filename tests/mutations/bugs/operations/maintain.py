"""Seeded bugs of ``operations/maintain.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_expiration.py",
    "tests/unit/test_expired_snapshots.py",
    "tests/unit/test_retention_job.py",
    "tests/unit/test_races.py",
    "tests/unit/test_cleaned_logs.py",
    "tests/unit/test_many_dead_letters.py",
    "tests/lanes/test_tables_that_are_gone.py",
    "tests/lanes/test_table_writes.py",
    "tests/lanes/test_table_slices.py",
    "tests/lanes/test_table_ended.py",
    "tests/unit/test_maintenance_problems.py",
    "tests/unit/test_wrong_arguments.py",
)

BUGS = (
    Bug(
        "dry-run-of-dead-letters-under-way",
        "A dry run does not count dead letters that are under way.",
        "count = sum(map(len, decided.in_state(State.FORWARDING)))",
        "count = len(decided.in_state(State.FORWARDING)) - len(state.in_state(State.FORWARDING))",
    ),
    Bug(
        "retention-that-fails-stops-the-rest",
        "A topic whose retention is not known is not optimized.",
        "if duties.optimize and not duties.dry_run:",
        "if duties.optimize and not duties.dry_run and kept.name not in report.problems:",
    ),
    Bug(
        "dry-run-deletes-snapshots",
        "A dry run deletes expired snapshots.",
        "gone = report.dry_run or registry.remove_expired_snapshot(snapshot.uid, now)",
        "gone = registry.remove_expired_snapshot(snapshot.uid, now) or report.dry_run",
    ),
    Bug(
        "ended-writes-told-as-problem",
        "A table subscription that is deleted while maintain runs is told as a problem.",
        "if source is not None and source.subscription.table_config is not None:",
        "if subscription.table_config is not None:",
    ),
    Bug(
        "report-of-one-deleted-topic",
        "The report of maintain counts the messages of one deleted topic of a name, not of all.",
        "counts[name] = counts.get(name, 0) + count",
        "counts[name] = count",
    ),
    Bug(
        "maintain-forwards-by-an-old-policy",
        "maintain forwards dead letters by a policy that was cleared since the run began.",
        "source = still_attached(tables, subscription)\n            if source is None:",
        "source = source_of(tables, subscription, _)\n            if source is None:",
    ),
    Bug(
        "living-snapshot-told-as-deleted",
        "maintain tells that a snapshot is deleted, where a later one of its name lives.",
        "if gone and registry.snapshot(snapshot.name, now) is None:",
        "if gone:",
    ),
    Bug(
        "letters-hide-the-table",
        "maintain tells of a dead-letter topic that is gone, and not of the table of its source.",
        "_tell(report, subscription.name, done.problem)",
        "report.problems[subscription.name] = done.problem",
    ),
    Bug(
        "detached-forwards",
        "The dead letters of a detached subscription are forwarded.",
        "tables.registry.sources():\n        if subscription.detached:\n            continue\n",
        "tables.registry.sources():\n",
    ),
    Bug(
        "false-is-true",
        'A duty that a job gives as the text "false" is done.',
        'if each.name != "log_retention":',
        'if each.name == "exact":',
    ),
    Bug(
        "remains-of-a-crash-stay",
        "What a crashed creation of a snapshot has left stays for ever.",
        "for snapshot in (*registry.expired_snapshots(now), *registry.abandoned_snapshots(now)):",
        "for snapshot in registry.expired_snapshots(now):",
    ),
    Bug(
        "dry-run-vacuums",
        "maintain(dry_run=True) with vacuum removes files of ack states and the registry.",
        "    if duties.vacuum and not duties.dry_run:\n        for each",
        "    if duties.vacuum:\n        for each",
    ),
    Bug(
        "last-problem-only",
        "Of two problems of a resource maintain tells the last.",
        'told if why in told else f"{told}; {why}".removeprefix("; ")',
        "told if why in told else why",
    ),
    Bug(
        "registry-stops-maintain",
        "A registry that cannot be vacuumed ends a run of maintain, and its report is lost.",
        '        with _reporting(report, "registry"):\n            tables.registry.vacuum()\n',
        "        tables.registry.vacuum()\n",
    ),
    Bug(
        "dry-run-without-writes-under-way",
        "A dry run of maintain leaves out the messages whose write to a table is under way.",
        "else state.count(State.AVAILABLE, State.WRITING), problem",
        "else state.count(State.AVAILABLE), problem",
    ),
    Bug(
        "letters-end-at-a-detached-one",
        "maintain forwards no dead letters of subscriptions that are listed after a detached one.",
        "            continue\n"
        "        with _reporting(report, subscription.name):\n"
        "            source =",
        "            break\n"
        "        with _reporting(report, subscription.name):\n"
        "            source =",
    ),
    Bug(
        "tables-end-at-a-detached-one",
        "maintain writes no tables of subscriptions that are listed after a detached one.",
        "            continue\n"
        "        with _reporting(report, subscription.name):\n"
        "            try:",
        "            break\n        with _reporting(report, subscription.name):\n            try:",
    ),
    Bug(
        "problem-behind-letters",
        "maintain tells no reason why some dead letters were not forwarded if others were.",
        "            if done.problem:\n"
        "                _tell(report, subscription.name, done.problem)\n",
        "            elif done.problem:\n"
        "                _tell(report, subscription.name, done.problem)\n",
    ),
    Bug(
        "maintain-by-an-old-clock",
        "maintain judges by the time before it wrote to tables, however long that took.",
        "    if duties.tables:\n        _write_tables(tables, clock, report)\n    now = clock()\n",
        "    now = clock()\n    if duties.tables:\n        _write_tables(tables, clock, report)\n",
    ),
    Bug(
        "a-dry-run-optimizes",
        "A dry run of maintain joins files.",
        "if duties.optimize and not duties.dry_run:",
        "if duties.optimize:",
    ),
    Bug(
        "dry-run-writes-to-a-table-that-is-gone",
        "A dry run of maintain counts messages for a table that is gone as written.",
        "return 0 if problem else state",
        "return state",
    ),
    Bug(
        "dry-run-forwards-to-a-topic-that-is-gone",
        "A dry run of maintain says nothing of a dead-letter topic that is gone.",
        "done = dead_letters.Forwarded(count, problem)",
        "done = dead_letters.Forwarded(count)",
    ),
    Bug(
        "a-dry-run-writes-what-is-leased",
        "A dry run of maintain counts messages under a lease or a backoff as to be written.",
        "else state.count(State.AVAILABLE, State.WRITING), problem",
        "else state.count(), problem",
    ),
    Bug(
        "ack-states-are-never-vacuumed",
        "The files that an ack state needs no more stay for ever.",
        "tables.ack_state_tables.vacuum(each.uid)",
        "tables.ack_state_tables.read(each.uid)",
    ),
    Bug(
        "killed-expiration-is-for-ever",
        "A subscription stays invisible whose job was killed as it expired.",
        "(*begun, *((each, None) for each, _ in registry.sources()))",
        "(*begun[:0], *((each, None) for each, _ in registry.sources()))",
    ),
)
