"""Seeded bugs of ``policy/ack_state.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_spans.py",
    "tests/unit/test_replay.py",
    "tests/unit/test_snapshots.py",
    "tests/unit/test_delivery_order.py",
    "tests/unit/test_whole_ack_states.py",
    "tests/unit/test_whole_states_of_seeks.py",
)

BUGS = (
    Bug(
        "given-back-goes-first",
        "A message that failed and is given back counts as not tried.",
        "failed = None if self.failed_lease_id is None else lease_id",
        "failed = None",
    ),
    Bug(
        "given-back-has-failed",
        "A message that is given back unseen comes after those that were not tried.",
        "failed = None if self.failed_lease_id is None else lease_id",
        "failed = lease_id",
    ),
    Bug(
        "seek-keeps-the-order-of-failures",
        "What a seek makes available still comes after what was not tried.",
        "failures=0, delivery_attempt=1, failed_lease_id=None)",
        "failures=0, delivery_attempt=1)",
    ),
    Bug(
        "united-failed-earlier",
        "Spans that are united have failed at the earlier of their two failures.",
        "failed_lease_id=max(failed, default=None),",
        "failed_lease_id=min(failed, default=None),",
    ),
    Bug(
        "retained-keeps-attempts",
        "Retained messages that a seek brings back have their old attempts.",
        "return replace(self.untried(), state=State.RETAINED)",
        "return replace(self.released(), state=State.RETAINED)",
    ),
    Bug(
        "united-ends-earlier",
        "Spans that are united are over at the earlier of their two ends.",
        "until=max(ends, default=None),",
        "until=min(ends, default=None),",
    ),
    Bug(
        "an-end-is-forgotten-by-uniting",
        "Spans that are united end with the first one, however much later the other ends.",
        "ends = [span.until for span in (self, other) if span.until is not None]",
        "ends = [span.until for span in (self,) if span.until is not None]",
    ),
    Bug(
        "the-first-failure-of-united-spans",
        "Messages that failed later overtake others after they were united with earlier ones.",
        "failed_lease_id=max(failed, default=None)",
        "failed_lease_id=min(failed, default=None)",
    ),
)
