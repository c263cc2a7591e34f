"""Many dead letters, or large ones, are forwarded in parts: a process has not all of them at once.

"The memory of a server": a subscription with more dead letters than fit into memory would end
every process that pulls from it, again and again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pubsub_delta import DeadLetterPolicy, DeadLetterWarning, MaintenanceReport, Unavailable
from pubsub_delta.delivery import dead_letters
from pubsub_delta.errors import DataLoss
from pubsub_delta.tables.ack_state import AckStates
from pubsub_delta.tables.messages.commits import metadata_of
from pubsub_delta.tables.messages.stored import StoredMessages
from pubsub_delta.tables.registry import Registry
from pubsub_delta.tables.store import Tables
from tests.model.memory_lane import MemoryLane
from tests.unit.builders import Crashed
from tests.unit.in_memory import LETTERS, NAME, TOPIC, InMemory
from tests.unit.test_races import once

ATTEMPTS = 5
PREFIX = "CloudPubSubDeadLetterSource"


def exhausted(*data: str) -> InMemory:
    """Let messages fail as often as is permitted."""
    world = InMemory(dead_letter_policy=DeadLetterPolicy(LETTERS, ATTEMPTS))
    world.publish(*data)
    for _ in range(ATTEMPTS):
        pulled = world.pull()
        world.store.modify_ack_deadline(NAME, [each.ack_id for each in pulled], 0)
    return world


def appended(world: InMemory) -> list[int]:
    """Return how many messages each commit has added to the dead-letter topic."""
    table = world.tables.messages(world.store.get_topic(LETTERS).uid).table
    told = reversed(world.driver.world.lane.history(table))
    counts = (metadata_of(each.user_metadata).get("message_count") for each in told)
    return [count for count in counts if count is not None]


def test_large_ones_are_forwarded_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_letters, "MOST_BYTES", 1_000)
    data = [f"{n:100}" for n in range(30)]
    world = exhausted(*data)
    assert world.pull() == []
    assert world.stored(LETTERS) == data
    assert max(appended(world)) <= 10
    assert len(appended(world)) <= 5, "each part is filled"
    assert world.backlog() == {}
    assert world.store.metrics(NAME)["dead_letter_message_count"] == 30


def test_one_that_is_larger_than_a_part_is_forwarded_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dead_letters, "MOST_BYTES", 1_000)
    data = [f"{n:2}" for n in range(9)] + ["x" * 5_000, "y" * 5_000]
    world = exhausted(*data)
    world.pull()
    assert world.stored(LETTERS) == data
    assert appended(world)[-2:] == [1, 1]


def test_many_small_ones_are_forwarded_in_few_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_letters, "MOST_MESSAGES", 100)
    world = exhausted(*(str(n) for n in range(250)))
    world.pull()
    assert len(world.stored(LETTERS)) == 250
    assert max(appended(world)) <= 100
    assert len(appended(world)) <= 4


def test_who_dies_between_two_parts_has_forwarded_each_message_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dead_letters, "MOST_BYTES", 1_000)
    data = [f"{n:100}" for n in range(30)]
    world = exhausted(*data)
    append, left = MemoryLane.append, [1, 1]

    def dying(*args: object, **named: object) -> object:
        if not left:
            raise Crashed
        left.pop()
        return append(*args, **named)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(MemoryLane, "append", dying)
        with pytest.raises(Crashed):
            world.pull()
    world.store = world.driver.open()
    assert world.pull() == []
    assert world.stored(LETTERS) == data


def test_what_is_forwarded_again_tells_of_its_last_source() -> None:
    # Pub/Sub: the attributes name the subscription that has forwarded the message
    world = exhausted("late")
    world.store.create_topic("graves")
    again = DeadLetterPolicy("graves", ATTEMPTS + 1)
    world.store.create_subscription("readers", LETTERS, dead_letter_policy=again)
    world.store.create_subscription("mourners", "graves")
    assert world.pull() == []
    for _ in range(ATTEMPTS + 1):
        (pulled,) = world.pull(name="readers")
        world.store.modify_ack_deadline("readers", [pulled.ack_id], 0)
    assert world.pull(name="readers") == []
    (grave,) = world.store.peek("mourners")
    assert grave.attributes[f"{PREFIX}Subscription"] == "readers"
    assert grave.attributes[f"{PREFIX}DeliveryCount"] == str(ATTEMPTS + 1)


def forwarded_by_maintenance(world: InMemory, *, dry_run: bool = False) -> MaintenanceReport:
    return world.store.maintain(
        dry_run=dry_run, expiration=False, retention=False, optimize=False, vacuum=False
    )


def test_a_dry_run_counts_what_is_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that forwarded it has ended in between."""
    world = exhausted(*"ab")
    world.store.create_subscription("undelivered", LETTERS)
    with monkeypatch.context() as patched:
        patched.setattr(MemoryLane, "append", lose)
        with pytest.warns(DeadLetterWarning):
            world.pull()
    assert set(world.backlog().values()) == {"forwarding"}
    found = {f"projects/local/subscriptions/{NAME}": 2}
    assert forwarded_by_maintenance(world, dry_run=True).dead_letters == found
    assert forwarded_by_maintenance(world).dead_letters == found


