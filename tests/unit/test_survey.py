"""Looking in for people: previews of seeks, and the spans of an ack state, on tables in memory."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from pubsub_delta import DeadLetterPolicy
from pubsub_delta.delivery import surveys
from pubsub_delta.errors import FailedPrecondition, InvalidArgument, NotFound
from pubsub_delta.operations.seek import SeekPreview
from pubsub_delta.policy.ack_state import State
from pubsub_delta.policy.positions import Positions
from tests.unit.builders import DAY, HOUR, MINUTE, at
from tests.unit.in_memory import NAME, InMemory

LETTERS = DeadLetterPolicy("letters")


def busy(**fields: Any) -> InMemory:
    """Return a store with messages in many states: acked, leased, available and purged ahead."""
    store = InMemory(**fields)
    for minute in range(6):
        store.be_at(minute * MINUTE)
        store.publish(f"{minute}a", f"{minute}b")
    store.ack("0a", "1b", "3a")
    store.store.create_snapshot("before", NAME)
    store.ack("2a", "2b")
    store.pull(2)
    store.be_at(6 * MINUTE - 55)
    return store


TARGETS: list[dict[str, Any]] = [
    {"time": at(0)},
    {"time": at(2 * MINUTE)},
    {"time": at(3 * MINUTE - 30)},
    {"time": at(10 * MINUTE)},
    {"snapshot": "before"},
]
FIELDS: list[dict[str, Any]] = [
    {},
    {"retain_acked_messages": True},
    {"filter": 'NOT attributes:test'},
    {"dead_letter_policy": LETTERS},
]  # fmt: skip


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("fields", FIELDS, ids=str)
@pytest.mark.parametrize("topic_retention", [None, "1d"])
def test_a_preview_tells_what_the_seek_then_does(
    target: dict[str, Any], fields: dict[str, Any], topic_retention: str | None
) -> None:
    """A preview of how many messages would become unacked or acked before one confirms."""
    store = busy(**fields)
    store.store.update_topic("flights", message_retention_duration=topic_retention)
    store.publish("late")
    before, revision = store.backlog(), store.revision()
    told = store.store.preview_seek(NAME, **target)
    assert store.revision() == revision, "a preview writes nothing"
    store.store.seek(NAME, **target)
    after = store.backlog()
    assert told == SeekPreview(
        becomes_unacked=len(after.keys() - before.keys()),
        becomes_acked=len(before.keys() - after.keys()),
        leases_ended=sum(before.get(data) == "leased" for data in after),
        unacked_before=len(before),
        unacked_after=len(after),
    )


def test_some_seek_brings_back_and_some_takes_away() -> None:
    store = busy(retain_acked_messages=True)
    assert store.store.preview_seek(NAME, time=at(0)).becomes_unacked == 5
    assert store.store.preview_seek(NAME, time=at(10 * MINUTE)).becomes_acked == 7
    assert store.store.preview_seek(NAME, snapshot="before").leases_ended == 2


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ({}, InvalidArgument),
        ({"time": at(0), "snapshot": "before"}, InvalidArgument),
        ({"time": datetime(2026, 1, 1)}, InvalidArgument),
        ({"snapshot": "absent"}, NotFound),
    ],
)
def test_what_a_seek_refuses_its_preview_refuses(
    target: dict[str, Any], error: type[Exception]
) -> None:
    store = busy()
    for ask in (store.store.seek, store.store.preview_seek):
        with pytest.raises(error):
            ask(NAME, **target)


def test_messages_on_their_way_to_a_dead_letter_topic_are_counted_nowhere() -> None:
    store = InMemory(dead_letter_policy=LETTERS)
    store.publish("a", "b")
    store.pull(1)
    target = store.store.get_topic("letters").uid

    def exhausted(state: Any) -> Any:
        spans = tuple(
            replace(span, state=State.FORWARDING, until=None, forward_to=target)
            if span.state is State.LEASED
            else span
            for span in state.spans
        )
        return replace(state, spans=spans)

    store.change(exhausted)
    told = store.store.preview_seek(NAME, time=at(HOUR))
    assert (told.unacked_before, told.becomes_acked, told.unacked_after) == (1, 1, 0)
    (span,) = [s for s in store.store.survey_ack_state(NAME).spans if s.state == "forwarding"]
    assert span.message_count == 1


def test_a_survey_counts_every_stored_message_once() -> None:
    store = busy(retain_acked_messages=True)
    told = store.store.survey_ack_state(NAME)
    by_state: dict[str, int] = {}
    for span in told.spans:
        by_state[span.state] = by_state.get(span.state, 0) + span.message_count
    assert by_state == {"available": 5, "leased": 2, "retained": 5}
    assert all(span.message_count for span in told.spans)
    assert (told.stored_count, told.unacked_count, told.elsewhere_count) == (12, 7, 0)
    assert told.stored_from == at(0)
    assert told.time == store.now
    plain = busy().store.survey_ack_state(NAME)
    assert (plain.unacked_count, plain.elsewhere_count) == (7, 5)


def test_a_survey_tells_ends_of_leases_and_no_others() -> None:
    store = busy()
    spans = store.store.survey_ack_state(NAME).spans
    ends = {span.state: span.until for span in spans}
    assert ends["available"] is None
    assert ends["leased"] == at(5 * MINUTE + 10)


def test_a_survey_tells_a_purge_until_its_time_has_come() -> None:
    store = busy()
    store.store.seek(NAME, time=at(HOUR))
    assert store.store.survey_ack_state(NAME).purged_until == at(HOUR)
    store.be_at(HOUR)
    assert store.store.survey_ack_state(NAME).purged_until is None


def test_a_survey_writes_nothing_and_leaves_what_is_too_old_out() -> None:
    store = busy(retain_acked_messages=True)
    revision = store.revision()
    store.be_at(8 * DAY)
    assert store.store.survey_ack_state(NAME).spans == ()
    assert store.revision() == revision


def test_a_detached_subscription_has_no_ack_state_to_look_at() -> None:
    store = busy()
    store.store.detach_subscription(NAME)
    for look in (store.store.survey_ack_state, store.store.peek):
        with pytest.raises(FailedPrecondition, match="detached"):
            look(NAME)


@pytest.mark.parametrize("number", [0, -1, 1.5, True, "1"])
def test_a_peek_at_no_number_of_messages_is_refused(number: Any) -> None:
    with pytest.raises(InvalidArgument, match="max_messages"):
        busy().store.peek(NAME, number)
    with pytest.raises(InvalidArgument, match="max_bytes"):
        busy().store.peek(NAME, 1, max_bytes=-1 if number == 0 else "1")  # type: ignore[arg-type]


def test_a_peek_gives_the_first_bytes_and_tells_how_many_there_are() -> None:
    store = InMemory()
    store.publish("abcdef")
    for most, shown in ((0, b""), (4, b"abcd"), (6, b"abcdef")):
        (peeked,) = store.store.peek(NAME, max_bytes=most)
        assert (peeked.data, peeked.data_size) == (shown, 6)


def test_a_peek_at_an_empty_backlog_reads_nothing() -> None:
    assert InMemory().store.peek(NAME) == []


def test_what_stands_in_no_span_is_told_by_its_reason() -> None:
    """Older than the subscription, older than it keeps, or acknowledged: never one for another."""
    store = InMemory()
    store.store.update_topic("flights", message_retention_duration="31d")
    store.publish("a", "b")
    store.be_at(HOUR)
    store.store.delete_subscription(NAME)
    store.store.create_subscription(NAME, "flights", message_retention_duration="1d")
    store.publish("c")
    store.ack("c")
    store.be_at(2 * DAY)
    store.publish("d", "e")
    store.ack("d")

    def others() -> dict[str, int]:
        counted: dict[str, int] = {}
        told = store.store.survey_ack_state(NAME)
        for each in told.others:
            assert each.message_count, "a state without messages is not told"
            counted[each.state] = counted.get(each.state, 0) + each.message_count
        assert sum(counted.values()) == told.elsewhere_count
        return counted

    assert others() == {"before": 2, "acknowledged": 2}, "the topic itself keeps them for longer"
    store.store.update_topic("flights", message_retention_duration=None)
    store.be_at(2 * DAY + MINUTE)
    assert others() == {"before": 2, "expired": 1, "acknowledged": 1}


def test_a_message_counts_once_where_the_files_of_two_days_overlap() -> None:
    """A slow publisher commits late, so positions of its day enclose those of the next one."""
    store = InMemory()
    store.publish("a")
    store.be_at(DAY)
    store.publish("b")
    store.publish("c", late=int(DAY))
    store.ack("a", "b", "c")
    told = store.store.survey_ack_state(NAME)
    assert sum(each.message_count for each in told.others) == told.elsewhere_count == 3


def test_the_survey_of_a_filter_says_so() -> None:
    assert InMemory(filter="attributes:a").store.survey_ack_state(NAME).is_filtered
    assert not InMemory().store.survey_ack_state(NAME).is_filtered


def test_a_preview_has_the_survey_of_before_and_after() -> None:
    told = busy().store.preview_seek(NAME, time=at(10 * MINUTE))
    assert told.before is not None
    assert told.after is not None
    assert (told.before.unacked_count, told.after.unacked_count) == (7, 0)


def test_the_metrics_of_a_subscription_are_those_of_its_metrics() -> None:
    store = busy()
    found, metrics = store.store.subscription_metrics(NAME), store.store.metrics(NAME)
    assert found.num_undelivered_messages == metrics["num_undelivered_messages"] == 7
    assert found.num_outstanding_messages == metrics["num_outstanding_messages"] == 2
    assert found.ack_message_count_success == metrics["ack_message_count"]["success"]
    store.store.detach_subscription(NAME)
    assert store.store.subscription_metrics(NAME).num_undelivered_messages == 0
    with pytest.raises(NotFound):
        store.store.subscription_metrics("absent")


def test_the_metrics_of_a_topic_are_told_by_its_log() -> None:
    store = busy()
    told = store.store.topic_metrics("flights")
    assert told.message_count == 12
    assert told.publish_time == at(5 * MINUTE)
    assert told.publish_rate == pytest.approx(12 / 600)


def test_the_last_run_of_a_span_of_many_reaches_to_its_last_message() -> None:
    """ "The last run can contain other messages, too": it leaves out none of its own."""
    runs = surveys._runs(Positions.of(range(0, 400, 2)))
    assert len(runs) == surveys.MOST_RUNS
    assert (runs[0], runs[-1]) == ((0, 0), (2 * surveys.MOST_RUNS - 2, 398))


def test_the_stored_runs_reach_as_far_as_the_files_do() -> None:
    """``stored_runs``: the positions at which messages are stored; a file may lie in another."""
    files = [(0, 9), (2, 3), (8, 12), (20, 21)]
    assert surveys._joined(files) == [(0, 12), (20, 21)]
