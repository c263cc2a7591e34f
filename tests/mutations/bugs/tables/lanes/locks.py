"""Seeded bugs of ``tables/lanes/locks.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_locks.py",)

BUGS = (
    Bug(
        "lock-named-as-written",
        "A table has one lock for each way to write its root.",
        "os.path.relpath(os.path.realpath(on_disk(path) or path), root)",
        '"/".join(path.split("/")[-2:])',
    ),
    Bug(
        "lock-named-by-its-schema",
        "A table of a catalog has one lock for each name of its schema.",
        'within = table.rpartition(".")[2]',
        "within = table",
    ),
    Bug(
        "lock-waited-for-for-ever",
        "Everybody waits for a process that is stopped.",
        "lock.acquire(timeout=patience, blocking=wait)",
        "lock.acquire(blocking=wait)",
    ),
    Bug(
        "file-for-a-root-is-no-error-of-ours",
        "Who names a file as the root sees a stack trace.",
        "except (NotADirectoryError, FileExistsError, FileNotFoundError) as error:",
        "except (FileExistsError, FileNotFoundError) as error:",
    ),
    Bug(
        "impossible-root-is-damage",
        "Who names a root that cannot be made is told to restore a store from a copy.",
        "except (NotADirectoryError, FileExistsError, FileNotFoundError) as error:",
        "except (NotADirectoryError, FileExistsError) as error:",
    ),
    Bug(
        "lock-held-by-any-thread",
        "A lock that one thread holds lets others through.",
        "class _HeldLocks(threading.local):",
        "class _HeldLocks:",
    ),
    Bug(
        "topic-of-a-catalog-has-little-patience",
        "A writer waits five minutes only for the lock of a topic in a catalog.",
        'name.startswith("messages")',
        'name.startswith("messages-")',
    ),
    Bug(
        "beginning-of-a-long-lock-name",
        "Tables whose long paths begin alike share a lock.",
        ")[-200:]",
        ")[:200]",
    ),
    Bug(
        "a-lane-that-must-not-write",
        "The lane that may not write on S3 writes there.",
        """        refusal = None if self._refusal is None else self._refusal()
""",
        """        refusal = None
""",
    ),
)
