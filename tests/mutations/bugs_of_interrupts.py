"""Bugs of calls that end by Ctrl-C, and of what is sent to other processes."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_INTERRUPTS = (
    Bug(
        "interrupted-snapshot-keeps-its-name",
        "Ctrl-C while a snapshot is created leaves its announcement.",
        "operations/snapshot.py",
        "except (Exception, KeyboardInterrupt, SystemExit):",
        "except Exception:",
    ),
    Bug(
        "interrupted-dead-letter-policy-stays",
        "Ctrl-C while a dead-letter topic is given leaves it unprotected.",
        "operations/administer.py",
        "except (Exception, KeyboardInterrupt, SystemExit):",
        "except Exception:",
    ),
    Bug(
        "announcement-outside-of-what-is-undone",
        "An announcement that landed, and whose call failed then, stays.",
        "operations/snapshot.py",
        "tables.registry.remove_snapshot(snapshot.uid)\n            raise",
        "if is_announced:\n"
        "                    tables.registry.remove_snapshot(snapshot.uid)\n"
        "            raise",
    ),
    Bug(
        "store-is-pickled-without-a-word",
        "A store that is sent to another process ends in an error about a lock.",
        "threads.py",
        "    def __reduce__(self) -> NoReturn:",
        "    def reduce(self) -> NoReturn:",
    ),
)
