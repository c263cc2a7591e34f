"""Finding messages: through parts of a topic, with states, progress, and an end when asked for."""

from __future__ import annotations

from itertools import count

import pytest

from pubsub_delta.errors import InvalidArgument, NotFound
from pubsub_delta.operations import find
from pubsub_delta.operations.find import UNACKED
from pubsub_delta.policy.json_fields import JsonField
from pubsub_delta.policy.message_queries import MessageQuery
from pubsub_delta.resources import Message
from tests.unit.builders import DAY, at
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


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (MessageQuery(earliest=at(DAY), latest=at(DAY)), "b"),
        (MessageQuery(earliest=at(DAY)), "cb"),
        (MessageQuery(latest=at(DAY)), "ba"),
        (MessageQuery(earliest=at(DAY + 1), latest=at(2 * DAY - 1)), ""),
    ],
)
def test_both_times_of_a_search_are_included(wanted: MessageQuery, expected: str) -> None:
    store = InMemory()
    for day, data in enumerate("abc"):
        store.be_at(day * DAY)
        store.publish(data)
    assert "".join(found(store, TOPIC, wanted)) == expected


def test_a_search_takes_as_many_reads_as_there_are_messages_and_not_positions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Processes reserve blocks of positions, and OPTIMIZE joins files of several."""
    monkeypatch.setattr(find, "PART", 1 << 14)
    store = three()
    store.driver.open().publish("flights", ["d", "e", "f"])
    reads = count(1)
    search = store.store.find_messages(TOPIC)
    seen = search.messages(is_stopped=lambda: next(reads) < 0)
    assert [each.data.decode() for each in seen] == ["f", "e", "d", "c", "b", "a"]
    assert next(reads) == 2, "there was one"


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
    assert len(list(search.messages())) == 3
    assert search.progress == 1


def test_messages_have_the_states_that_they_have_for_the_subscription() -> None:
    store = InMemory(retain_acked_messages=False)
    store.publish(*"abcd")
    store.ack("a")
    leased = {each.data for each in store.pull(1)}
    messages = list(store.store.find_messages(READER).messages())
    states = {each.data.decode(): each.state for each in messages}
    assert {each.delivery_attempt for each in messages} == {None}  # without a dead-letter policy
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
    with pytest.raises(InvalidArgument, match="messages of a topic have no state"):
        store.store.find_messages(TOPIC, MessageQuery(states=find.UNACKED))


def test_what_was_committed_after_a_version_is_found_without_what_was_there() -> None:
    store = three()
    search = store.store.find_messages(TOPIC)
    assert len(list(search.messages())) == 3
    store.publish(*"de")
    assert found(store, TOPIC, MessageQuery(after_version=search.version)) == ["e", "d"]
    assert found(store, READER, MessageQuery(after_version=search.version, states=UNACKED)) == [
        "e", "d",
    ]  # fmt: skip
    store.ack("d")
    assert found(store, READER, MessageQuery(after_version=search.version, states=UNACKED)) == ["e"]
    newest = store.store.find_messages(TOPIC)
    list(newest.messages())
    assert found(store, TOPIC, MessageQuery(after_version=newest.version)) == []
    with pytest.raises(InvalidArgument, match="is after the topic's version"):
        found(store, TOPIC, MessageQuery(after_version=newest.version + 1))


def test_every_message_of_a_publish_tells_its_publish_id() -> None:
    """Also of publishes of the same microsecond."""
    store = three()
    store.publish("d", "e")
    search = store.store.find_messages(TOPIC)
    told = [search.publish_id_of(each) for each in search.messages()]
    logged = [each.publish_id for each in store.store.topic_history("flights", 2)]
    assert told == [logged[0]] * 2 + [logged[1]] * 3


WRITTEN = (
    b'{"a": 7}', b'{"a": 7.0}', b'{"a": 70e-1}', b'{"a": "7"}', b'{"a": "late"}', b'{"b": 7}',
    b'{"\\u0061": 7}', b'{"a": "l\\u0061te"}', b'{"a": [5, "late"]}', b'{"a": {"0": 5}}',
    b'{"a": true}', b'{"a": null}', b'{"a": -7}', b'{"a": 0}', b'{"a": -0.0}', b'["a", 7]',
    b'{"a": NaN}', b'{"a": 1e999999999}', b'{"a": {"b": {"c": "late"}}}', b"a 7 late", b"",
    b"\xff", b'{"a": 7', b"[" * 3_000,
)  # fmt: skip


@pytest.mark.parametrize(
    "wanted",
    [
        ("a", None), ("a", "7"), ("a", "007"), ("a", "-7"), ("a", "0"), ("a", "7.0"),
        ("a", "late"), ("a", "true"), ("a", "null"), ("a", "NaN"), ("a", "sNaN"),
        ("a", "1e999999999"), ("a.1", None),
        ("a.0", "5"), ("a.1", "late"), ("a.2", None), ("a.b.c", "late"), ("1", "7"), ("1.0", None),
        ("", None), ("a.99999999999", None),
    ],
)  # fmt: skip
def test_a_json_field_is_found_however_it_is_written(wanted: tuple[str, str | None]) -> None:
    """What is not parsed, as its texts are absent, would not match."""
    store = InMemory()
    store.store.publish("flights", [Message(each, {"k": "v"}) for each in WRITTEN])
    seen = store.store.find_messages(TOPIC, MessageQuery(json_field=wanted)).messages()
    matching = [each for each in WRITTEN if JsonField(*wanted).matches(each)]
    assert [each.data for each in seen] == matching[::-1]


@pytest.mark.parametrize(
    ("path", "value", "count"),
    [
        ("a", "7", 5), ("a", "007", 4), ("a", "0", 2), ("a", "late", 2), ("a", "NaN", 1),
        ("a.0", "5", 2), ("a", "true", 1), ("a", "null", 1), ("a", "None", 0),
    ],
)  # fmt: skip
def test_numbers_are_compared_as_numbers_and_the_rest_as_text(
    path: str, value: str, count: int
) -> None:
    assert sum(JsonField(path, value).matches(each) for each in WRITTEN) == count


@pytest.mark.parametrize("part", [1, 2, 3, 4, 7, 1 << 14])
def test_far_apart_or_not_no_message_is_left_out_and_the_newest_come_first(
    part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where most parts by position would be empty, the parts are made of what is stored."""
    monkeypatch.setattr(find, "PART", part)
    store = three()
    store.driver.open().publish("flights", [*"def"])
    store.driver.open().publish("flights", [*"gh"])
    assert "".join(found(store, TOPIC, MessageQuery())) == "hgfedcba"


@pytest.mark.parametrize(("bytes_", "reads"), [(10_000_000, 1), (2_200, 4), (1_100, 8), (1, 8)])
def test_of_large_messages_fewer_are_read_at_a_time(
    monkeypatch: pytest.MonkeyPatch, bytes_: int, reads: int
) -> None:
    """Else a part of messages of 10 MB each would not fit into memory."""
    monkeypatch.setattr(find, "_LEAST", 1)
    monkeypatch.setattr(find, "_PART_BYTES", bytes_)
    store = InMemory()
    store.publish(*(str(number) * 1000 for number in range(8)))
    asked = count()
    search = store.store.find_messages(TOPIC)
    assert len(list(search.messages(is_stopped=lambda: next(asked) < 0))) == 8
    assert next(asked) == reads
