"""Seeded bugs of ``operations/publish.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_wrong_arguments.py",
    "tests/unit/test_spark_errors.py",
    "tests/unit/test_prepared_micro_batches.py",
    "tests/protocol/test_outages.py",
    "tests/unit/test_publish_calls.py",
    "tests/unit/test_restored.py",
    "tests/unit/test_tables_in_memory.py",
    "tests/unit/test_races.py",
    "tests/unit/test_schema_publishing.py",
    "tests/unit/test_arrow_from_elsewhere.py",
    "tests/lanes/test_known_commits.py",
    "tests/lanes/test_pickling.py",
)

BUGS = (
    Bug(
        "result-of-a-publish-forgets-its-ids",
        "The result that a worker of a pool returns does not tell the ids of its messages.",
        "self._publish_id, self._found)",
        "self._publish_id, self._positions)",
    ),
    Bug(
        "idempotency-id-not-passed",
        "A publish of the same idempotency id is written twice.",
        'lambda: messages.append(rows, now, publish_id, idempotency_id), "publish"',
        'lambda: messages.append(rows, now, publish_id), "publish"',
    ),
    Bug(
        "publish-time-of-the-second-attempt",
        "The second publish of an idempotency id tells its own time.",
        "    if not landed and idempotency_id is not None:\n        return earlier(messages",
        "    if not landed and idempotency_id is not None:\n        earlier(messages",
    ),
    Bug(
        "published-to-nobody",
        "A publish to a topic that was deleted meanwhile is told as a success.",
        "    check_received(tables, topic.name, topic.uid)\n    return PublishResult",
        "    return PublishResult",
    ),
    Bug(
        "a-micro-batch-that-landed-fails",
        "A micro-batch that has landed cannot be published again once the log has forgotten it.",
        "    if not landed:\n        check_is_last(",
        "    if not landed:\n"
        "        assert messages.history.published_as(publish_id)\n"
        "        check_is_last(",
        needs_spark=(
            "tests/delta/test_streaming.py::test_every_micro_batch_is_published_exactly_once",
        ),
    ),
    Bug(
        "a-later-publish-reads-all-history",
        "Each micro-batch into a topic with a schema reads all commits of the last days.",
        "    if last is None or last <= version:\n",
        "    if last is None or last == version:\n",
    ),
    Bug(
        "repeated-and-refused",
        "A publish that has landed cannot be repeated once the schema has changed.",
        "    return messages.history.published_as(publish_id) is not None\n",
        "    return False\n",
    ),
    Bug(
        "repeated-and-forgotten",
        "A publish that has landed cannot be repeated once the log and the schema have changed.",
        "        return last == version\n",
        "        return False\n",
    ),
    Bug(
        "publish-that-landed-is-denied",
        "A publish whose storage goes away after its commit is told as not written.",
        """        is_received = tables.is_received(uid)
    except Exception:
        return
""",
        """        is_received = tables.is_received(uid)
    except KeyError:
        return
""",
    ),
    Bug(
        "micro-batch-for-nobody",
        "A micro-batch is reported as published that nobody can get any more.",
        "query_id, batch_id)\n    check_received(tables, topic.name, topic.uid)",
        "query_id, batch_id)",
    ),
    Bug(
        "publish-of-a-lower-version-is-lost",
        "A publish that Delta skips, as its version is lower than the last, is told as published.",
        "if commit is None and not messages.was_last_of(idempotency_id):",
        "if commit is None and messages is None:",
    ),
    Bug(
        "publisher-under-an-own-id",
        "A publisher is given the application id by which the library appends.",
        "        valid = valid and not application.startswith(OWN)\n",
        "",
    ),
    Bug(
        "older-checkpoint-publishes-nothing",
        "A query that publishes skips new rows, with an older copy of its checkpoint.",
        "if last is not None and last > batch_id:",
        "if last is None:",
    ),
    Bug(
        "version-beyond-delta",
        "An idempotency id whose version Delta cannot store is accepted.",
        "type(version) is int and 0 <= version < 2**63",
        "type(version) is int and 0 <= version <= 2**63",
    ),
    Bug(
        "record-batch-has-no-columns",
        "order_by is refused for an Arrow RecordBatch.",
        "not isinstance(what, (pa.Table, pa.RecordBatch))",
        "not isinstance(what, pa.Table)",
    ),
    Bug(
        "application-ids-in-letters",
        "An application id may have 256 letters of four bytes each, or half a letter.",
        "_has_bytes(application, 1, 256)",
        "1 <= len(application) <= 256",
    ),
    Bug(
        "publish-that-nobody-has-counted",
        "A DataFrame is told as no messages where its session has Delta write no metrics.",
        "return self._commit.message_count or len(self.message_ids)",
        "return self._commit.message_count",
    ),
    Bug(
        "taken-back-publish-told-as-done",
        "A publish that a RESTORE has taken back is told as done when it is repeated.",
        "    if commit is not None and _is_taken_back(messages, commit):",
        "    if not application:",
    ),
    Bug(
        "set-aside-at-each-start",
        "A micro-batch that has landed sets its bad records aside again.",
        "looks = topic.schema_settings is not None or prepare is not None",
        "looks = topic.schema_settings is not None",
    ),
    Bug(
        "id-without-messages-hides-later-ones",
        "Rows that are published again, since the input was empty at first, are lost in silence.",
        "    if commit is not None and _had_no_messages(messages, commit) and has_messages():\n",
        "    if commit is not None and _had_no_messages(messages, commit) and not has_messages:\n",
    ),
)
