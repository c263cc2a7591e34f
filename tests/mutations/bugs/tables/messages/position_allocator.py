"""Seeded bugs of ``tables/messages/position_allocator.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_missing_statistics.py",
    "tests/unit/test_tables_in_memory.py",
)

BUGS = (
    Bug(
        "block-not-looked-at",
        "A block of positions is used on after somebody else's publish, below that one's.",
        "if not self._is_ahead(block, history):",
        "if block.checked_version < 0:",
    ),
    Bug(
        "block-whoever-passed-it",
        "A block of positions is used on though others have published beyond it.",
        "return new.is_complete and all(each.end_position <= block.next for each in new.commits)",
        "return new.is_complete",
    ),
    Bug(
        "range-without-highest-end",
        "Positions are given out twice after the row that counts them was restored.",
        "first = max(stored, given)",
        "first = stored",
    ),
    Bug(
        "range-given-out-twice",
        "Who was slower to reserve positions gets those of who was faster.",
        "following, _TAKE) != 1:",
        "following, _TAKE) < 0:",
    ),
    Bug(
        "position-given-out-twice",
        "The last position of a publish is the first of the next one.",
        "            block.next += count\n",
        "            block.next += count - 1\n",
    ),
    Bug(
        "block-in-spite-of-others",
        "Messages of a key that two programs publish in turn are out of order.",
        "                block.end = block.next\n            block.checked",
        "                pass\n            block.checked",
    ),
    Bug(
        "positions-beyond-the-last",
        "A publish gets positions beyond the last one.",
        "if first + count > END_OF_POSITIONS:",
        "if first > END_OF_POSITIONS:",
    ),
    Bug(
        "block-for-more-than-a-block",
        "Two publishes of more than a block of messages can have the same message ids.",
        "self.reserve(table, size, history)",
        "self.reserve(table, BLOCK, history)",
    ),
    Bug(
        "positions-may-have-two-rows",
        "A message id is given out twice after a row was restored beside another.",
        "        if len(rows) != 1:",
        "        if len(rows) < 1:",
    ),
)