def test_a_dry_run_counts_nothing_for_a_dead_letter_topic_that_is_gone() -> None:
    world = exhausted("a")
    world.tables.registry.remove_topic(world.store.get_topic(LETTERS).uid, world.now)
    reports = [forwarded_by_maintenance(world, dry_run=dry_run) for dry_run in (True, False)]
    assert [each.dead_letters for each in reports] == [{}, {}]
    assert reports[0].problems == reports[1].problems
    assert len(reports[0].problems) == 1


def test_a_topic_that_is_gone_is_told_though_others_go_to_the_one_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is under way completes; "nothing is forwarded or lost" of the rest, with a warning."""
    world = exhausted("a")
    world.publish("b")
    with monkeypatch.context() as patched:
        patched.setattr(MemoryLane, "append", lose)
        for _ in range(ATTEMPTS):
            with pytest.warns(DeadLetterWarning):
                pulled = world.pull()
            world.store.modify_ack_deadline(NAME, [each.ack_id for each in pulled], 0)
    assert world.backlog() == {"a": "forwarding", "b": "available"}
    graves = world.store.create_topic("graves")
    world.store.update_subscription(NAME, dead_letter_policy=DeadLetterPolicy("graves", ATTEMPTS))
    world.tables.registry.remove_topic(graves.uid, world.now)
    with pytest.warns(DeadLetterWarning, match=r"1 message .*topics/graves does not exist"):
        world.pull()
    assert world.stored(LETTERS) == ["a"]


def lose(*_: Any, **__: Any) -> Any:
    raise ConnectionError("the storage cannot be reached")


def test_what_nobody_can_get_is_not_counted_as_forwarded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its topic was deleted, with its last subscription, while it was appended."""
    world = exhausted("a")
    received = iter([True, False])
    monkeypatch.setattr(Tables, "is_received", lambda *_: next(received))
    told = forwarded_by_maintenance(world)
    assert told.dead_letters == {}
    assert "nothing is lost" in told.problems[f"projects/local/subscriptions/{NAME}"]
    assert world.backlog() == {"a": "available"}


@pytest.mark.parametrize("detached", ["a-sub", "m-sub", "z-sub"])
def test_a_detached_subscription_does_not_keep_those_of_others(detached: str) -> None:
    """Of ``maintain``: dead letters are forwarded for each subscription that is attached."""
    world, names = InMemory(), ["a-sub", "m-sub", "z-sub"]
    for name in names:
        policy = DeadLetterPolicy(LETTERS, ATTEMPTS)
        world.store.create_subscription(name, TOPIC, dead_letter_policy=policy)
    world.publish("x")
    for name in names * ATTEMPTS:
        ack_ids = [each.ack_id for each in world.store.pull(name, 10)]
        world.store.modify_ack_deadline(name, ack_ids, 0)
    world.store.detach_subscription(detached)
    done = world.store.maintain().dead_letters
    kept = {f"projects/local/subscriptions/{name}" for name in names} - {
        f"projects/local/subscriptions/{detached}"
    }
    assert done == dict.fromkeys(kept, 1)


