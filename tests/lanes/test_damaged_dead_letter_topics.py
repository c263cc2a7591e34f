"""A topic that is damaged, a dead-letter topic or its source, stops no other dead letters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pubsub_delta import DeadLetterPolicy, ManualClock, PubSub
from pubsub_delta.delivery import dead_letters
from pubsub_delta.errors import DeadLetterWarning
from tests.lanes.table_world import DEAD, NAME, TOPIC, Killed, kill_before

OTHER = "failed-later"


def damage(root: Path, store: PubSub) -> None:
    """Damage the dead-letter topic: nothing can be read from it, nor be appended."""
    log = root / "messages" / store.get_topic(DEAD).uid / "_delta_log"
    for commit in log.glob("*.json"):
        commit.write_bytes(b"\0")


def with_a_failed_message(root: Path, clock: ManualClock, data: bytes, *topics: str) -> PubSub:
    """Return a store whose message has had its last attempt; "letters" is of its last topic."""
    store = PubSub(None, str(root), clock=clock)
    for topic in topics:
        store.create_topic(topic)
    store.create_subscription("letters", topics[-1])
    store.create_subscription(NAME, TOPIC, dead_letter_policy=DeadLetterPolicy(DEAD, 5))
    store.publish(TOPIC, [data])
    for _ in range(5):
        store.pull(NAME).nack()
    return store


def with_another_policy(root: Path, monkeypatch: pytest.MonkeyPatch) -> PubSub:
    """Return a store whose message is on its way to a topic that cannot be written.

    Its subscription has another dead-letter topic by now.
    """
    clock = ManualClock()
    store = with_a_failed_message(root, clock, b"stuck", TOPIC, DEAD, OTHER)
    with monkeypatch.context() as patched:
        kill_before(patched, dead_letters, "_append")
        with pytest.raises(Killed):
            store.pull(NAME)
    damage(root, store)
    store = PubSub(None, str(root), clock=clock)
    store.update_subscription(NAME, dead_letter_policy=DeadLetterPolicy(OTHER, 5))
    return store


@pytest.mark.parametrize("is_decided", [False, True])
def test_the_others_of_its_source_come_and_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_decided: bool
) -> None:
    """ "nothing is forwarded or lost: the message stays on the source and the failure is reported".

    ``is_decided``: whether a process died once it was decided that the message is forwarded.
    """
    clock, root = ManualClock(), tmp_path / "store"
    store = with_a_failed_message(root, clock, b"bad", TOPIC, DEAD)
    if is_decided:
        with monkeypatch.context() as patched:
            kill_before(patched, dead_letters, "_append")
            with pytest.raises(Killed):
                store.pull(NAME)
    store.publish(TOPIC, [b"good"])
    damage(root, store)
    with pytest.warns(DeadLetterWarning, match="damaged"):
        pulled = PubSub(None, str(root), clock=clock).pull(NAME)
    assert [each.data for each in pulled] == [b"good"]
    assert pulled.ack().success
    assert store.metrics(NAME)["num_undelivered_messages"] == 1


def test_what_goes_to_another_topic_that_is_set_then_arrives_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "After the last permitted attempt the message is forwarded", also behind one that cannot be.

    The warning tells to set another dead-letter topic where one cannot be written.
    """
    store = with_another_policy(tmp_path / "store", monkeypatch)
    store.publish(TOPIC, [b"bad"])
    for _ in range(6):
        with pytest.warns(DeadLetterWarning, match=f"{DEAD} cannot be written"):
            pulled = store.pull(NAME)
        pulled.nack()
    assert [each.data for each in store.pull("letters")] == [b"bad"]
    metrics = store.metrics(NAME)
    assert metrics["dead_letter_message_count"] == 1
    assert metrics["num_undelivered_messages"] == 1, "what cannot be written stays"


