"""Seeded bugs of ``policy/delivery.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_delivery.py",
    "tests/unit/test_exactly_once.py",
    "tests/unit/test_ordering.py",
    "tests/unit/test_redelivery.py",
    "tests/unit/test_streams.py",
    "tests/unit/test_replay.py",
    "tests/unit/test_ack_requests.py",
    "tests/unit/test_whole_ack_states.py",
    "tests/unit/test_whole_states_of_seeks.py",
)

BUGS = (
    Bug(
        "lease-ends-late",
        "A lease or a backoff is not over at the instant of its end, but only after it.",
        "span.until is not None and span.until <= now",
        "span.until is not None and span.until < now",
    ),
    Bug(
        "late-ack-takes-from-another",
        "A late ack acknowledges a message that is leased by another consumer by now.",
        "elsewhere = state.positions(State.LEASED, State.FORWARDING, State.WRITING)",
        "elsewhere = state.positions(State.FORWARDING, State.WRITING)",
    ),
    Bug(
        "late-ack-stops-forwarding",
        "A late ack acknowledges a message that is on its way to the dead-letter topic.",
        "elsewhere = state.positions(State.LEASED, State.FORWARDING, State.WRITING)",
        "elsewhere = state.positions(State.LEASED)",
    ),
    Bug(
        "late-ack-ignored",
        "A late ack of a message that nobody holds does not prevent its redelivery.",
        "state = _acked(state, lease_id, live, unacked - elsewhere, terms)",
        "state = _acked(state, lease_id, live, NOTHING, terms)",
    ),
    Bug(
        "ack-from-before-a-seek",
        "An ack id from before a seek still acknowledges.",
        "if lease_id < state.first_lease_id:",
        "if lease_id < 0:",
    ),
    Bug(
        "first-lease-after-a-seek",
        "The first lease after a seek is taken for one from before it.",
        "if lease_id < state.first_lease_id:",
        "if 1 < lease_id <= state.first_lease_id:",
    ),
    Bug(
        "stale-id-with-exactly-once",
        "With exactly-once delivery an ack id whose lease is over is accepted.",
        "if not terms.subscription.enable_exactly_once_delivery:",
        "if not live or not terms.subscription.enable_exactly_once_delivery:",
    ),
    Bug(
        "late-deadline-succeeds",
        "A new deadline for a lease that is over is told as a success.",
        "outcomes.success[lease_id] = live\n        outcomes.expired[lease_id] = known - live",
        "outcomes.success[lease_id] = known\n        outcomes.expired[lease_id] = NOTHING",
    ),
    Bug(
        "deadline-never-shorter",
        "A new deadline moves the end of a lease only to a later time.",
        "replace(span.only(chosen), until=until)]",
        "replace(span.only(chosen), until=max(until, span.until or until))]",
    ),
    Bug(
        "lease-that-never-was",
        "An ack id under the number that the next lease will get is accepted.",
        "if not 0 < lease_id < state.next_lease_id or",
        "if not 0 < lease_id <= state.next_lease_id or",
    ),
    Bug(
        "tail-not-moved",
        "Messages are taken in, and the tail stays where it was: they come in again.",
        "following = replace(state, after_version=version, absorbed_below=below)",
        "following = replace(state, absorbed_below=below)",
    ),
    Bug(
        "newest-position-unknown",
        "The newest message counts as one that was never delivered: off by one.",
        "*(span.positions.max + 1 for span in new)])",
        "*(span.positions.max for span in new)])",
    ),
    Bug(
        "forwarded-and-found-again",
        "What is being forwarded is made available as well if a seek finds it once more.",
        "if span.state is not State.RETAINED)",
        "if span.state not in (State.RETAINED, State.FORWARDING))",
    ),
    Bug(
        "held-and-found-again",
        "What is held is made available as well if it is found once more.",
        "if span.state is not State.RETAINED)",
        "if span.state is State.FORWARDING)",
    ),
    Bug(
        "retained-and-found-again",
        "A seek does not bring back from the topic what the subscription retains.",
        "union(span for span in state.spans if span.state is not State.RETAINED)",
        "union(state.spans)",
    ),
    Bug(
        "same-lease-twice",
        "Two deliveries get the same number, so their ack ids are the same.",
        "next_lease_id=state.next_lease_id + 1, streams=streams",
        "next_lease_id=state.next_lease_id, streams=streams",
    ),
    Bug(
        "stream-keeps-what-others-hold",
        "A micro-batch keeps messages that another consumer was given since.",
        "streams = tuple(stream.without(chosen) for stream in state.streams)",
        "streams = state.streams",
    ),
    Bug(
        "late-ack-not-retained",
        "Where acknowledged messages are retained, those acknowledged late are not.",
        "if terms.subscription.retain_acked_messages:",
        "if held and terms.subscription.retain_acked_messages:",
    ),
    Bug(
        "malformed-ids-not-counted",
        "Ids that name nothing are missing in the metric of invalid acks.",
        "invalid=before.invalid + total(outcomes.invalid) + malformed,",
        "invalid=before.invalid + total(outcomes.invalid),",
    ),
    Bug(
        "late-nack-of-a-micro-batch",
        "A nack that comes too late leaves the message with the micro-batch that had it.",
        "(held - holds) | given_back.get(stream.lease_id, NOTHING)",
        "held - holds",
    ),
    Bug(
        "followers-with-exactly-once",
        "With exactly-once delivery the followers of a failed ordered message stay leased.",
        "    if not terms.subscription.enable_message_ordering:\n        return NOTHING",
        "    if terms.final_acks:\n        return NOTHING",
    ),
    Bug(
        "final-acks-taken-back",
        "With exactly-once delivery acknowledged followers of a failed message come back.",
        "return fields.enable_exactly_once_delivery or not fields.enable_message_ordering",
        "return not fields.enable_message_ordering",
    ),
    Bug(
        "acked-followers-stay",
        "Acknowledged followers of a failed ordered message do not come back.",
        "if self.final_acks else (State.LEASED, State.ACKED)",
        "if self.final_acks else (State.LEASED,)",
    ),
    Bug(
        "followers-count-a-failure",
        "Messages that return because of an earlier one count a failed attempt.",
        "spans += [span.only(following).released(), span.without(following)]",
        "spans += [ended(span.only(following)), span.without(following)]",
    ),
    Bug(
        "failed-when-noticed",
        "The backoff of an ordered message begins when its passed deadline is noticed.",
        "state = _fail(state, targets, terms, first)",
        "state = _fail(state, targets, terms, now)",
    ),
    Bug(
        "ack-holds-beyond-a-seek",
        "An ack from before a seek holds after it, where its message is acknowledged.",
        "        if lease_id >= state.first_lease_id\n",
        "        if lease_id\n",
    ),
    Bug(
        "ack-holds-beyond-a-restore",
        "An ack holds though its message is unacknowledged again.",
        "lease_id: positions - unacked",
        "lease_id: positions",
    ),
    Bug(
        "brought-back-and-acknowledged",
        "What a nack brings back is acknowledged with its micro-batch, if an ack id did so before.",
        "_released_from_streams({}, before, _with_counters(state, outcomes, malformed))",
        "_with_counters(state, outcomes, malformed)",
    ),
    Bug(
        "a-repeated-ack-of-the-first-lease-fails",
        "A repeated ack under the first lease of all, or after a seek, is told as invalid.",
        "if lease_id >= state.first_lease_id\n    }",
        "if lease_id > state.first_lease_id\n    }",
    ),
)
