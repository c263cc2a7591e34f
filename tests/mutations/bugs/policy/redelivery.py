"""Seeded bugs of ``policy/redelivery.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_redelivery.py",
    "tests/unit/test_decided.py",
    "tests/unit/test_many_dead_letters.py",
    "tests/unit/test_delivery_order.py",
    "tests/unit/test_consumer_calls.py",
    "tests/unit/test_whole_ack_states.py",
)

BUGS = (
    Bug(
        "backoff-not-capped",
        "The backoff grows beyond maximum_backoff.",
        "return min(policy.maximum_backoff, wait)",
        "return wait",
    ),
    Bug(
        "backoff-exponent",
        "The first backoff is twice minimum_backoff: the exponent is off by one.",
        "doublings = min(failures, _MOST_FAILURES) - 1",
        "doublings = min(failures, _MOST_FAILURES)",
    ),
    Bug(
        "attempt-counted-without-policy",
        "Delivery attempts are counted without a dead-letter policy.",
        "attempt = span.delivery_attempt + 1 if subscription.dead_letter_policy else 1",
        "attempt = span.delivery_attempt + 1",
    ),
    Bug(
        "once-more-than-permitted",
        "After the last permitted attempt a message is delivered once more.",
        "and span.delivery_attempt > policy.max_delivery_attempts",
        "and span.delivery_attempt > policy.max_delivery_attempts + 1",
    ),
    Bug(
        "once-less-than-permitted",
        "The last permitted attempt is not made.",
        "and span.delivery_attempt > policy.max_delivery_attempts",
        "and span.delivery_attempt >= policy.max_delivery_attempts",
    ),
    Bug(
        "exhausted-backs-off",
        "After the last permitted attempt a message backs off before it is forwarded.",
        "if not wait or is_exhausted(again, subscription):",
        "if not wait:",
    ),
    Bug(
        "forwarding-number-again",
        "The next lease or forwarding gets the number of this forwarding again.",
        "following = replace(state, next_lease_id=number + len(parts or [leaving]))",
        "following = state",
    ),
    Bug(
        "dead-letters-counted-by-span",
        "The metric of dead letters counts spans and not messages.",
        "state.counters.dead_letters + sum(map(len, spans))",
        "state.counters.dead_letters + len(spans)",
    ),
    Bug(
        "dead-letters-always-retained",
        "A seek brings back dead letters although acknowledged messages are not retained.",
        "(span.retained() for span in spans if retain)",
        "(span.retained() for span in spans)",
    ),
    Bug(
        "lost-with-the-dead-letter-topic",
        "Messages whose dead-letter topic is gone are lost.",
        "(s.released() if s in spans else s for s in state.spans)",
        "(s for s in state.spans if s not in spans)",
    ),
    Bug(
        "forwarding-forgets-attempts",
        "Without the policy the attempts of what is being forwarded are forgotten, too.",
        "return span.state in DECIDED",
        "return False",
    ),
    Bug(
        "numbers-of-parts-given-again",
        "The next decision has the number of the second part of the last one.",
        "next_lease_id=number + len(parts or [leaving]))",
        "next_lease_id=number + 1)",
    ),
    Bug(
        "failure-not-noted",
        "It is not noted that a delivery failed, unless a policy counts failures.",
        "again = replace(again, failed_lease_id=span.lease_id)",
        "again = replace(again, failed_lease_id=None)",
    ),
    Bug(
        "parts-under-one-number",
        "The parts of the dead letters have one number, and so are one again.",
        "lease_id=place, forward_to=topic_uid)",
        "lease_id=number, forward_to=topic_uid)",
    ),
    Bug(
        "a-number-instead-that-is-given-again",
        "A lease gets the number that a forwarding was given after a restore.",
        "next_lease_id=higher + 1)",
        "next_lease_id=higher)",
    ),
    Bug(
        "decided-deliveries-not-counted",
        "A dead letter tells one delivery where the policy has changed since it was decided.",
        "span if _decided(span) else replace(span, delivery_attempt=1)",
        "replace(span, delivery_attempt=1)",
    ),
    Bug(
        "attempt-two-without-a-policy",
        "A failure without a dead-letter policy counts as an attempt of one that is set later.",
        "subscription.dead_letter_policy else 1",
        "subscription.dead_letter_policy else 2",
    ),
)
