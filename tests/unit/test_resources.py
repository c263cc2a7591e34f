"""The values that users hold: Ids, Page, AckResult, ReceivedMessage, ExpirationPolicy, Snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, FrozenInstanceError, fields
from datetime import timedelta
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.ids import Ids
from pubsub_delta.resources import (
    AckResult,
    BatchSettings,
    DeadLetterPolicy,
    ExpirationPolicy,
    FlowControl,
    LimitExceededBehavior,
    Message,
    NoWrapper,
    Page,
    PublishFlowControl,
    ReceivedMessage,
    RetryPolicy,
    Snapshot,
    Subscription,
    Topic,
    all_pages,
)
from pubsub_delta.table_config import TableConfig
from tests.unit.builders import START, at

texts = st.lists(st.text(max_size=3), max_size=6)


class Written:
    """Ids that count how many of them were written out."""

    def __init__(self, count: int) -> None:
        self.written = 0
        self.ids = Ids(count, self._write)
        self._count = count

    def _write(self) -> Iterator[str]:
        for number in range(self._count):
            self.written += 1
            yield str(number)


def test_ids_are_written_out_only_when_looked_at() -> None:
    many = Written(10_000_000)
    assert len(many.ids) == 10_000_000
    assert many.ids != ["0"]
    assert many.written == 0
    assert many.ids[2] == "2"
    assert many.written == 3


def test_the_repr_shows_a_few_ids_and_their_number() -> None:
    many = Written(10_000_000)
    assert repr(many.ids) == "Ids(['0', '1', '2', …], count=10000000)"
    assert many.written == 3
    assert repr(Ids.of(["a"])) == "Ids(['a'], count=1)"


@given(texts, st.slices(6))
def test_ids_behave_like_the_list_of_them(plain: list[str], part: slice) -> None:
    ids = Ids.of(iter(plain))
    assert list(ids) == list(ids) == plain  # as often as one likes
    assert len(ids) == len(plain)
    assert ids[part] == plain[part]
    assert [ids[place] for place in range(-len(plain), len(plain))] == plain * 2
    assert list(reversed(ids)) == plain[::-1]
    assert bool(ids) == bool(plain)


@given(texts, st.integers(-7, 7), st.none() | st.integers(-7, 7))
def test_an_id_is_found_where_the_list_has_it(
    plain: list[str], start: int, stop: int | None
) -> None:
    ids, end = Ids.of(plain), len(plain) if stop is None else stop
    for each in {*plain, "another"}:
        if each in plain[start:end]:
            assert ids.index(each, start, stop) == plain.index(each, start, end)
        else:
            with pytest.raises(ValueError, match="not among the ids"):
                ids.index(each, start, stop)


def test_a_search_among_ids_takes_one_pass() -> None:
    """A publish has ten million: with a pass for each of them a search takes days."""
    many = Written(1000)
    assert many.ids.index("999") == 999
    assert [*reversed(many.ids)] == [*many.ids][::-1]
    assert many.written == 3000


@pytest.mark.parametrize("place", [2, -3, 100])
def test_an_id_beyond_the_end_is_an_index_error(place: int) -> None:
    with pytest.raises(IndexError, match=f"index {place} of 2 ids"):
        Ids.of(["a", "b"])[place]


@given(texts, texts)
def test_ids_equal_any_sequence_of_the_same_texts(one: list[str], other: list[str]) -> None:
    equal = one == other
    assert (Ids.of(one) == Ids.of(other)) is equal
    assert (Ids.of(one) == other) is equal
    assert (one == Ids.of(other)) is equal
    assert (Ids.of(one) == tuple(other)) is equal


def test_ids_are_no_single_text_and_no_key() -> None:
    assert Ids.of(["a", "b"]) != "ab"
    assert Ids.of([]) != set()
    with pytest.raises(TypeError, match="unhashable"):
        hash(Ids.of(["a"]))


@given(st.lists(texts, max_size=4))
def test_a_chain_is_one_sequence_after_another(parts: list[list[str]]) -> None:
    chained = Ids.chain(map(Ids.of, parts))
    assert chained == [id_ for part in parts for id_ in part]


def test_a_page_is_a_list_with_a_token() -> None:
    page = Page(["a", "b"], "token")
    assert page == ["a", "b"]
    assert page.next_page_token == "token"
    assert (Page(), Page().next_page_token) == ([], "")


def test_an_ack_result_counts_by_response_code() -> None:
    # "the outcome of each id is reported (success, expired, invalid) and counted …
    # by response_code"
    result = AckResult(success=Ids.of(["a", "b"]), expired=Ids.of([]), invalid=Ids.of(["c"]))
    assert result.counts == {"success": 2, "expired": 0, "invalid": 1}
    assert result == AckResult(Ids.of(["a", "b"]), Ids.of([]), Ids.of(["c"]))


def test_a_received_message_gives_back_the_message_as_published() -> None:
    published = Message(b"x", {"k": "v"}, "key")
    received = ReceivedMessage("ack", "7", START, b"x", {"k": "v"}, "key", None)
    assert received.message == published


@pytest.mark.parametrize("written", ["31d", timedelta(days=31), 31 * 86_400, "30d24h"])
def test_a_ttl_is_kept_as_a_timedelta_however_it_was_written(written: Any) -> None:
    # "durations | accepted as `datetime.timedelta`, seconds, "600s", "7d", "1d12h""
    policy = ExpirationPolicy(written)
    assert (policy, policy.ttl) == (ExpirationPolicy(), timedelta(days=31))
    assert hash(policy) == hash(ExpirationPolicy())


def test_no_ttl_means_never() -> None:
    # ""never" possible"
    assert ExpirationPolicy(None).ttl is None
    assert ExpirationPolicy(None) != ExpirationPolicy()


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (Message(b"x"), "data"),
        (AckResult(*[Ids.of([])] * 3), "success"),
        (ExpirationPolicy(), "ttl"),
        (Snapshot("n", "t", at(1), {}, START, "u"), "expire_time"),
    ],
)
def test_values_cannot_be_changed(value: Any, field: str) -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(value, field, None)


@pytest.mark.parametrize(
    ("made", "usual"),
    [
        (Message(), (b"", "")),
        (Topic("t"), (None, None)),
        (RetryPolicy(), (timedelta(seconds=10), timedelta(seconds=600))),
        (DeadLetterPolicy("t"), (5,)),
        (ExpirationPolicy(), (timedelta(days=31),)),
        (NoWrapper(), (False,)),
        (TableConfig("t"), (False, False, False, False, None)),
        (
            Subscription("s", "t"),
            (10, timedelta(days=7), False, ExpirationPolicy("31d"), "", False, False),
        ),
        (FlowControl(), (10_000, 100 * 1024 * 1024, timedelta(hours=1))),
        (PublishFlowControl(), (1_000, 10_000_000, LimitExceededBehavior.BLOCK)),
        (BatchSettings(), (1_000, 10_000_000, timedelta(seconds=0.05))),
    ],
    ids=lambda given: None if isinstance(given, tuple) else type(given).__name__,
)
def test_a_value_has_pubsubs_defaults(made: Any, usual: tuple[object, ...]) -> None:
    """Pub/Sub: a deadline of 10 seconds, a retention of 7 days, 5 attempts, 10 to 600 seconds."""
    taken = [each.name for each in fields(made) if each.default is not MISSING]
    assert tuple(getattr(made, name) for name in taken)[: len(usual)] == usual


def test_a_listing_is_read_to_its_end_and_no_further_than_is_wanted() -> None:
    pages = {None: Page([1, 2], "b"), "b": Page([3], "c"), "c": Page([4])}
    asked: list[str | None] = []

    def fetch(token: str | None) -> Page[int]:
        asked.append(token)
        return pages[token]

    assert list(all_pages(fetch)) == [1, 2, 3, 4]
    assert asked == [None, "b", "c"]
    asked.clear()
    assert list(islice(all_pages(fetch), 2)) == [1, 2]
    assert asked == [None]


@pytest.mark.parametrize(
    ("settings", "owner", "field"),
    [
        (FlowControl, "flow_control", "max_messages"),
        (FlowControl, "flow_control", "max_bytes"),
        (PublishFlowControl, "flow_control", "message_limit"),
        (PublishFlowControl, "flow_control", "byte_limit"),
        (BatchSettings, "batch_settings", "max_messages"),
        (BatchSettings, "batch_settings", "max_bytes"),
    ],
)
def test_a_limit_of_settings_is_a_whole_number_from_1(
    settings: Callable[..., Any], owner: str, field: str
) -> None:
    assert getattr(settings(**{field: 1}), field) == 1
    for wrong in (0, -1, True, 1.0, "1", None):
        with pytest.raises(InvalidArgument) as error:
            settings(**{field: wrong})
        told = f"{owner}.{field}: {wrong!r}; a whole number from 1 is accepted"
        assert str(error.value) == told


@pytest.mark.parametrize(
    ("settings", "field"),
    [(FlowControl, "max_lease_duration"), (BatchSettings, "max_latency")],
)
def test_a_duration_of_settings_is_kept_as_one(settings: Callable[..., Any], field: str) -> None:
    for one in (90, "90s", "1m30s", timedelta(seconds=90)):
        assert getattr(settings(**{field: one}), field) == timedelta(seconds=90)
    assert getattr(settings(**{field: 0}), field) == timedelta(0)
    with pytest.raises(InvalidArgument, match=f"^[a-z]+_[a-z]+[.]{field}: -1"):
        settings(**{field: -1})


@pytest.mark.parametrize("wrong", ["Block", "wait", None, 5])
def test_what_a_publisher_does_beyond_a_limit_is_one_of_three_choices(wrong: Any) -> None:
    for choice in LimitExceededBehavior:
        for one in (choice, choice.value):
            made = PublishFlowControl(limit_exceeded_behavior=one)
            assert made.limit_exceeded_behavior is choice
    with pytest.raises(InvalidArgument) as error:
        PublishFlowControl(limit_exceeded_behavior=wrong)
    assert str(error.value) == (
        f"flow_control.limit_exceeded_behavior: {wrong!r}; 'block', 'error' or 'ignore' is accepted"
    )
