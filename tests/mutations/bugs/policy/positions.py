"""Seeded bugs of ``policy/positions.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_positions.py",)

BUGS = (
    Bug(
        "last-position-of-a-part-left-out",
        "Of every 1,024 plain bitmaps the last message is left out.",
        "(chosen[-1] + 1) * size])",
        "(chosen[-1] + 1) * size - 1])",
    ),
    Bug(
        "last-position-missing",
        "A contiguous set lacks its last position.",
        "bitmap.add_range(first, last + 1)",
        "bitmap.add_range(first, max(first + 1, last))",
    ),
    Bug(
        "one-position-too-many",
        "The first so many positions are one too many.",
        "int(self._bitmap[count - 1])",
        "int(self._bitmap[count])",
    ),
    Bug(
        "positions-within-keep-the-last",
        "The positions of a range keep the largest of the set, too.",
        "        bitmap.remove_range(max(last, -1) + 1, self.max + 1)\n",
        "        bitmap.remove_range(max(last, -1) + 1, self.max)\n",
    ),
    Bug(
        "positions-bits-skip-a-bitmap",
        "Of more than a thousand bitmaps every 1024th is lost.",
        "            chosen = numbers[start : start + _BITMAPS_AT_A_TIME]\n",
        "            chosen = numbers[start : start + _BITMAPS_AT_A_TIME - 1]\n",
    ),
    Bug(
        "positions-scattered-hold-everything",
        "A set of many runs holds whatever it is asked for.",
        "        asked = Positions.from_array(positions) & self\n",
        "        asked = Positions.from_array(positions)\n",
    ),
    Bug(
        "a-range-below-zero",
        "A range of positions that ends below zero is an error.",
        "bitmap.remove_range(max(last, -1) + 1, self.max + 1)",
        "bitmap.remove_range(last + 1, self.max + 1)",
    ),
    Bug(
        "positions-that-are-all-missing-are-an-error",
        "A search for messages none of which is held ends in an IndexError.",
        "        if not len(found):\n            return np.zeros",
        "        if not len(positions):\n            return np.zeros",
    ),
)
