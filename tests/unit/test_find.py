"""Finding messages: through parts of a topic, with states, progress, and an end when asked for."""

from __future__ import annotations

import pytest

from pubsub_delta.errors import InvalidArgument, NotFound
from pubsub_delta.operations import find
from pubsub_delta.operations.find import MessageQuery
from tests.unit.in_memory import InMemory

READER = "projects/local/subscriptions/first"
TOPIC = "projects/local/topics/flights"


def found(store: InMemory, name: str, wanted: MessageQuery) -> list[str]:
    return [each.data.decode() for each in store.store.find_messages(name, wanted).messages()]


def three() -> InMemory:
    store = InMemory()
    store.publish(*"abc")
    return store


@pytest.mark.parametrize("part", [1, 2, 100])
def test_whatever_the_parts_each_message_is_found_once_the_newest_first(
    part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find, "PART", part)
    store = three()
    store.publish(*"de")
    assert found(store, TOPIC, MessageQuery()) == ["e", "d", "c", "b", "a"]


def test_a_search_tells_how_far_it_is_and_ends_when_it_is_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(find, "PART", 1)
    search = three().store.find_messages(TOPIC)
    seen: list[bytes] = []
    for message in search.messages(is_stopped=lambda: len(seen) == 2):
        seen.append(message.data)
    assert seen == [b"c", b"b"]
    assert 0 < search.progress < 1


def test_messages_have_the_states_that_they_have_for_the_subscription() -> None:
    store = InMemory(retain_acked_messages=False)
    store.publish(*"abcd")
    store.ack("a")
    leased = {each.data for each in store.pull(1)}
    states = {
        each.data.decode(): each.state for each in store.store.find_messages(READER).messages()
    }
    assert states["a"] is None
    assert {name for name, state in states.items() if state == "leased"} == leased
    assert sorted(filter(None, states.values())) == ["available", "available", "leased"]
    assert len(found(store, READER, MessageQuery(states=find.UNACKED))) == 3


def test_what_cannot_be_searched_is_refused() -> None:
    store = three()
    for name, error in (
        ("flights", InvalidArgument),
        ("projects/local/snapshots/before", InvalidArgument),
        ("projects/local/topics/absent", NotFound),
        ("projects/local/subscriptions/absent", NotFound),
    ):
        with pytest.raises(error):
            store.store.find_messages(name)
    with pytest.raises(InvalidArgument, match="messages of a topic have none"):
        store.store.find_messages(TOPIC, MessageQuery(states=find.UNACKED))
