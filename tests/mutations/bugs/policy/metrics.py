"""Seeded bugs of ``policy/metrics.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_metrics_over_time.py",
    "tests/unit/test_metrics_of_a_store.py",
    "tests/lanes/test_ack_states.py",
    "tests/unit/test_ack_state_metrics.py",
)

BUGS = (
    Bug(
        "oldest-is-the-newest",
        "The oldest unacknowledged message of an ack state is the oldest of its newest span.",
        "min((each.publish_time_min",
        "max((each.publish_time_min",
    ),
    Bug(
        "available-as-undelivered",
        "Leased messages are no undelivered ones in the figures over time.",
        "num_undelivered_messages=state.count(),",
        "num_undelivered_messages=state.count(State.AVAILABLE),",
    ),
    Bug(
        "retained-messages-are-oldest",
        "The oldest unacknowledged message is one that was acknowledged, and is retained.",
        "unacked = state.unacked()",
        "unacked = list(state.spans)",
    ),
    Bug(
        "one-moment-too-many-is-measured",
        "The past is measured at one moment more than was asked for, before those at longer steps.",
        "while len(chosen) > most and",
        "while len(chosen) > most + 1 and",
    ),
)
