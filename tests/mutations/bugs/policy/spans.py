"""Seeded bugs of ``policy/spans.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_spans.py",
    "tests/unit/test_delivery_order.py",
    "tests/unit/test_ordering.py",
    "tests/unit/test_whole_ack_states.py",
)

BUGS = (
    Bug(
        "failed-under-another-lease",
        "Messages that failed under different leases are united, and come together.",
        "key = (key, span.failed_lease_id)",
        "key = (key,)",
    ),
    Bug(
        "latest-joins-the-first",
        "Where too many leases failed, the latest failure joins the first, and overtakes others.",
        "joined, newest = numbers[MAX_FAILED_LEASES - 1], numbers[-1]",
        "joined, newest = numbers[0], numbers[0]",
    ),
    Bug(
        "failed-spans-without-end",
        "What failed one by one is a span each.",
        "if len(numbers) <= MAX_FAILED_LEASES:",
        "if numbers:",
    ),
    Bug(
        "unacked-and-retained",
        "A message that is unacknowledged again is still retained as well.",
        "parts = [span.without(unacked) for span in retained]",
        "parts = retained",
    ),
    Bug(
        "failures-mixed",
        "Messages that have failed differently often are united, and count alike.",
        "return (span.lease_id or 0, span.delivery_attempt, span.failures, int(tried))",
        "return (span.lease_id or 0, span.delivery_attempt, 0, int(tried))",
    ),
    Bug(
        "acked-without-a-lease",
        "Acknowledged messages are kept after the lease that they belonged to.",
        "*(span for span in by_state[State.ACKED] if span.lease_id in live),",
        "*by_state[State.ACKED],",
    ),
    Bug(
        "retained-copies-of-acked",
        "A seek brings back no acknowledged message whose key has a live lease.",
        "        unacked = union(span for span in tidy if span.state is not State.ACKED)\n",
        "        unacked = union(tidy)\n",
    ),
)
