"""Seek, snapshots and retention at the same time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pubsub_delta.delivery import sources
from tests.protocol.outcome import Outcome
from tests.protocol.scenario import Scenario
from tests.protocol.stepping import Handle
from tests.protocol.verbs import (
    FRESH,
    TAKEN,
    OneTopic,
    delete_the_snapshot,
    delete_what_nobody_needs,
    leased,
    publish,
    pull_and_ack,
    seek_to_the_snapshot,
    take_a_snapshot,
    two_messages,
)
from tests.unit.builders import MINUTE, at
from tests.unit.in_memory import NAME, TOPIC, InMemory


def has_what_it_captured(outcome: Outcome, *processes: str) -> Iterator[str]:
    """A snapshot gives back all that it captured, and what is unacknowledged now it captured."""
    for process in processes:
        if not outcome.told(process, "taken"):
            return
    captured = outcome.captured(TAKEN)
    if captured is None:
        yield "the snapshot was taken and is gone"
        return
    found = outcome.received(before=lambda store: store.seek(NAME, snapshot=TAKEN))
    if len(captured) != found.total():
        yield f"the snapshot captured {sorted(captured)}, and gives {dict(found)}"
    missing = outcome.backlog - found
    if missing:
        yield f"{dict(missing)} was not acknowledged, and the snapshot does not hold it"


def acknowledged_only_by(outcome: Outcome, process: str, *data: str) -> Iterator[str]:
    """All that nobody has begun to acknowledge is delivered."""
    if not outcome.told(process, "ending") and outcome.backlog != Counter(data):
        yield f"nobody acknowledged anything, and only {dict(outcome.backlog)} is delivered"
    if outcome.told(process, "acked") and outcome.backlog:
        yield f"{dict(outcome.backlog)} comes again after its acknowledgement"


def snapshot_holds(outcome: Outcome) -> Iterator[str]:
    yield from has_what_it_captured(outcome, "takes a snapshot")
    yield from acknowledged_only_by(outcome, "consumes", "a", "b")


SNAPSHOT_AND_RETENTION = Scenario(
    "a snapshot beside retention",
    two_messages,
    {
        "takes a snapshot": take_a_snapshot,
        "consumes": pull_and_ack,
        "maintains": delete_what_nobody_needs,
    },
    snapshot_holds,
)


def brought_back_for_a_while() -> InMemory:
    """Return a store with an acknowledged message that its topic retains until 1 s from now."""
    world = OneTopic(ack_deadline_seconds=600)
    world.store.update_topic(TOPIC, message_retention_duration="10m")
    world.publish("a")
    world.ack("a")
    world.be_at(10 * MINUTE)
    return world


def seek_back(handle: Handle, _: InMemory) -> None:
    handle.be_at(10 * MINUTE)
    handle.store.seek(NAME, time=at(0))
    handle.tell("sought")


def seek_back_and_take(handle: Handle, world: InMemory) -> None:
    seek_back(handle, world)
    handle.store.create_snapshot(TAKEN, NAME)
    handle.tell("taken")
    handle.store.pull(NAME).ack()


def delete_a_second_later(handle: Handle, _: InMemory) -> None:
    handle.be_at(10 * MINUTE + 1)
    handle.store.maintain(exact=True, tables=False, dead_letters=False, expiration=False)


def pull_later(handle: Handle, _: InMemory) -> None:
    handle.be_at(10 * MINUTE + 1)
    leased(handle, handle.store.pull(NAME))


def brought_back_is_there(outcome: Outcome) -> Iterator[str]:
    if sum(outcome.backlog.values()) > 1:
        yield "a message is delivered twice"
    yield from has_what_it_captured(outcome, "seeks and takes a snapshot")


SEEK_AND_RETENTION = Scenario(
    "a seek to a time beside retention",
    brought_back_for_a_while,
    {"seeks": seek_back, "maintains": delete_a_second_later, "consumes": pull_later},
    lambda outcome: (
        f"{each} is delivered twice" for each, count in outcome.backlog.items() if count > 1
    ),
)
SEEK_SNAPSHOT_AND_RETENTION = Scenario(
    "a snapshot of what a seek brought back",
    brought_back_for_a_while,
    {"seeks and takes a snapshot": seek_back_and_take, "maintains": delete_a_second_later},
    brought_back_is_there,
)


def subscribe_and_seek(handle: Handle, _: InMemory) -> None:
    handle.be_at(10 * MINUTE)
    handle.store.create_subscription(FRESH, TOPIC)
    handle.store.seek(FRESH, time=at(0))
    handle.store.create_snapshot(TAKEN, FRESH)
    handle.tell("taken")
    handle.store.pull(FRESH).ack()


def fresh_has_what_it_captured(outcome: Outcome) -> Iterator[str]:
    if not outcome.told("subscribes and seeks", "taken"):
        return
    found = outcome.received(FRESH, before=lambda store: store.seek(FRESH, snapshot=TAKEN))
    captured = outcome.captured(TAKEN)
    if captured is None or len(captured) != found.total():
        yield f"the snapshot captured {captured}, and gives {dict(found)}"


NEW_SUBSCRIPTION_AND_RETENTION = Scenario(
    "a seek of a new subscription beside retention",
    brought_back_for_a_while,
    {"subscribes and seeks": subscribe_and_seek, "maintains": delete_a_second_later},
    fresh_has_what_it_captured,
)


def acknowledged() -> InMemory:
    """Return a store with a message that nobody needs."""
    world = OneTopic(ack_deadline_seconds=600)
    world.publish("a")
    world.ack("a")
    return world


def late_is_delivered(outcome: Outcome) -> Iterator[str]:
    if outcome.told("publishes", "published") and outcome.backlog != Counter(["late"]):
        yield f"'late' was published, and {dict(outcome.backlog)} is delivered"


SLOW_PUBLISHER_AND_RETENTION = Scenario(
    "a slow publisher beside retention",
    acknowledged,
    {"publishes": publish("late"), "maintains": delete_what_nobody_needs},
    late_is_delivered,
)


def held_by_a_snapshot() -> InMemory:
    """Return a store whose snapshot alone holds two messages."""
    world = two_messages()
    world.store.create_snapshot(TAKEN, NAME)
    world.ack("a", "b")
    return world


def carry_out(handle: Handle, _: InMemory) -> None:
    """Carry out what is noted, as any operation does, and read no message."""
    handle.be_at(MINUTE)
    source = sources.source(handle.store.tables, handle.store._subscription(NAME))
    now = handle.clock.now()
    handle.store.tables.ack_states.change(
        source.uid, lambda state: (source.catch_up(state, now), None)
    )


def sought_is_there(outcome: Outcome) -> Iterator[str]:
    if not outcome.told("seeks", "sought"):
        return
    for delivered in (outcome.backlog, outcome.kept):
        if delivered != Counter("ab"):
            yield f"the seek succeeded, and {dict(delivered)} is delivered"


SEEK_AND_DELETION = Scenario(
    "a seek to a snapshot that is deleted",
    held_by_a_snapshot,
    {
        "seeks": seek_to_the_snapshot,
        "deletes the snapshot and maintains": delete_the_snapshot,
        "carries it out": carry_out,
    },
    sought_is_there,
)


def take_it_anew(handle: Handle, _: InMemory) -> None:
    handle.be_at(MINUTE)
    handle.store.delete_snapshot(TAKEN)
    handle.store.create_snapshot(TAKEN, NAME)
    handle.tell("taken")


def one_of_the_name(outcome: Outcome) -> Iterator[str]:
    names = [each.name for each in outcome.open().list_snapshots()]
    if len(names) > 1:
        yield f"two snapshots have the name: {names}"
    takers = ("takes a snapshot", "takes another one")
    taken = sum(len(outcome.told(each, "taken")) for each in takers)
    if taken > 1:
        yield "two snapshots of one name were taken"
    if taken and all(map(outcome.is_done, takers)):
        yield from has_what_it_captured(outcome)


ONE_NAME = Scenario(
    "two snapshots of one name",
    two_messages,
    {
        "takes a snapshot": take_a_snapshot,
        "takes another one": take_a_snapshot,
        "consumes": pull_and_ack,
    },
    one_of_the_name,
)
