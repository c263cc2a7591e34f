"""Resources that are changed, expire or are deleted while others use them."""

from __future__ import annotations

from collections.abc import Iterator

from pubsub_delta import DeadLetterPolicy
from tests.protocol.outcome import Outcome
from tests.protocol.scenario import Scenario
from tests.protocol.stepping import Handle
from tests.unit.builders import MINUTE
from tests.unit.in_memory import LETTERS, NAME, InMemory


def give_the_dead_letter_topic(handle: Handle, _: InMemory) -> None:
    handle.be_at(MINUTE)
    handle.store.update_subscription(NAME, dead_letter_policy=DeadLetterPolicy(LETTERS, 5))
    handle.tell("given")


def delete_the_dead_letter_topic(handle: Handle, _: InMemory) -> None:
    handle.be_at(MINUTE)
    handle.store.delete_topic(LETTERS)
    handle.tell("deleted")


def is_given_or_deleted(outcome: Outcome) -> Iterator[str]:
    if not (outcome.told("gives", "given") and outcome.told("deletes", "deleted")):
        return
    store = outcome.open()
    names = [each.name for each in store.list_topics()]
    policy = store.get_subscription(NAME).dead_letter_policy
    if policy is not None and policy.dead_letter_topic not in names:
        yield "the subscription was given a dead-letter topic that is gone"


GIVEN_AND_DELETED = Scenario(
    "a dead-letter topic that is given and deleted",
    lambda: InMemory(),
    {"gives": give_the_dead_letter_topic, "deletes": delete_the_dead_letter_topic},
    is_given_or_deleted,
)
