"""The registry on a lane: rows that are added once, changed as they were read, and removed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from deltalake import DeltaTable

from pubsub_delta.errors import Aborted, DataLoss, FailedPrecondition
from pubsub_delta.policy.ack_state import AckState
from pubsub_delta.resources import Snapshot, Subscription, Topic
from pubsub_delta.tables.ack_state import AckStates, AckStateTables, SnapshotTables
from pubsub_delta.tables.lanes.protocol import Conflict, Lane
from pubsub_delta.tables.layout import Layout, layout_of
from pubsub_delta.tables.layout_version import PROPERTY
from pubsub_delta.tables.registry import Registry
from pubsub_delta.tables.registry.registry import EVERY_MESSAGE
from tests.lanes.conftest import Bench
from tests.unit.builders import HOUR, PLAIN, Crashed, at, available_span

MINUTE = 60
WEEK = timedelta(days=7)
TOPIC = Topic("projects/p/topics/flights", None, None, {"team": "gates"}, at(0), f"{1:032x}")
SUBSCRIPTION = replace(PLAIN, topic=TOPIC.name, uid=f"{2:032x}", labels={})
SNAPSHOT = Snapshot(
    "projects/p/snapshots/before", TOPIC.name, at(0) + WEEK, {"a": "b"}, at(0), f"{3:032x}"
)


@dataclass
class Case:
    """A registry on a lane, with a topic and its subscription once these are added."""

    lane: Lane
    layout: Layout
    ids: Callable[[], int] = field(default_factory=lambda: count(100).__next__)

    def __post_init__(self) -> None:
        self.held = SnapshotTables(self.lane, self.layout)
        self.registry = self.opened(self.lane)
        port = AckStateTables(self.lane, self.layout.ack_state)
        self.ack_states = AckStates(port, self.new_id)

    def new_id(self) -> str:
        return f"{self.ids():032x}"

    def opened(self, lane: Lane) -> Registry:
        return Registry(lane, self.layout, self.new_id, SnapshotTables(lane, self.layout))

    def subscribed(self, state: AckState = AckState(4)) -> Registry:  # noqa: B008
        assert self.registry.add_topic(TOPIC)
        self.ack_states.create(SUBSCRIPTION.uid, state)
        assert self.registry.add_subscription(SUBSCRIPTION, TOPIC.uid)
        return self.registry

    def taken(self, snapshot: Snapshot = SNAPSHOT) -> Registry:
        """Take a snapshot of an ack state that holds the messages 1 and 2."""
        state = AckState(4, 3, spans=(available_span([1, 2]),))
        registry = self.subscribed(state)
        assert registry.announce_snapshot(snapshot, TOPIC.uid, "attributes:a")
        registry.capture_snapshot(snapshot.uid, state)
        assert registry.finish_snapshot(snapshot.uid, snapshot.expire_time)
        return registry


@pytest.fixture
def case(lane: Lane, root: str) -> Case:
    return Case(lane, layout_of(root))


class LosesAnswers:
    """A lane whose changes land, or not, and then raise what says neither."""

    def __init__(self, lane: Lane, *, lands: bool) -> None:
        self._lane = lane
        self._lands = lands

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lane, name)

    def merge(self, *args: Any) -> int:
        if self._lands:
            self._lane.merge(*args)
        raise ConnectionError("the answer was lost")

    def delete(self, *args: Any) -> int:
        if self._lands:
            self._lane.delete(*args)
        raise ConnectionError("the answer was lost")


def test_a_store_that_was_never_written_to_has_nothing(case: Case) -> None:
    registry = case.registry
    assert registry.topic(TOPIC.name) is None
    found: list[list[Any]] = [registry.sources(), registry.snapshots("", at(0))]
    assert [*found, registry.deleted_topics()] == [[], [], []]
    assert registry.snapshots_version() is None
    assert not registry.change_topic(TOPIC.uid, {"labels": {}})
    assert not registry.remove_subscription(SUBSCRIPTION.uid)
    registry.check_newest_commit("topics")
    registry.vacuum()


def test_what_was_added_is_read_back_and_its_name_is_taken(case: Case) -> None:
    registry = case.subscribed()
    assert registry.topic(TOPIC.name) == registry.topic_of_uid(TOPIC.uid) == TOPIC
    assert registry.subscription(SUBSCRIPTION.name) == SUBSCRIPTION
    assert registry.source(SUBSCRIPTION.name) == (SUBSCRIPTION, TOPIC.uid)
    assert registry.subscriptions("projects/q/") == []
    assert not registry.add_topic(replace(TOPIC, uid="f" * 32))
    assert not registry.add_subscription(replace(SUBSCRIPTION, uid="f" * 32), TOPIC.uid)
    assert case.opened(case.lane).sources() == [(SUBSCRIPTION, TOPIC.uid)]


def never() -> None:
    raise AssertionError("what is gone is not refused to go")


def test_a_deleted_topic_leaves_its_name_and_its_subscriptions(case: Case) -> None:
    registry = case.subscribed()
    assert registry.remove_topic(TOPIC.uid, at(5))
    assert not registry.remove_topic(TOPIC.uid, at(6), never)
    assert registry.topic(TOPIC.name) is None
    assert registry.deleted_topics() == [(TOPIC, at(5))]
    assert registry.subscriptions("")[0].topic == "_deleted-topic_"
    other = replace(TOPIC, uid="f" * 32)
    assert registry.add_topic(other)
    assert registry.topics("") == [other]
    assert registry.forget_topic(TOPIC.uid)
    assert registry.deleted_topics() == []


def test_what_is_found_by_name_and_in_a_listing_shows_its_topic_as_it_is_now(case: Case) -> None:
    """Pub/Sub: ``topic_message_retention_duration`` is output only; ``_deleted-topic_``."""
    registry, kept = case.taken(), timedelta(days=2)
    assert registry.change_topic(TOPIC.uid, {"message_retention_duration": kept})
    for topic, retention in ((TOPIC.name, kept), ("_deleted-topic_", None)):
        subscription = registry.subscription(SUBSCRIPTION.name)
        assert [subscription] == registry.subscriptions("")
        assert subscription is not None
        assert subscription.topic == topic
        assert subscription.topic_message_retention_duration == retention
        snapshot = registry.snapshot(SNAPSHOT.name, at(1))
        assert snapshot is not None
        assert snapshot.topic == topic
        assert registry.snapshots("", at(1)) == [snapshot]
        assert registry.snapshots_of(TOPIC.uid, at(1)) == [snapshot]
        registry.remove_topic(TOPIC.uid, at(2))


def test_only_the_named_fields_change(case: Case) -> None:
    registry = case.subscribed()
    assert registry.change_subscription(SUBSCRIPTION.uid, {"labels": {"x": "y"}})
    assert registry.subscription(SUBSCRIPTION.name) == replace(SUBSCRIPTION, labels={"x": "y"})
    assert not registry.change_subscription("f" * 32, {"labels": {}})


def test_what_is_not_as_it_was_read_is_not_changed(case: Case) -> None:
    registry = case.subscribed()
    assert registry.change_topic(TOPIC.uid, {"labels": {"x": "y"}}, TOPIC)
    with pytest.raises(Aborted, match="labels"):
        registry.change_topic(TOPIC.uid, {"labels": {}}, TOPIC)
    assert registry.topics("")[0].labels == {"x": "y"}


def test_who_is_slower_decides_again_on_what_the_faster_wrote(case: Case) -> None:
    registry, other = case.subscribed(), case.opened(case.lane)
    merge, left = case.lane.merge, [1]

    def crossed(*args: Any) -> int:
        if left:
            left.pop()
            assert other.change_topic(TOPIC.uid, {"labels": {"other": "1"}})
        return merge(*args)

    slow: Any = LosesAnswers(case.lane, lands=True)
    slow.merge = crossed
    with pytest.raises(Aborted, match="labels"):
        case.opened(slow).change_topic(TOPIC.uid, {"labels": {}}, TOPIC)
    assert registry.topics("")[0].labels == {"other": "1"}
    left.append(1)
    assert case.opened(slow).change_topic(TOPIC.uid, {"labels": {}})
    assert registry.topics("")[0].labels == {}


@pytest.mark.parametrize("lands", [True, False])
def test_a_lost_answer_is_found_by_what_the_row_carries(case: Case, lands: bool) -> None:
    registry = case.subscribed()
    losing: Any = case.opened(LosesAnswers(case.lane, lands=lands))
    other = replace(TOPIC, name="projects/p/topics/other", uid="f" * 32)
    changes: list[Callable[[], bool]] = [
        lambda: losing.add_topic(other),
        lambda: losing.change_topic(TOPIC.uid, {"labels": {}}, TOPIC),
        lambda: losing.remove_subscription(SUBSCRIPTION.uid),
    ]
    for change in changes:
        if lands:
            assert change()
        else:
            with pytest.raises(ConnectionError):
                change()
    assert (len(registry.topics("")), len(registry.sources())) == ((2, 0) if lands else (1, 1))


def test_a_snapshot_holds_what_the_ack_state_was(case: Case) -> None:
    registry = case.taken()
    case.ack_states.change(SUBSCRIPTION.uid, lambda state: (replace(state, spans=()), None))
    assert registry.snapshot(SNAPSHOT.name, at(1)) == SNAPSHOT
    assert registry.snapshots_of(TOPIC.uid, at(1)) == [SNAPSHOT]
    found = registry.captured(SNAPSHOT.name, at(1))
    assert found is not None
    snapshot, topic_uid, held = found
    assert (snapshot, topic_uid, held.after_version) == (SNAPSHOT, TOPIC.uid, 4)
    assert held.filter == "attributes:a"
    assert [list(span.positions) for span in held.spans] == [[1, 2]]
    assert registry.captured_of(TOPIC.uid, at(1)) == [held]


def test_an_expired_snapshot_is_no_more_and_its_name_is_free(case: Case) -> None:
    registry, late = case.taken(), SNAPSHOT.expire_time
    assert registry.snapshot(SNAPSHOT.name, late) is None
    assert registry.captured_of(TOPIC.uid, late) == []
    assert registry.expired_snapshots(late) == [SNAPSHOT]
    again = replace(SNAPSHOT, uid="e" * 32, create_time=late, expire_time=late + WEEK)
    assert registry.announce_snapshot(again, TOPIC.uid, "")


def test_a_removed_snapshot_takes_what_it_held_along(case: Case) -> None:
    registry = case.taken()
    assert registry.remove_snapshot(SNAPSHOT.uid)
    assert not registry.remove_snapshot(SNAPSHOT.uid)
    assert registry.captured(SNAPSHOT.name, at(1)) is None
    assert case.held.captured(SNAPSHOT.uid, "") is None


def test_a_snapshot_whose_table_is_gone_is_data_loss(case: Case) -> None:
    registry = case.taken()
    case.held.drop(SNAPSHOT.uid)
    with pytest.raises(DataLoss, match="is gone"):
        registry.captured(SNAPSHOT.name, at(1))


def test_an_announced_snapshot_is_not_seen_and_keeps_every_message(case: Case) -> None:
    registry = case.subscribed()
    assert registry.announce_snapshot(SNAPSHOT, TOPIC.uid, "")
    assert registry.snapshot(SNAPSHOT.name, at(1)) is None
    assert registry.captured(SNAPSHOT.name, at(1)) is None
    assert registry.snapshots("", at(1)) == registry.expired_snapshots(at(9 * HOUR)) == []
    assert not registry.change_snapshot(SNAPSHOT.uid, {"labels": {}})
    assert registry.captured_of(TOPIC.uid, at(9 * HOUR)) == [EVERY_MESSAGE]


def test_an_announced_name_is_taken_for_ten_minutes_and_then_who_was_slow_fails(
    case: Case,
) -> None:
    registry = case.subscribed()
    assert registry.announce_snapshot(SNAPSHOT, TOPIC.uid, "")
    soon, later = (
        replace(SNAPSHOT, uid=uid, create_time=time)
        for uid, time in (("d" * 32, at(10 * MINUTE - 1)), ("e" * 32, at(10 * MINUTE)))
    )
    assert not registry.announce_snapshot(soon, TOPIC.uid, "")
    assert registry.announce_snapshot(later, TOPIC.uid, "")
    assert not registry.finish_snapshot(SNAPSHOT.uid, SNAPSHOT.expire_time)
    assert registry.finish_snapshot(later.uid, SNAPSHOT.expire_time)
    assert [each.uid for each in registry.snapshots("", at(11 * MINUTE))] == [later.uid]


def test_who_is_slow_but_alone_may_finish(case: Case) -> None:
    registry = case.subscribed()
    assert registry.announce_snapshot(SNAPSHOT, TOPIC.uid, "")
    assert registry.finish_snapshot(SNAPSHOT.uid, SNAPSHOT.expire_time)
    assert registry.snapshot(SNAPSHOT.name, at(30 * MINUTE)) == SNAPSHOT


def test_what_a_crash_left_is_found_after_an_hour_and_removed(case: Case) -> None:
    registry = case.subscribed()
    assert registry.announce_snapshot(SNAPSHOT, TOPIC.uid, "")
    registry.capture_snapshot(SNAPSHOT.uid, AckState(4))
    assert registry.abandoned_snapshots(at(HOUR - 1)) == []
    assert [each.uid for each in registry.abandoned_snapshots(at(HOUR))] == [SNAPSHOT.uid]
    assert registry.remove_snapshot(SNAPSHOT.uid)
    assert registry.abandoned_snapshots(at(HOUR)) == []
    assert registry.captured_of(TOPIC.uid, at(HOUR)) == []
    assert case.held.captured(SNAPSHOT.uid, "") is None


def test_a_removal_that_was_cut_short_is_found_after_an_hour(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = case.taken()

    def crash(*_: object) -> None:
        raise Crashed

    with monkeypatch.context() as patch:
        patch.setattr(SnapshotTables, "drop", crash)
        with pytest.raises(Crashed):
            registry.remove_snapshot(SNAPSHOT.uid)
    assert registry.snapshot(SNAPSHOT.name, at(1)) is None
    assert registry.captured_of(TOPIC.uid, at(1)) == []
    assert [each.uid for each in registry.abandoned_snapshots(at(HOUR))] == [SNAPSHOT.uid]
    assert not registry.remove_snapshot(SNAPSHOT.uid)
    assert registry.abandoned_snapshots(at(HOUR)) == []


def test_too_many_faster_writers_are_told(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    case.subscribed()
    monkeypatch.setattr("tenacity.nap.time.sleep", lambda _: None)
    beaten: Any = LosesAnswers(case.lane, lands=True)

    def conflict(*_: Any) -> int:
        raise Conflict("faster")

    beaten.merge = conflict
    with pytest.raises(Aborted, match=f"^{TOPIC.name}: concurrent writers"):
        case.opened(beaten).change_topic(TOPIC.uid, {"labels": {}})


def test_subscriptions_are_found_by_what_they_are_for(case: Case) -> None:
    registry = case.subscribed()
    second: Subscription = replace(SUBSCRIPTION, name="projects/p/subscriptions/b", uid="b" * 32)
    assert registry.add_subscription(second, "c" * 32)
    assert registry.subscriptions_of(TOPIC) == [SUBSCRIPTION]
    assert registry.holders("c" * 32) == [(second, "c" * 32)]
    assert registry.subscriptions_to("push_endpoint") == registry.dead_lettering_to(TOPIC) == []


def test_a_store_of_a_newer_layout_is_refused_by_whoever_has_read_it_and_who_has_not(
    bench: Bench,
) -> None:
    """The layout version stands in the tables' properties; a newer one is refused by name."""
    case = Case(bench.lane, layout_of(str(bench.root)))
    registry = case.subscribed()
    assert registry.topic(TOPIC.name) == TOPIC
    upgraded = DeltaTable(bench.path("topics"))
    upgraded.alter.set_table_properties({PROPERTY: "2"}, raise_if_not_exists=False)
    for each in (registry, case.opened(bench.another()[0])):
        with pytest.raises(FailedPrecondition, match=f"{bench.path('topics')}.*layout version 2"):
            each.topic(TOPIC.name)
        with pytest.raises(FailedPrecondition, match="layout version 2"):
            each.add_topic(replace(TOPIC, name="projects/p/topics/others", uid=f"{9:032x}"))
    assert DeltaTable(bench.path("topics")).version() == upgraded.version()
