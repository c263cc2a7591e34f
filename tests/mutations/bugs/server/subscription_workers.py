"""Seeded bugs of ``server/subscription_workers.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_push_changes.py",
    "tests/unit/test_push_of_successors.py",
    "tests/unit/test_rest_transcripts.py",
)

BUGS = (
    Bug(
        "refresh-stale",
        "A refresh that read the registry before a change of this server undoes it: it "
        "pushes to the old endpoint again.",
        "            if applied != self._applied:\n                return  #",
        "            if applied > self._applied:\n                return  #",
    ),
    Bug(
        "worker-of-the-detached",
        "A detached subscription that is changed is pushed again.",
        "if self.needs_worker(subscription) and not subscription.detached:",
        "if self.needs_worker(subscription):",
    ),
    Bug(
        "a-refresh-believes-what-it-read-before",
        "A refresh of workers takes back a change that was applied while it read.",
        "        applied = self._applied\n        found = await self.subscriptions()\n",
        "        found = await self.subscriptions()\n        applied = self._applied\n",
    ),
    Bug(
        "a-failed-refresh-is-repeated-at-once",
        "A refresh of workers that fails is tried again without a pause.",
        '                logger.exception("%s: the subscriptions could not '
        'be read", self.name)\n'
        "            await asyncio.sleep(REFRESH_SECONDS)",
        '                logger.exception("%s: the subscriptions could not '
        'be read", self.name)\n'
        "            else:\n"
        "                await asyncio.sleep(REFRESH_SECONDS)",
    ),
    Bug(
        "workers-start-during-the-end",
        "A server that stops starts workers of changed subscriptions.",
        "        self._is_stopping = True\n",
        "",
    ),
)
