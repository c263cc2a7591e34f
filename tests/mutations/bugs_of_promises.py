"""Bugs of what ``docs/guarantees.md`` promises, found by trying to break each sentence of it."""

from __future__ import annotations

from tests.mutations.bug import Bug

_MAINTAIN = "operations/maintain.py"
_REGISTRY = "tables/registry/registry.py"

BUGS_OF_PROMISES = (
    Bug(
        "expired-snapshot-holds-nothing",
        "Retention deletes what a snapshot holds that is given more time, by a clock behind.",
        _MAINTAIN,
        "now if report.dry_run else None)",
        "now)",
    ),
    Bug(
        "dry-run-keeps-expired-snapshots",
        "A dry run reports fewer messages than are deleted, where a snapshot has expired.",
        _MAINTAIN,
        "now if report.dry_run else None)",
        "None)",
    ),
    Bug(
        "expired-snapshot-keeps-its-row",
        "Two snapshots have one name, where an expired one is given more time by a clock behind.",
        "tables/registry/predicates.py",
        '        return bool(row["expire_time"] <= now)\n    return is_announced(row) and',
        "        return False\n    return is_announced(row) and",
    ),
    Bug(
        "lengthened-snapshot-lapses",
        "A snapshot lapses that somebody has given more time just now.",
        _REGISTRY,
        'self._lapse(each["uid"], gives_way)',
        'self._lapse(each["uid"], lambda _: True)',
    ),
    Bug(
        "missing-table-is-no-damage",
        "A table of the store that is gone is an error that no user knows.",
        "tables/lanes/protocol.py",
        "class TableMissing(DataLoss):",
        "class TableMissing(Exception):",
    ),
    Bug(
        "put-back-without-its-policy",
        "A subscription that was used while it expired has lost its IAM policy.",
        _REGISTRY,
        "        return self._subscriptions.add(row, TAKEN)\n\n    # Snapshots",
        '        plain = {**row, "iam_policy": None}\n'
        "        return self._subscriptions.add(plain, TAKEN)\n\n    # Snapshots",
    ),
)
