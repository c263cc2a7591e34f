"""Seeded bugs of ``server/table_writing.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_table_writers.py",
    "tests/lanes/test_table_server.py",
    "tests/unit/test_server_loops.py",
)

BUGS = (
    Bug(
        "a-failure-is-no-pause",
        "A server tries to write to a table that is gone again and again, without a pause.",
        "wait = min(SHORTEST_PAUSE * 2**self._failures, LONGEST_PAUSE)",
        "wait = min(SHORTEST_PAUSE, LONGEST_PAUSE)",
    ),
    Bug(
        "writer-wakes-for-another-topic",
        "A publish wakes no table writer, which looks for messages up to its longest pause later.",
        "if writer.topic == topic:",
        "if writer.topic != topic:",
    ),
    Bug(
        "ended-writer-stays",
        "A table writer that has ended is never started again.",
        "if running is not None and not running.is_over:\n            running.topic",
        "if running is not None:\n            running.topic",
    ),
    Bug(
        "failures-of-a-table-are-never-forgotten",
        "A table that failed some days ago waits a minute after its next failure.",
        "            self._failures = 0\n            if done.is_done",
        "            if done.is_done",
    ),
    Bug(
        "publish-ends-a-writers-pause",
        "Each publish ends the pause before a table that cannot be written.",
        "await asyncio.wait_for(self._ended.wait(), wait)",
        "await asyncio.wait_for(self._woken.wait(), wait)",
    ),
    Bug(
        "one-writer-woken",
        "Of the table subscriptions of a topic a publish wakes only one.",
        "                writer.wake()\n\n",
        "                writer.wake()\n                return\n\n",
    ),
    Bug(
        "a-publish-during-a-table-write-is-lost",
        "A publish during a write to a table does not wake the writer.",
        "            if done.is_done and not self._ended.is_set():\n",
        "            if done.is_done and not self._ended.is_set():\n"
        "                self._woken.clear()\n",
    ),
    Bug(
        "pause-for-each-unfit-row",
        "Table writers back off for each message that does not fit.",
        "(done.failed and not done.written)",
        "done.failed",
    ),
    Bug(
        "woken-writer-waits-longer",
        "A table is written later and later though messages come.",
        "pause = self._timing.shortest_poll if woken else longer",
        "pause = longer",
    ),
    Bug(
        "leased-beside-a-table",
        "What a dispatcher had leased is not written to the new table until its leases end.",
        "                pulled.leaser.give_back_waiting()\n",
        "",
    ),
    Bug(
        "slice-holds-up-calls",
        "While a table is written whose subscription has changed, no subscription is created.",
        "            running.end()\n",
        "            await running.stop()\n",
    ),
    Bug(
        "slice-after-its-end",
        "A writer that has waited for its turn writes a slice though it has ended.",
        "if self._ended.is_set():  # while",
        "if False:  # while",
    ),
)
