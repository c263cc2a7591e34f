"""Seeded bugs of ``policy/table_writes.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug
from tests.mutations.groups import TABLE_WRITES

NEAREST = (
    "tests/unit/test_decided.py",
    *TABLE_WRITES,
    "tests/unit/test_whole_ack_states.py",
)

BUGS = (
    Bug(
        "write-takes-what-it-lost",
        "A write takes messages whose lease is over, and which somebody else has.",
        "held = state.of_lease(lease_id, State.LEASED)",
        "held = state.in_state(State.LEASED)",
    ),
    Bug(
        "written-is-forgotten-not-retained",
        "What was written cannot be sought back, though acknowledged messages are retained.",
        "*(span.retained() for span in spans if retain)",
        "*(span.retained() for span in spans if not retain)",
    ),
    Bug(
        "given-back-write-has-failed",
        "Messages of a write to a table that was cancelled stay leased to that write for ever.",
        "with_spans(state, (s.released() if s in spans else s for s in state.spans))",
        "with_spans(state, (s for s in state.spans))",
    ),
    Bug(
        "writes-counted-by-spans",
        "A write of many messages counts as one acknowledgement.",
        "count = counters.success + sum(map(len, spans))",
        "count = counters.success + len(spans)",
    ),
    Bug(
        "number-of-a-write-is-given-again",
        "A lease that follows a write has its number.",
        "replace(state, next_lease_id=number + 1), [*kept",
        "replace(state, next_lease_id=number), [*kept",
    ),
    Bug(
        "earlier-acks-are-forgotten",
        "A write that landed sets the count of acknowledged messages back.",
        "count = counters.success + sum(map(len, spans))",
        "count = sum(map(len, spans))",
    ),
)
