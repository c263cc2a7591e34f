"""Seeded bugs of ``console/leased_batches.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_leased_batches.py",
    "tests/unit/test_console_messages.py",
    "tests/unit/test_console_whole_pages.py",
)

BUGS = (
    Bug(
        "one-batch-less-is-kept",
        "The console keeps 19 pulled batches in place of 20.",
        "while len(self._batches) > MAX_KEPT:",
        "while len(self._batches) >= MAX_KEPT:",
    ),
    Bug(
        "acked-stay-on-the-page",
        "Messages that were acknowledged by hand stay on their page.",
        "if each.ack_id not in ack_ids)",
        ")",
    ),
    Bug(
        "batch-of-another-subscription",
        "The page of a subscription shows the batch of another one.",
        "return found if found is not None and found.subscription == subscription else None",
        "return found",
    ),
    Bug(
        "a-batch-in-use-is-dropped",
        "A batch of the console that was used last is dropped first.",
        "            self._batches.move_to_end(batch.id)\n",
        "",
    ),
)
