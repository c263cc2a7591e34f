"""Seeded bugs of ``threads.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_started_threads.py",
    "tests/unit/test_subscriber_end.py",
    "tests/lanes/test_exits.py",
)

BUGS = (
    Bug(
        "interrupted-start-leaves-threads",
        "Ctrl-C while a StreamingPull starts leaves one that nobody can cancel.",
        "    except BaseException:\n        stop()",
        "    except RuntimeError:\n        stop()",
    ),
    Bug(
        "a-fork-stops-its-parent",
        "A forked process waits at its exit for threads that only its parent has.",
        "    os.register_at_fork(after_in_child=_working.clear)\n",
        "    pass\n",
    ),
    Bug(
        "no-work-at-exit",
        "What is done in threads fails when the interpreter exits.",
        "            results = map(work, items)\n",
        "            raise\n",
    ),
)
