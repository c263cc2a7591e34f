"""Seeded bugs of ``delivery/leases.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_reading_leases.py",
    "tests/unit/test_unreadable_messages.py",
    "tests/unit/test_tables_in_memory.py",
)

BUGS = (
    Bug(
        "batch-of-another-subscription-is-damaged",
        "Who reads a batch of a subscription that was created anew is told of damage.",
        "current = source(tables, name, lease.source.uid)",
        "current = source(tables, name)",
    ),
    Bug(
        "old-batch-is-damaged",
        "Who reads a batch whose messages were too old is told of damage.",
        "state = replay.catch_up(stored, current.terms, current.log(stored), now)",
        "state = stored",
    ),
    Bug(
        "damage-is-taken-for-a-lease-that-is-over",
        "Messages that are lost are told as deleted by retention.",
        "if gone := wanted - held:",
        "if gone := lease.positions - held:",
    ),
    Bug(
        "fewer-messages-not-told",
        "A batch of which messages are gone is given as if it were whole.",
        "        if lost:\n            check(lost)",
        "        if False:\n            check(lost)",
    ),
    Bug(
        "nobody-is-warned",
        "A message that cannot be read is set aside without a word.",
        "        warn_unreadable(reasons, self.source.subscription)\n        return rows, missing",
        "        return rows, missing",
    ),
    Bug(
        "another-time-is-a-loss",
        "A message with another publish time than its commit's is told as lost.",
        "stray = self.source.messages.rows_at(missing)",
        "stray = rows.slice(0, 0)",
    ),
    Bug(
        "a-loss-stops-who-receives",
        "A message that is not stored any more is not set aside for who receives.",
        "            self.set_aside.positions |= lost\n            warn_unreadable",
        "            self._check_all_there(lost)\n            warn_unreadable",
    ),
    Bug(
        "room-for-a-thousand-at-a-time",
        "Beyond a thousand messages a consumer loads more bytes than its flow control allows.",
        "left, room = left - part, room - (sizes[-1] if sizes else 0)",
        "left = left - part",
    ),
    Bug(
        "last-missing-unnoticed",
        "A batch whose last messages are missing in the topic is iterated without an "
        "error: fewer messages, and no DataLoss.",
        "        if left:\n            lost |= "
        "self._sorted_out(MESSAGES.columns.empty_table(), left)[1]\n",
        "",
    ),
    Bug(
        "answered-for-told-as-lost",
        "A message that a batch does not hold any more is told as lost.",
        "left, found, room = wanted & self.positions, list",
        "left, found, room = wanted, list",
    ),
    Bug(
        "losses-of-the-last-part",
        "A pull whose lost messages are not in the last part that is read tells of no loss.",
        "left, lost = left - part, lost | gone",
        "left, lost = left - part, gone",
    ),
    Bug(
        "one-more-than-fits",
        "A read whose first part fills its room returns one message more than fits.",
        "found += read[: fitting or (0 if found else 1)]",
        "found += read[: fitting or 1]",
    ),
    Bug(
        "a-stray-message-is-lost",
        "A message with another publish time than its commit's counts as missing, too.",
        "            missing -= positions_of(stray)\n        rows, reasons",
        "        rows, reasons",
    ),
    Bug(
        "first-message-too-large",
        "A message that is larger than the room is never received.",
        "found += read[: fitting or (0 if found else 1)]",
        "found += read[:fitting]",
    ),
    Bug(
        "lost-ones-read-again",
        "A consumer looks for a lost message at each read.",
        "            self.set_aside.positions |= lost\n            warn_unreadable",
        "            warn_unreadable",
    ),
    Bug(
        "attempts-without-a-policy",
        "Deliveries tell an attempt though there is no dead-letter policy.",
        "_Attempts(self.spans if self._counted else ())",
        "_Attempts(self.spans)",
    ),
    Bug(
        "a-lease-of-another-counts",
        "Messages that another consumer has acknowledged are told as lost.",
        "held = union(each for each in state.spans if each.lease_id == lease.lease_id)",
        "held = union(state.spans)",
    ),
    Bug(
        "missing-among-the-acknowledged",
        "An ack of a whole batch acknowledges the messages whose loss its reader was told of.",
        "            check(lost)\n            self.set_aside.positions |= lost\n",
        "            check(lost)\n",
    ),
)
