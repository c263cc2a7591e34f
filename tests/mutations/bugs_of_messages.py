"""Bugs of topics: positions, commits and what is new; and of what stands between them and verbs."""

from __future__ import annotations

from tests.mutations.bug import Bug

_MESSAGES = "tables/messages/messages.py"
_STORED = "tables/messages/stored.py"
_COMMITS = "tables/messages/commits.py"
_RANGES = "tables/messages/position_allocator.py"
_LETTERS = "delivery/dead_letters.py"

BUGS_OF_MESSAGES = (
    Bug(
        "block-not-looked-at",
        "A block of positions is used on after somebody else's publish, below that one's.",
        _RANGES,
        "if not self._is_ahead(block, history):",
        "if block.checked_version < 0:",
    ),
    Bug(
        "block-whoever-passed-it",
        "A block of positions is used on though others have published beyond it.",
        _RANGES,
        "return new.is_complete and all(each.end_position <= block.next for each in new.commits)",
        "return new.is_complete",
    ),
    Bug(
        "range-without-highest-end",
        "Positions are given out twice after the row that counts them was restored.",
        _RANGES,
        "first = max(stored, given)",
        "first = stored",
    ),
    Bug(
        "range-given-out-twice",
        "Who was slower to reserve positions gets those of who was faster.",
        _RANGES,
        "following, _TAKE) != 1:",
        "following, _TAKE) < 0:",
    ),
    Bug(
        "position-given-out-twice",
        "The last position of a publish is the first of the next one.",
        _RANGES,
        "            block.next += count\n",
        "            block.next += count - 1\n",
    ),
    Bug(
        "unknown-log-drops-messages",
        "Messages whose commits the log does not tell any more are never delivered.",
        _STORED,
        "        if new.is_complete:\n            adding",
        "        if True:\n            adding",
    ),
    Bug(
        "slow-publisher-loses",
        "What a slow publisher commits while the retention job runs is deleted with the rest.",
        _MESSAGES,
        "if any(each.restores or each.may_add(None, time) for each in late.commits):",
        "if any(each.restores for each in late.commits):",
    ),
    Bug(
        "what-is-restored-meanwhile-is-deleted",
        "Retention deletes what an operator and a seek have brought back since its last look.",
        _MESSAGES,
        "if any(each.restores or each.may_add(None, time) for each in late.commits):",
        "if any(each.may_add(None, time) for each in late.commits):",
    ),
    Bug(
        "own-append-is-a-conflict",
        "A publish that met its own commit in object storage is made twice.",
        _MESSAGES,
        "return commit is not None and commit.first_position == first",
        "return False",
    ),
    Bug(
        "any-append-is-ours",
        "A publish that lost a race is taken for one that landed.",
        _MESSAGES,
        "return commit is not None and commit.first_position == first",
        "return True",
    ),
    Bug(
        "unknown-commit-keeps-all",
        "A DELETE is taken for a commit after which every message is there.",
        _COMMITS,
        "removes_messages=logged.operation not in _KEEPS_MESSAGES or logged.overwrites",
        "removes_messages=logged.overwrites",
    ),
    Bug(
        "overwrite-keeps-all",
        "A write that overwrites a topic is taken for one after which every message is there.",
        _COMMITS,
        " or logged.overwrites,",
        ",",
    ),
    Bug(
        "late-commits-not-within",
        "A commit that was stamped at the very end of a period is left out of it.",
        _COMMITS,
        "if earliest <= time <= latest]",
        "if earliest <= time < latest]",
    ),
    Bug(
        "gap-in-the-log-ignored",
        "What a log that was cut does not tell is taken for nothing.",
        _COMMITS,
        "is_complete = not new or len(new) == new[0].version - version",
        "is_complete = True",
    ),
    Bug(
        "fewer-messages-not-told",
        "A batch of which messages are gone is given as if it were whole.",
        "delivery/leases.py",
        "        if lost:\n            check(lost)",
        "        if False:\n            check(lost)",
    ),
    Bug(
        "forgotten-before-append",
        "Dead letters are forgotten on the subscription before they are appended.",
        _LETTERS,
        "        assert target is not None\n",
        "        assert target is not None\n"
        "        tables.ack_states.change(source.uid, partial(_finish, forwarded, number))\n",
    ),
    Bug(
        "dead-letters-to-nobody",
        "Dead letters are gone that were appended to a topic which was deleted meanwhile.",
        _LETTERS,
        "        if landed and tables.is_received(target):\n",
        "        if landed:\n",
    ),
    Bug(
        "dead-letters-without-transaction",
        "Dead letters are appended once more by whoever takes a forwarding up.",
        _LETTERS,
        "messages.append(letters, now, publish_id, transaction)",
        "messages.append(letters, now, publish_id)",
    ),
    Bug(
        "dead-letters-under-a-new-number",
        "Dead letters are appended under the number that is next, and so perhaps twice.",
        _LETTERS,
        "messages.append(letters, now, publish_id, transaction)",
        "messages.append(\n            letters, now, source.uid,\n"
        "            (transaction[0], tables.ack_states.read(source.uid).next_lease_id))",
    ),
    Bug(
        "dead-letters-that-were-skipped",
        "What Delta skips, as other messages were forwarded under its number, is forgotten.",
        _LETTERS,
        "        if takes_any and not landed:\n",
        "        if False:\n",
    ),
    Bug(
        "lease-numbers-one-by-one",
        "After a RESTORE the numbers of leases are given out again that were given out before.",
        "tables/ack_state/states.py",
        "return secrets.randbelow(MAX_LEASE_ID_GAP)",
        "return 0",
    ),
    Bug(
        "own-publishes-known-in-a-gap",
        "A publish is known to follow the last known one though another was in between.",
        "tables/messages/commits.py",
        "if cached and cached[0].version + 1 == commit.version:",
        "if cached:",
    ),
    Bug(
        "a-micro-batch-that-landed-fails",
        "A micro-batch that has landed cannot be published again once the log has forgotten it.",
        "operations/publish.py",
        "    if not landed:\n        check_is_last(",
        "    if not landed:\n"
        "        assert messages.history.published_as(publish_id)\n"
        "        check_is_last(",
        needs_spark=(
            "tests/delta/test_streaming.py::test_every_micro_batch_is_published_exactly_once",
        ),
    ),
    Bug(
        "dead-letter-count-of-the-next",
        "A dead letter tells of one delivery more than there were.",
        _LETTERS,
        '"DeliveryCount": str(attempt - 1),',
        '"DeliveryCount": str(attempt),',
    ),
    Bug(
        "a-look-for-each-publish",
        "Who is a day behind waits for a request for each of its publishes.",
        _STORED,
        "told else self._stored(group)",
        "told else (next(self._stored([each])) for each in group)",
    ),
    Bug(
        "positions-of-files-without-statistics",
        "Positions are given out twice where neither log nor statistics tell them.",
        _COMMITS,
        "        if None in told:\n",
        "        if highest < 0 and None not in told:\n",
    ),
    Bug(
        "each-file-is-compared-with-all-others",
        "A topic of ten thousand files is counted for a minute.",
        "tables/lanes/direct/scans.py",
        "[f for f in files if f.path not in whole]",
        "[f for f in files if f not in [*whole.values()]]",
    ),
    Bug(
        "a-later-publish-reads-all-history",
        "Each micro-batch into a topic with a schema reads all commits of the last days.",
        "operations/publish.py",
        "    if last is None or last <= version:\n",
        "    if last is None or last == version:\n",
    ),
    Bug(
        "days-without-statistics-are-empty",
        "A topic whose files have no statistics is shown as one without messages.",
        _STORED,
        "                unknown.add(each.publish_date)\n",
        "                unknown.discard(each.publish_date)\n",
    ),
    Bug(
        "all-files-are-read-at-once",
        "Who is far behind needs memory for the numbers of all its messages.",
        "tables/lanes/direct/scans.py",
        "range(0, len(files), _AT_ONCE))",
        "range(0, len(files), len(files) or 1))",
    ),
)
