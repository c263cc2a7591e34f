"""Seeded bugs of ``server/rest/selection.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_rest_answers.py",)

BUGS = (
    Bug(
        "selection-of-a-thousand-letters",
        "A parameter fields that is as long as allowed is refused.",
        'if "".join(tokens) != text or not 0 < len(text) <= _LONGEST:',
        'if "".join(tokens) != text or not 0 < len(text) < _LONGEST:',
    ),
    Bug(
        "part-of-what-is-selected-whole",
        "A field that is selected whole and in part is returned in part.",
        "    if not one or not other:\n        return {}\n    both",
        "    both",
    ),
    Bug(
        "selection-may-end-too-early",
        "fields=topics(name is answered as if it were whole.",
        '            if not self._next(")"):',
        '            if not self._next(")") and self.tokens:',
    ),
)