def test_both_what_was_forwarded_and_why_others_were_not_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of ``maintain``: "dead_letters: messages forwarded", "problems: why a duty failed"."""
    monkeypatch.setattr(dead_letters, "MOST_MESSAGES", 8)
    world, append = exhausted(*(str(n) for n in range(12))), dead_letters._append
    numbers: list[int] = []

    def full(*given: Any) -> bool:
        numbers.append(1)
        if len(numbers) > 1:
            raise Unavailable("the disk is full")
        return append(*given)

    monkeypatch.setattr(dead_letters, "_append", full)
    report, name = forwarded_by_maintenance(world), f"projects/local/subscriptions/{NAME}"
    assert report.dead_letters == {name: len(world.stored(LETTERS))}
    assert 0 < report.dead_letters[name] < 12
    assert "the disk is full" in report.problems[name]


def test_what_is_forwarded_in_several_commits_is_told_as_one_sum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of ``maintain``: "dead_letters: messages forwarded, by subscription"."""
    monkeypatch.setattr(dead_letters, "MOST_MESSAGES", 8)
    world = exhausted(*(str(n) for n in range(12)))
    report = forwarded_by_maintenance(world)
    assert report.dead_letters == {f"projects/local/subscriptions/{NAME}": 12}
    assert len(appended(world)) > 1


@pytest.mark.parametrize(
    "change",
    [
        lambda store: store.update_subscription(NAME, dead_letter_policy=None),
        lambda store: store.update_subscription(
            NAME, dead_letter_policy=DeadLetterPolicy(LETTERS, 2 * ATTEMPTS)
        ),
        lambda store: store.delete_subscription(NAME),
    ],
)
def test_maintain_forwards_by_the_policy_as_it_is_when_its_turn_comes(
    change: Callable[[Any], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "Clearing the policy forgets the counts", and "Delete: the backlog is dropped at once"."""
    world = exhausted("a")
    other = world.driver.open()
    once(monkeypatch, Registry, "sources", lambda: change(other), "after")
    report = forwarded_by_maintenance(world)
    assert (report.dead_letters, report.problems) == ({}, {})
    assert world.stored(LETTERS) == []


def away(*_: Any, **__: Any) -> Any:
    raise Unavailable("the storage does not respond")


def test_a_storage_that_fails_once_a_lease_is_written_takes_nothing_from_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a commit has decided has landed: the lease holds, and the next consumer forwards."""
    world = exhausted("bad")
    world.publish("good")
    with monkeypatch.context() as patched:
        once(
            patched, AckStates, "change", lambda: patched.setattr(AckStates, "read", away), "after"
        )
        with pytest.warns(DeadLetterWarning, match="forwarded by its next consumer: the storage"):
            pulled = world.pull()
    assert [each.data for each in pulled] == ["good"]
    assert world.stored(LETTERS) == []
    world.pull()
    assert world.stored(LETTERS) == ["bad"]


def test_parts_behind_one_that_cannot_be_written_wait_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ "The next consumer completes forwardings …, in the order of their numbers." """
    monkeypatch.setattr(dead_letters, "MOST_BYTES", 1_000)
    data = [f"{n:100}" for n in range(30)]
    world = exhausted(*data)
    append, left = dead_letters._append, [away]

    def fails_once(*args: Any) -> bool:
        return (left.pop() if left else append)(*args)

    monkeypatch.setattr(dead_letters, "_append", fails_once)
    with pytest.warns(DeadLetterWarning, match="nothing is lost"):
        world.pull()
    assert world.stored(LETTERS) == []
    world.pull()
    assert world.stored(LETTERS) == data


def test_messages_that_cannot_be_measured_hold_up_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ "Messages that cannot be read hold up no others": many of them are measured first."""
    data = [str(n) for n in range(9)]
    world = exhausted(*data)
    world.publish("good")

    def damaged(*_: Any) -> int:
        raise DataLoss("a file is gone")

    monkeypatch.setattr(StoredMessages, "byte_count", damaged)
    assert [each.data for each in world.pull()] == ["good"]
    assert world.stored(LETTERS) == data
