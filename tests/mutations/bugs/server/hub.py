"""Seeded bugs of ``server/hub.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_hub.py",
    "tests/unit/test_server_polls.py",
    "tests/unit/test_server_lease_journals.py",
    "tests/unit/test_server_seeks.py",
    "tests/unit/test_server_memory.py",
    "tests/unit/test_server_rims.py",
    "tests/unit/test_server_table_writers.py",
    "tests/unit/test_push_of_successors.py",
    "tests/unit/test_server_push_calls.py",
    "tests/unit/test_rest_transcripts.py",
)

BUGS = (
    Bug(
        "ack-of-a-later-subscription",
        "A server refuses ack ids of a subscription that was created anew elsewhere.",
        "if any(not each.startswith(found.leaser.uid) for each in ack_ids):",
        "if not ack_ids:",
    ),
    Bug(
        "waiting-messages-of-an-earlier-subscription-pushed",
        "Messages that wait for a stream are pushed for a later subscription of the name.",
        "            await self._refresh(running)\n"
        "        found = await self.dispatcher(name)\n"
        "        if found.leaser.uid != uid:\n"
        "            raise replaced(name)\n",
        "            pass\n        found = await self.dispatcher(name)\n",
    ),
    Bug(
        "endpoint-of-an-earlier-subscription",
        "A subscription is pushed to the endpoint of one that was found under its name before.",
        "        if found.leaser.uid != uid:\n            raise replaced(name)\n",
        "",
    ),
    Bug(
        "pull-by-fields-of-long-ago",
        "The first pull after another process has changed the fields goes by the former ones.",
        "            dispatcher.update(stored)\n",
        "            pass\n",
    ),
    Bug(
        "fields-read-before-an-update",
        "An update of this server is undone in it by what was read before.",
        "elif dispatcher.subscription is known:",
        "else:",
    ),
    Bug(
        "damaged-subscription-taken-over-for-ever",
        "What a killed server has left of a damaged subscription is tried each second, for ever.",
        '        except DataLoss as error:\n            logger.warning("%s: nothing',
        '        except ZeroDivisionError as error:\n            logger.warning("%s: nothing',
    ),
    Bug(
        "take-over-held-up",
        "A subscription that cannot be taken over holds up those after it.",
        "done = await asyncio.gather(*map(self._take_over, abandoned), return_exceptions=True)",
        "done = [await self._take_over(each) for each in abandoned]",
    ),
    Bug(
        "left-of-an-earlier-subscription",
        "What a killed server had leased of a deleted subscription is given back of its successor.",
        "if found.uid != left.uid:",
        "if found.name != left.subscription:",
    ),
    Bug(
        "pull-of-a-predecessor",
        "A new pull is given what the server has leased of a deleted subscription of that name.",
        "        if running is not None:\n            await self._refresh(running)\n",
        "        if running is not None and not running.leaser.waiting:\n"
        "            await self._refresh(running)\n",
    ),
    Bug(
        "batchers-are-kept-for-ever",
        "A server keeps something of every topic that was ever published to.",
        "if known.is_idle]:",
        "if known.is_idle and not name]:",
    ),
    Bug(
        "hub-opens-twice",
        "Two first streams at once open two dispatchers of one subscription; ack ids of "
        "one are unknown to the other.",
        "            async with self._opening:\n                found = self.running(name)\n",
        "            async with self._opening:\n",
    ),
    Bug(
        "one-subscription-told",
        "Of the subscriptions of a topic only the first looks for messages after a publish.",
        "                dispatcher.poll()\n\n    def running",
        "                dispatcher.poll()\n                return\n\n    def running",
    ),
    Bug(
        "a-stopping-hub-opens-dispatchers",
        "A server that stops opens dispatchers that nobody stops.",
        "        self._refuse_if_stopping()\n        dispatcher = Dispatcher(\n",
        "        dispatcher = Dispatcher(\n",
    ),
    Bug(
        "a-dispatcher-with-an-id-of-its-own",
        "Ids of a later subscription fail beside one of the earlier one.",
        "if any(not each.startswith(found.leaser.uid) for each in ack_ids):",
        "if all(not each.startswith(found.leaser.uid) for each in ack_ids):",
    ),
    Bug(
        "a-server-pulls-from-a-table-subscription",
        "A pull from a table subscription by a server is not refused.",
        "if fields.push_config is not None or fields.table_config is not None:",
        "if fields.push_config is not None:",
    ),
    Bug(
        "published-to-the-others",
        "A publish does not wake the table writers and pushers of its topic.",
        "        for tell in self.listeners:\n            tell(topic)\n",
        "",
    ),
    Bug(
        "closed-for-a-push-query",
        "The error of a pull from a push subscription shows the secret in its URL.",
        '.push_endpoint.partition("?")[0]',
        ".push_endpoint",
    ),
    Bug(
        "taken-over-messages-wake-nobody",
        "Messages of a dead server are available, and the dispatcher is not told.",
        "        if running is not None:\n            running.poll()\n\n    async def _refresh",
        "\n    async def _refresh",
    ),
    Bug(
        "two-appends-of-a-topic-at-a-time",
        "A publish to another topic lets two appends of a topic run at a time.",
        "for name, known in self._batchers.items() if known.is_idle]",
        "for name, known in self._batchers.items()]",
    ),
    Bug(
        "deleted-subscription-holds-up-what-a-server-left",
        "What a killed server held is not taken over while one of its subscriptions is gone.",
        "        except (NotFound, Detached):\n"
        "            return\n"
        "        except DataLoss as error:",
        "        except Detached:\n            return\n        except DataLoss as error:",
    ),
)