def test_with_its_deletion_they_go_to_the_other_topic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "If the dead-letter topic cannot be written (gone), nothing is forwarded or lost".

    Of a topic that was deleted with its subscriptions nobody can get a message, damaged or not.
    """
    store = with_another_policy(tmp_path / "store", monkeypatch)
    store.delete_topic(DEAD)
    with pytest.warns(DeadLetterWarning, match="does not exist any more"):
        assert not store.pull(NAME)
    assert not store.pull(NAME)
    assert [each.data for each in store.pull("letters")] == [b"stuck"]
    assert store.metrics(NAME)["num_undelivered_messages"] == 0


def test_messages_whose_file_is_gone_hold_up_no_later_ones(tmp_path: Path) -> None:
    """ "After the last permitted attempt the message is forwarded", once it can be read again.

    The error names the topic whose file is gone, and not the dead-letter topic.
    """
    root = tmp_path / "store"
    store = with_a_failed_message(root, ManualClock(), b"unread", TOPIC, DEAD)
    table = root / "messages" / store.get_topic(TOPIC).uid
    (file,) = table.rglob("*.parquet")
    file.rename(tmp_path / file.name)
    store.publish(TOPIC, [b"bad"])
    for _ in range(6):
        with pytest.warns(DeadLetterWarning, match=f"forwarded: .*{table.name}") as told:
            pulled = store.pull(NAME)
        assert DEAD not in str(told[0].message)
        pulled.nack()
    pulled = store.pull("letters")
    assert [each.data for each in pulled] == [b"bad"]
    pulled.ack()
    assert store.metrics(NAME)["num_undelivered_messages"] == 1
    (tmp_path / file.name).rename(file)
    assert not store.pull(NAME)
    assert [each.data for each in store.pull("letters")] == [b"unread"]
    assert store.metrics(NAME)["dead_letter_message_count"] == 2


def test_what_was_not_forwarded_to_it_goes_to_another_topic_that_is_set_then(
    tmp_path: Path,
) -> None:
    """ "The message stays on the source": it is on no way to a topic that takes none."""
    clock, root = ManualClock(), tmp_path / "store"
    store = with_a_failed_message(root, clock, b"bad", TOPIC, DEAD, OTHER)
    damage(root, store)
    store = PubSub(None, str(root), clock=clock)
    with pytest.warns(DeadLetterWarning, match="damaged"):
        assert not store.pull(NAME)
    store.update_subscription(NAME, dead_letter_policy=DeadLetterPolicy(OTHER, 5))
    assert not store.pull(NAME)
    assert [each.data for each in store.pull("letters")] == [b"bad"]
    assert store.metrics(NAME)["num_undelivered_messages"] == 0


def append_and_die(*given: Any) -> None:
    APPEND(*given)
    raise Killed


APPEND = dead_letters._append


@pytest.mark.parametrize("is_decided", [False, True])
def test_one_whose_table_is_gone_is_told_as_damaged_until_it_is_restored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_decided: bool
) -> None:
    """The topic exists: it cannot be created, as is told of one that was deleted.

    What was appended before a process died is there once the table is restored, and only once.
    """
    clock, root = ManualClock(), tmp_path / "store"
    store = with_a_failed_message(root, clock, b"bad", TOPIC, DEAD)
    if is_decided:
        with monkeypatch.context() as patched:
            patched.setattr(dead_letters, "_append", append_and_die)
            with pytest.raises(Killed):
                store.pull(NAME)
    table = root / "messages" / store.get_topic(DEAD).uid
    table.rename(tmp_path / "copy")
    store = PubSub(None, str(root), clock=clock)
    for _ in range(2):
        with pytest.warns(DeadLetterWarning, match=f"{DEAD} cannot be written: .*restore it"):
            assert not store.pull(NAME)
    assert "restore it" in store.maintain().problems[store.get_subscription(NAME).name]
    (tmp_path / "copy").rename(table)
    store = PubSub(None, str(root), clock=clock)
    assert not store.pull(NAME)
    assert [each.data for each in store.pull("letters")] == [b"bad"]
    assert store.metrics(NAME)["num_undelivered_messages"] == 0
