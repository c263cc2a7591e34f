"""Leases, publishes and names that are used again, at the same time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pubsub_delta.policy.ack_state import State
from tests.protocol.dead_letter_scenarios import first_version
from tests.protocol.outcome import Outcome
from tests.protocol.scenario import Scenario
from tests.protocol.stepping import Handle
from tests.protocol.verbs import (
    FRESH,
    OneTopic,
    leased,
    publish,
    pull,
    pull_and_ack,
    pull_and_nack,
    two_messages,
)
from tests.unit.builders import MINUTE
from tests.unit.in_memory import NAME, TOPIC, InMemory


def leases_hold(outcome: Outcome, *processes: str) -> Iterator[str]:
    """What a process holds, the ack state gives to its lease."""
    stored = {
        (position, span.lease_id)
        for span in outcome.ack_state().in_state(State.LEASED)
        for position in span.positions
    }
    for process in processes:
        if outcome.told(process, "ending"):
            continue
        for data, position, lease_id in outcome.told(process, "leased"):
            if (position, lease_id) not in stored:
                yield f"{process} holds {data}, and its lease is not stored"


def one_holder(outcome: Outcome) -> Iterator[str]:
    yield from leases_hold(outcome, "consumes", "nacks", "pulls")
    if outcome.told("consumes", "acked"):
        done = Counter(each[0] for each in outcome.told("consumes", "leased"))
        if done & outcome.backlog:
            yield f"{dict(done & outcome.backlog)} comes again after its acknowledgement"
    held = sum(len(outcome.told(each, "leased")) for each in ("consumes", "nacks", "pulls"))
    if held and not outcome.told("consumes", "ending") and outcome.backlog != Counter("ab"):
        yield f"nobody acknowledged anything, and only {dict(outcome.backlog)} is delivered"


LEASES = Scenario(
    "three consumers",
    two_messages,
    {"consumes": pull_and_ack, "nacks": pull_and_nack, "pulls": pull},
    one_holder,
)


def restore_and_pull(handle: Handle, world: InMemory) -> None:
    handle.be_at(MINUTE)
    uid = world.store.get_subscription(NAME).uid
    handle.lane.restore(world.tables.layout.ack_state(uid), first_version(world))
    leased(handle, handle.store.pull(NAME))


LEASES_AND_RESTORE = Scenario(
    "a lease and a RESTORE",
    two_messages,
    {"consumes": pull_and_ack, "restores": restore_and_pull},
    lambda outcome: leases_hold(outcome, "restores"),
)


# Publishes


def subscribe_and_publish(handle: Handle, _: InMemory) -> None:
    handle.be_at(MINUTE)
    handle.store.create_subscription(FRESH, TOPIC)
    publish("z")(handle, _)


def published_is_delivered(outcome: Outcome) -> Iterator[str]:
    told = [
        each
        for process in ("publishes", "publishes too", "subscribes and publishes")
        for each in outcome.told(process, "published")
    ]
    lost = Counter(data for data, _ in told) - outcome.backlog
    if lost:
        yield f"{dict(lost)} was published and is not delivered"
    if max(outcome.backlog.values(), default=0) > 1:
        yield f"{dict(outcome.backlog)}: published twice"
    own = [position for _, position in outcome.told("publishes", "published")]
    if own != sorted(own):
        yield f"what is published later has a lower position: {told}"
    told_z = outcome.told("subscribes and publishes", "published")
    if told_z and not outcome.received(FRESH)["z"]:
        yield "z was published after the subscription was created, and does not come to it"


PUBLISHES = Scenario(
    "publishes and a new subscription",
    OneTopic,
    {
        "publishes": publish("x", "y"),
        "publishes too": publish("u"),
        "subscribes and publishes": subscribe_and_publish,
    },
    published_is_delivered,
)
