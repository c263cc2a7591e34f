"""Seeded bugs of ``policy/ack_buffer.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_acks_of_one_call.py",
    "tests/unit/test_outstanding.py",
    "tests/unit/test_moved_deadlines.py",
    "tests/unit/test_server_leaser.py",
    "tests/unit/test_server_memory.py",
    "tests/unit/test_callbacks.py",
    "tests/unit/test_ack_buffer.py",
)

BUGS = (
    Bug(
        "deadline-overrides-a-nack",
        "A new deadline that is asked for after a nack lets the message stay leased.",
        "if deadline and deadlines.get(position) == NACK:",
        "if deadline and deadlines.get(position) == deadline:",
    ),
    Bug(
        "deadline-cut-by-an-extension",
        "A delivery that is given a longer deadline is extended by a lease's length at once.",
        "in _without(owned, modified).items():",
        "in owned.items():",
    ),
    Bug(
        "deadline-before-an-ack-fails",
        "A new deadline that an ack has replaced is told as invalid.",
        "outcomes = outcomes if written is None else response.deadlines[written]",
        "outcomes = response.deadlines.get(written or asked, Outcomes())",
    ),
    Bug(
        "held-acks-never-fail",
        "Who acknowledges during a seek of a subscription that is gone waits for ever.",
        "dropped = self._sent or _Pending(), self._next, self._held_back",
        "dropped = self._sent or _Pending(), self._next",
    ),
    Bug(
        "held-repeats-lost",
        "A repeated ack that comes during a seek is forgotten: its client waits for ever.",
        "        self.repeated.extend(later.repeated)\n",
        "",
    ),
    Bug(
        "what-is-given-back-alone-waits",
        "A server that ends, and has nothing else to write, gives nothing back.",
        "bool(self.acknowledged or self.deadlines or self.given_back or self.repeated)",
        "bool(self.acknowledged or self.deadlines or self.repeated)",
    ),
    Bug(
        "a-nack-told-as-the-ack-after-it",
        "Who waits for a nack is told the outcome of a later ack.",
        """.get(position, NACK):
            del""",
        """.get(position, None) is not None:
            del""",
    ),
    Bug(
        "a-moved-deadline-with-a-known-end",
        "A client's new deadline gives way to that of another process.",
        "_some(_without(named, modified)) for end",
        "_some(dict(named)) for end",
    ),
    Bug(
        "unbounded-acks-of-failed-requests",
        "While the store cannot be written, a client can send any number of acks.",
        "len(self._sent or ()) + len(self._next)",
        "len(self._next)",
    ),
    Bug(
        "acks-held-back-are-subtracted",
        "Acks that wait for a seek to end make room for others.",
        "+ len(self._held_back)",
        "- len(self._held_back)",
    ),
    Bug(
        "deadlines-are-not-counted",
        "A server takes any number of new deadlines while none can be written.",
        "acknowledged + sum(map(len, self.deadlines.values())) + len(self.repeated)",
        "acknowledged + len(self.repeated)",
    ),
    Bug(
        "postponed-for-good",
        "An ack that was not written beside one that failed is told as failed for good.",
        'outcome = "postponed"',
        "pass",
    ),
    Bug(
        "the-first-deadline-is-written",
        "Of several deadlines of a delivery the first one is written.",
        "if deadline and deadlines.get(position) == NACK:",
        "if deadline and position in deadlines:",
    ),
    Bug(
        "repeated-acks-wait-for-ever",
        "An ack that is repeated while a request fails is never answered.",
        "        self.repeated.extend(later.repeated)\n",
        "",
    ),
    Bug(
        "calls-apart-after-a-failed-request",
        "Acks of one call count each for itself after a request that failed.",
        "        self.together.extend(later.together)\n",
        "",
    ),
)
