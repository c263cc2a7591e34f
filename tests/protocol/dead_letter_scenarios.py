"""Dead letters: two who forward them, a topic that is deleted, and a RESTORE."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pubsub_delta import DeadLetterPolicy
from tests.protocol.outcome import Outcome
from tests.protocol.scenario import Scenario
from tests.protocol.stepping import Handle
from tests.protocol.verbs import UNDELIVERED, forward_dead_letters, pull
from tests.unit.builders import MINUTE
from tests.unit.in_memory import LETTERS, NAME, InMemory


def exhausted() -> InMemory:
    """Return a store with a message that has had all its attempts, and one that has two left."""
    world = InMemory(ack_deadline_seconds=600, dead_letter_policy=DeadLetterPolicy(LETTERS, 5))
    world.store.create_subscription(UNDELIVERED, LETTERS)
    world.publish("a")
    fail(world, "a")
    fail(world, "a")
    world.publish("b")
    for _ in range(3):
        fail(world, "a", "b")
    return world


def fail(world: InMemory, *data: str) -> None:
    pulled = world.pull()
    assert sorted(each.data for each in pulled) == [*data]
    world.store.modify_ack_deadline(NAME, [each.ack_id for each in pulled], 0)


def forwarded_once(outcome: Outcome) -> Iterator[str]:
    """A dead letter stands in its topic once, or is still to be forwarded; the other one comes."""
    found = outcome.received(UNDELIVERED, before=lambda store: store.pull(NAME))
    if found != Counter("a"):
        yield f"{dict(found)} was forwarded, and a is exhausted"
    if outcome.backlog != Counter("b"):
        yield f"{dict(outcome.backlog)} is delivered, and b is not exhausted"


DEAD_LETTERS = Scenario(
    "a dead letter",
    exhausted,
    {"pulls": pull, "pulls too": pull, "maintains": forward_dead_letters},
    forwarded_once,
)


def delete_the_letters(handle: Handle, _: InMemory) -> None:
    handle.be_at(MINUTE)
    handle.store.update_subscription(NAME, dead_letter_policy=None)
    handle.store.delete_topic(LETTERS)
    handle.tell("deleted")


def somewhere_once(outcome: Outcome) -> Iterator[str]:
    found = outcome.backlog + outcome.received(UNDELIVERED, before=lambda s: s.pull(NAME))
    if found != Counter("ab"):
        yield f"{dict(found)} is delivered by the subscription and that of the dead letters"


DEAD_LETTERS_AND_DELETION = Scenario(
    "a dead letter whose topic is deleted",
    exhausted,
    {"pulls": pull, "deletes the topic": delete_the_letters, "maintains": forward_dead_letters},
    somewhere_once,
)


def exhausted_alone() -> InMemory:
    """Return a store with a message that has had all its attempts, and a new one."""
    world = InMemory(ack_deadline_seconds=600, dead_letter_policy=DeadLetterPolicy(LETTERS, 5))
    world.store.create_subscription(UNDELIVERED, LETTERS)
    world.publish("a")
    for _ in range(5):
        fail(world, "a")
    world.publish("b")
    return world


def restore_and_fail_both(handle: Handle, world: InMemory) -> None:
    """Restore the first version of the ack state, and fail every attempt of both messages.

    They are forwarded under the number that one of them alone had before.
    """
    handle.be_at(MINUTE)
    uid = world.store.get_subscription(NAME).uid
    handle.lane.restore(world.tables.layout.ack_state(uid), 0)
    for _ in range(5):
        handle.store.pull(NAME).nack()


def first_version(world: InMemory) -> int:
    uid = world.store.get_subscription(NAME).uid
    return len(world.driver.world.lane.tables[world.tables.layout.ack_state(uid)].versions) - 1


def forwarded_after_a_restore(outcome: Outcome) -> Iterator[str]:
    """A RESTORE may repeat a dead letter; it loses none."""
    letters = outcome.received(UNDELIVERED, before=lambda store: store.pull(NAME))
    lost = Counter("ab") - outcome.backlog - letters
    if lost:
        yield f"{dict(lost)} is delivered by nobody after a RESTORE"


DEAD_LETTERS_AND_RESTORE = Scenario(
    "dead letters and a RESTORE",
    exhausted_alone,
    {"pulls": pull, "restores": restore_and_fail_both},
    forwarded_after_a_restore,
    gaps=False,
)
