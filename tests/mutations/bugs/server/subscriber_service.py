"""Seeded bugs of ``server/subscriber_service.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_acks_of_one_call.py",
    "tests/unit/test_server_targets.py",
    "tests/unit/test_server_answers.py",
    "tests/unit/test_server_rims.py",
    "tests/unit/test_server_pull.py",
    "tests/unit/test_server_replies.py",
    "tests/unit/test_server_seeks.py",
    "tests/unit/test_server_access_changes.py",
    "tests/unit/test_server_push_calls.py",
    "tests/unit/test_server_push.py",
    "tests/unit/test_server_table_writers.py",
    "tests/unit/test_server_partial_updates.py",
    "tests/unit/test_rest_transcripts.py",
)

BUGS = (
    Bug(
        "account-checked-once",
        "Whoever changes an endpoint gets tokens of an account that was set since the check.",
        "if self._access is not None and unchanged is not None:",
        "if self._access is not None and unchanged is None:",
    ),
    Bug(
        "updates-used-in-any-order",
        "Of two updates at a time the one that was stored first is used for ten seconds.",
        "        async with lock:\n            changed",
        "        if lock:\n            changed",
    ),
    Bug(
        "given-in-the-last-instant",
        "Messages are lost until their deadline that come at the instant of a pull's time-out.",
        "        await asyncio.wait([given], timeout=patience)\n",
        "        try:\n            await asyncio.wait_for(given, patience)\n"
        "        except asyncio.TimeoutError:\n            return ()\n",
    ),
    Bug(
        "given-to-who-is-gone",
        "Messages that were given to a client which has gone away come after their deadline.",
        "            dispatcher.give_back(given.result())\n",
        "            pass\n",
    ),
    Bug(
        "pull-too-large",
        "A pull of many small messages is a response that clients do not take.",
        "min(request.max_messages, PULLED_MESSAGES),",
        "request.max_messages,",
    ),
    Bug(
        "given-up-is-a-success",
        "Where acks are confirmed, one that was given up is answered as written.",
        "if {TRANSIENT, OF_OTHERS} & set(future.failures.values()):",
        "if not future.done:",
    ),
    Bug(
        "tags-of-a-snapshot",
        "A snapshot is created without its tags, and nobody is told.",
        '        wire.refuse_unknown(request, {"name", "subscription", "labels"})\n',
        "",
    ),
    Bug(
        "snapshot-before-its-acks",
        "A snapshot holds messages whose acknowledgement the server has accepted before.",
        "        made = await self._between_exchanges(\n"
        "            subscription, partial(create, name, subscription, labels=labels)\n"
        "        )\n",
        "        made = await self._do(partial(create, name, subscription, labels=labels))\n",
    ),
    Bug(
        "a-table-waits-for-the-next-refresh",
        "A subscription that is given a table has no rows until the server's next refresh.",
        "            await self._pushers.apply(changed)\n"
        "            await self._writers.apply(changed)\n"
        "        return changed",
        "            await self._pushers.apply(changed)\n        return changed",
    ),
    Bug(
        "cleared-retention-is-a-month",
        "A retention that an update clears is a month and not a week.",
        'fields["message_retention_duration"] = timedelta(days=7)',
        'fields["message_retention_duration"] = timedelta(days=31)',
    ),
    Bug(
        "pulled-data-kept",
        "The data of pulled messages stay in memory until their acks.",
        "        for delivery in given:\n            delivery.was_sent()\n",
        "",
    ),
    Bug(
        "pull-that-times-out-stays-a-consumer",
        "A pull without messages in time stays among the consumers, and messages are sent to it.",
        "        raise\n"
        "    finally:\n"
        "        dispatcher.leave(consumer)\n"
        "    return given.result()",
        "        raise\n    return given.result()",
    ),
    Bug(
        "pull-waits-until-its-clients-deadline",
        "A pull waits as long as its client does, so its empty response comes too late.",
        "patience = min(patience, remaining * 0.8)",
        "patience = min(patience, remaining)",
    ),
    Bug(
        "endpoint-is-modified-away",
        "A push config without its endpoint, given to ModifyPushConfig, ends the pushes.",
        "        wire.check_push_endpoint(request.push_config)\n",
        "",
    ),
    Bug(
        "failed-at-the-next-server",
        "An ack that succeeded beside one that failed is told as failed by another server.",
        "together = can_name_all(request.ack_ids)",
        "together = False",
    ),
    Bug(
        "unwritten-is-a-success",
        "An ack that was not written passes for written where exactly-once was turned off since.",
        "if {TRANSIENT, OF_OTHERS} & set(future.failures.values()):",
        "if {TRANSIENT} & set(future.failures.values()):",
    ),
    Bug(
        "unwritten-and-not-named",
        "Java's client takes an ack for written that is not, as the error had no room to name it.",
        "together = can_name_all(request.ack_ids)",
        "together = True",
    ),
    Bug(
        "snapshot-loses-the-labels-that-no-path-names",
        "An UpdateSnapshot of one label removes the others.",
        "                wire.snapshot_message(stored),\n                wire.SNAPSHOT_FIELDS,",
        "                request.snapshot,\n                wire.SNAPSHOT_FIELDS,",
    ),
)
