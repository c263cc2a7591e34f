"""Bugs of messages that cannot be read: they are named and set aside, and stop no other."""

from __future__ import annotations

from tests.mutations.bug import Bug

_READINGS = "delivery/unreadable.py"
_LEASES = "delivery/leases.py"
_LETTERS = "delivery/dead_letters.py"

BUGS_OF_READINGS = (
    Bug(
        "an-unreadable-row-stops-all",
        "One message that is not UTF-8 keeps all of its batch from being read.",
        _READINGS,
        "        rows.validate(full=True)\n",
        "        rows.validate()\n",
    ),
    Bug(
        "an-attribute-without-a-value",
        "A message is delivered with an attribute that is None.",
        _READINGS,
        "if times.null_count or any(maps.items.null_count for maps in",
        "if times.null_count or any(False for _ in",
    ),
    Bug(
        "later-ones-of-an-unreadable-key",
        "The later messages of its key overtake one that cannot be read.",
        _READINGS,
        "            if keys[place]:\n",
        "            if not keys[place]:\n",
    ),
    Bug(
        "an-unreadable-key-is-forgotten",
        "The later messages of its key come with the next part of the lease.",
        _READINGS,
        "if not reasons and not self._first_unreadable:",
        "if not reasons:",
    ),
    Bug(
        "set-aside-without-ordering",
        "Without ordering, too, a message that cannot be read holds up those of its key.",
        _READINGS,
        "self._ordered = ordered",
        "self._ordered = True",
    ),
    Bug(
        "bytes-that-are-no-utf8-are-lost",
        "What is shown or forwarded of a text that is not UTF-8 lacks those bytes.",
        _READINGS,
        'decode("utf-8", "backslashreplace")',
        'decode("utf-8", "ignore")',
    ),
    Bug(
        "nobody-is-warned",
        "A message that cannot be read is set aside without a word.",
        _LEASES,
        "        warn_unreadable(reasons, self.source.subscription)\n        return rows, missing",
        "        return rows, missing",
    ),
    Bug(
        "another-time-is-a-loss",
        "A message with another publish time than its commit's is told as lost.",
        _LEASES,
        "stray = self.source.messages.rows_at(missing)",
        "stray = rows.slice(0, 0)",
    ),
    Bug(
        "a-loss-stops-who-receives",
        "A message that is not stored any more is not set aside for who receives.",
        _LEASES,
        "            self.set_aside.positions |= lost\n            warn_unreadable",
        "            self._check_all_there(lost)\n            warn_unreadable",
    ),
    Bug(
        "acked-though-set-aside",
        "An ack of the whole batch acknowledges what nobody could read.",
        "batches.py",
        "chosen = choose(self._lease) - self._lease.set_aside.positions",
        "chosen = choose(self._lease)",
    ),
    Bug(
        "a-dead-letter-without-a-reason",
        "Nothing tells that a dead letter is not what its message was.",
        _LETTERS,
        "if position in wrong:",
        "if not wrong:",
    ),
    Bug(
        "a-lost-message-is-forgotten",
        "A message that is not stored any more is forwarded as nothing at all.",
        _LETTERS,
        "return rows, wrong, lost",
        "return rows, wrong, Positions()",
    ),
)
