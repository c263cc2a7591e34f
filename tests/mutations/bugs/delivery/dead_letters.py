"""Seeded bugs of ``delivery/dead_letters.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_parts_by_size.py",
    "tests/unit/test_maintenance_problems.py",
    "tests/lanes/test_damaged_dead_letter_topics.py",
    "tests/unit/test_many_dead_letters.py",
    "tests/unit/test_unreadable_messages.py",
    "tests/unit/test_restored.py",
    "tests/unit/test_tables_in_memory.py",
    "tests/unit/test_races.py",
    "tests/lanes/test_races_found.py",
    "tests/lanes/test_cut_logs.py",
    "tests/unit/test_consumer_calls.py",
    "tests/unit/test_simulation.py",
    "tests/lanes/test_table_rows.py",
)

BUGS = (
    Bug(
        "given-back-letters-are-counted",
        "Dead letters that nobody can get count as forwarded.",
        "        if landed and tables.is_received(target):\n            count += messages\n",
        "        count += messages\n        if landed and tables.is_received(target):\n"
        "            pass\n",
    ),
    Bug(
        "forgotten-before-append",
        "Dead letters are forgotten on the subscription before they are appended.",
        "        assert target is not None\n",
        "        assert target is not None\n"
        "        tables.ack_states.update(source.uid, partial(forwarded, number=number))\n",
    ),
    Bug(
        "dead-letters-to-nobody",
        "Dead letters are gone that were appended to a topic which was deleted meanwhile.",
        "        if landed and tables.is_received(target):\n",
        "        if landed:\n",
    ),
    Bug(
        "dead-letters-without-transaction",
        "Dead letters are appended once more by whoever takes a forwarding up.",
        "messages.append(letters, now, publish_id, transaction)",
        "messages.append(letters, now, publish_id)",
    ),
    Bug(
        "dead-letters-under-a-new-number",
        "Dead letters are appended under the number that is next, and so perhaps twice.",
        "messages.append(letters, now, publish_id, transaction)",
        "messages.append(\n            letters, now, source.uid,\n"
        "            (transaction[0], tables.ack_states.read(source.uid).next_lease_id))",
    ),
    Bug(
        "dead-letters-that-were-skipped",
        "What Delta skips, as other messages were forwarded under its number, is forgotten.",
        "        if takes_any and not landed:\n",
        "        if False:\n",
    ),
    Bug(
        "dead-letter-count-of-the-next",
        "A dead letter tells of one delivery more than there were.",
        '"DeliveryCount": str(attempt - 1),',
        '"DeliveryCount": str(attempt),',
    ),
    Bug(
        "a-dead-letter-without-a-reason",
        "Nothing tells that a dead letter is not what its message was.",
        "if position in wrong:",
        "if not wrong:",
    ),
    Bug(
        "a-lost-message-is-forgotten",
        "A message that is not stored any more is forwarded as nothing at all.",
        "return rows, wrong, lost",
        "return rows, wrong, Positions()",
    ),
    Bug(
        "dead-letters-all-at-once",
        "All dead letters of a subscription are in memory at once, whatever they take.",
        "parts = _parts(source, exhausted)",
        "parts = [union(exhausted)]",
    ),
    Bug(
        "dead-letters-counted-only",
        "A part of the dead letters is as large as so many messages may be.",
        "size + measured > MOST_BYTES or together > MOST_MESSAGES",
        "together > MOST_MESSAGES",
    ),
    Bug(
        "dead-letters-out-of-order",
        "What was decided last is forwarded first.",
        "number = min(waiting)",
        "number = max(waiting)",
    ),
    Bug(
        "landed-letter-goes-back",
        "A dead letter that has landed is given back as its topic is deleted: it comes twice.",
        "takes_any = tables.is_received(target)\n",
        "takes_any = tables.registry.topic_of_uid(target) is not None\n",
    ),
    Bug(
        "dead-letters-again-after-a-cut",
        "Dead letters come twice where the log has forgotten that they landed.",
        "return not history.has_all_commits() and messages.was_last_of(transaction)",
        "return False",
    ),
    Bug(
        "reason-shortened-in-characters",
        "The reason of a dead letter, in another script, is longer than a value may be.",
        'return text.encode()[:size].decode(errors="ignore")',
        "return text[:size]",
    ),
    Bug(
        "dead-letter-part-size",
        "The size of a full part is carried into the next: after 16 MB each dead letter "
        "has a commit of its own.",
        "            found.append(Positions())\n            size = 0\n",
        "            found.append(Positions())\n",
    ),
    Bug(
        "dead-letter-of-first-source",
        "A dead letter that is dead-lettered again keeps the count and the source of the "
        "first time.",
        '[*{**dict(row["attributes"] or ()), **named}.items()]',
        '[*{**named, **dict(row["attributes"] or ())}.items()]',
    ),
    Bug(
        "letters-of-the-last-commit",
        "Of dead letters that are forwarded in several commits those of the last are told.",
        "            count += messages\n",
        "            count = messages\n",
    ),
    Bug(
        "a-lost-letter-is-a-stray-one",
        "A dead letter whose message is lost says that its publish time is wrong.",
        "wrong = {**dict.fromkeys(missing, STRAY), **dict.fromkeys(lost, LOST)}",
        "wrong = {**dict.fromkeys(lost, LOST), **dict.fromkeys(missing, STRAY)}",
    ),
    Bug(
        "stray-letters-come-last",
        "Dead letters that are stored with another publish time are forwarded after the others.",
        'rows = pa.concat_tables([rows, stray]).sort_by("position")',
        "rows = pa.concat_tables([rows, stray])",
    ),
    Bug(
        "stray-letters-lost",
        "A message whose publish time differs from its commit's is forwarded without its data.",
        '        rows = pa.concat_tables([rows, stray]).sort_by("position")\n',
        "",
    ),
    Bug(
        "forwarded-untold",
        "What was forwarded before a failure is not counted.",
        "            problem = _not_forwarded(source, messages, why)",
        "            count, problem = 0, _not_forwarded(source, messages, why)",
    ),
    Bug(
        "a-damaged-dead-letter-topic-stops-its-source",
        "Every pull fails of a subscription whose dead-letter topic is damaged.",
        "    except DataLoss as error:\n        return _cannot_be_written(error)\n",
        "    except DataLoss:\n        raise\n",
    ),
    Bug(
        "held-up-by-the-topic-before",
        "Dead letters for a topic that cannot be written hold up those for the one set later.",
        """            unwritable.add(target)
            continue""",
        "            return Forwarded(count, problem)",
    ),
    Bug(
        "waiting-for-a-deleted-topic",
        "Dead letters wait for ever for a damaged topic that was deleted with its subscriptions.",
        "takes_any = tables.is_received(target)\n",
        "takes_any = tables.messages(target).exists() and tables.is_received(target)\n",
    ),
    Bug(
        "held-up-by-a-missing-file",
        "Dead letters whose file is gone hold up those that are forwarded later.",
        """{error}"
            continue""",
        """{error}"
            unwritable.add(target)""",
    ),
    Bug(
        "on-its-way-to-a-damaged-topic",
        "A dead letter is bound to a topic that takes none, though another one is set later.",
        "why = GONE if topic is None else _why_not(tables, topic.uid)",
        "why = GONE if topic is None else None",
    ),
    Bug(
        "dead-letter-topic-that-cannot-be-created",
        "Of a dead-letter topic whose table is gone it is told that it does not exist.",
        "    if tables.registry.topic_of_uid(topic_uid) is None:\n        return GONE\n",
        "    if True:\n        return GONE\n",
    ),
    Bug(
        "forwarded-twice-after-a-copy-is-restored",
        "Messages on their way to a topic whose table is gone become available: they arrive twice.",
        "takes_any = tables.is_received(target)\n",
        "takes_any = tables.is_received(target) and tables.messages(target).exists()\n",
    ),
    Bug(
        "errors-of-letters-in-lines",
        "The problem of a dead-letter topic has all lines of its error.",
        'f"cannot be written: {first_line(error)}"',
        'f"cannot be written: {error}"',
    ),
    Bug(
        "dead-letters-overtake-those-that-could-not-be-written",
        "The second part of many dead letters is appended though the first one was not.",
        "        if target in unwritable:",
        "        if target in unwritable and count:",
    ),
    Bug(
        "dead-letters-that-cannot-be-measured-end-every-pull",
        "A subscription with many damaged dead letters delivers nothing any more.",
        "    except Exception:  # unreadable messages are reported",
        "    except KeyError:  # unreadable messages are reported",
    ),
    Bug(
        "dead-letter-parts-that-are-not-filled",
        "A part of dead letters that has just the permitted size is divided.",
        "size + measured > MOST_BYTES or together > MOST_MESSAGES",
        "size + measured >= MOST_BYTES or together >= MOST_MESSAGES",
    ),
    Bug(
        "dead-letters-measured-without-a-limit",
        "More dead letters are measured at a time than a quarter of a part.",
        "fitting = len(next_ones) * MOST_BYTES // (4 * max(measured, 1))",
        "fitting = len(next_ones) * MOST_BYTES // max(measured, 1)",
    ),
)
