"""Seeded bugs of ``delivery/unreadable.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_unreadable_messages.py",)

BUGS = (
    Bug(
        "an-unreadable-row-stops-all",
        "One message that is not UTF-8 keeps all of its batch from being read.",
        "        rows.validate(full=True)\n",
        "        rows.validate()\n",
    ),
    Bug(
        "an-attribute-without-a-value",
        "A message is delivered with an attribute that is None.",
        "if times.null_count or any(maps.items.null_count for maps in",
        "if times.null_count or any(False for _ in",
    ),
    Bug(
        "later-ones-of-an-unreadable-key",
        "The later messages of its key overtake one that cannot be read.",
        "            if keys[place]:\n",
        "            if not keys[place]:\n",
    ),
    Bug(
        "an-unreadable-key-is-forgotten",
        "The later messages of its key come with the next part of the lease.",
        "if not reasons and not self._first_unreadable:",
        "if not reasons:",
    ),
    Bug(
        "set-aside-without-ordering",
        "Without ordering, too, a message that cannot be read holds up those of its key.",
        "self._ordered = ordered",
        "self._ordered = True",
    ),
    Bug(
        "bytes-that-are-no-utf8-are-lost",
        "What is shown or forwarded of a text that is not UTF-8 lacks those bytes.",
        'decode("utf-8", "backslashreplace")',
        'decode("utf-8", "ignore")',
    ),
    Bug(
        "key-is-held-from-its-last-unreadable",
        "Of a key with two unreadable messages, those between them are delivered out of order.",
        "self._first_unreadable[keys[place]] = min(first, positions[place])",
        "self._first_unreadable[keys[place]] = max(first, positions[place])",
    ),
    Bug(
        "keyless-messages-set-aside",
        "With ordering, an unreadable message without a key holds back all messages without a key.",
        "            if keys[place]:\n                first",
        "            if keys:\n                first",
    ),
)
