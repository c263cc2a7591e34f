"""Updates of what is stored as it was read, and of nothing else: as calls, on tables in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pubsub_delta import DeadLetterPolicy, Snapshot, Subscription, Topic
from pubsub_delta.errors import Aborted, InvalidArgument, NotFound
from pubsub_delta.policy.preconditions import check_unchanged
from pubsub_delta.resources import own_fields
from tests.unit.builders import HOUR, at
from tests.unit.in_memory import LETTERS, NAME, TOPIC, InMemory

LABELS: dict[str, Any] = {"labels": {"team": "gates"}}
OTHERS: dict[str, Any] = {"labels": {"team": "towers"}}

NAMES = {"topic": TOPIC, "subscription": NAME, "snapshot": "before"}
each_kind = pytest.mark.parametrize("kind", NAMES)


class Kind:
    """A resource of a kind in a store, and the calls that are about it."""

    def __init__(self, kind: str, **fields: Any) -> None:
        self.world = InMemory(**fields)
        self.store = self.world.store
        self.store.create_snapshot("before", NAME)
        self.kind = kind
        self.name = NAMES[kind]

    def read(self) -> Any:
        return getattr(self.store, f"get_{self.kind}")(self.name)

    def update(self, **fields: Any) -> Any:
        return getattr(self.store, f"update_{self.kind}")(self.name, **fields)

    def delete(self) -> None:
        getattr(self.store, f"delete_{self.kind}")(self.name)

    def create(self) -> None:
        source = {"topic": (), "subscription": (TOPIC,), "snapshot": (NAME,)}[self.kind]
        getattr(self.store, f"create_{self.kind}")(self.name, *source)

    def before_each_write(self, monkeypatch: pytest.MonkeyPatch, act: Any, times: int = 1) -> None:
        """Let somebody act between the look of an update and its write, so many times."""
        registry: Any = self.world.tables.registry
        change, left = getattr(registry, f"change_{self.kind}"), [act] * times

        def crossed(uid: str, fields: Any, if_unchanged: Any = None) -> bool:
            if left:
                left.pop()(change, uid)
            return bool(change(uid, fields, if_unchanged))

        monkeypatch.setattr(registry, f"change_{self.kind}", crossed)


@each_kind
def test_what_is_stored_as_it_was_read_is_changed(kind: str) -> None:
    it = Kind(kind)
    seen = it.read()
    changed = it.update(if_unchanged=seen, **LABELS)
    assert changed.labels == it.read().labels == LABELS["labels"]
    again = it.update(if_unchanged=changed, **OTHERS)
    assert again.labels == OTHERS["labels"]


@each_kind
def test_of_two_writers_who_read_the_same_the_second_is_told(kind: str) -> None:
    """AIP-154: a change of what is not as it was read fails with ABORTED, and writes nothing."""
    it = Kind(kind)
    seen = it.read()
    it.update(if_unchanged=seen, **LABELS)
    stored = it.read()
    with pytest.raises(Aborted, match=r"/\w+ has changed since if_unchanged was read \(labels"):
        it.update(if_unchanged=seen, **OTHERS)
    assert it.read() == stored


@each_kind
def test_without_it_the_last_writer_counts(kind: str) -> None:
    it = Kind(kind)
    it.update(**LABELS)
    assert it.update(if_unchanged=None, **OTHERS).labels == OTHERS["labels"]


@each_kind
def test_nothing_to_change_is_refused_as_well(kind: str) -> None:
    it = Kind(kind)
    seen = it.read()
    assert it.update(if_unchanged=seen) == seen
    it.update(**LABELS)
    with pytest.raises(Aborted):
        it.update(if_unchanged=seen)


@each_kind
def test_what_was_created_anew_is_another_one(kind: str) -> None:
    it = Kind(kind)
    seen = it.read()
    it.delete()
    with pytest.raises(NotFound):
        it.update(if_unchanged=seen, **LABELS)
    it.create()
    with pytest.raises(Aborted, match="uid"):
        it.update(if_unchanged=seen, **LABELS)
    assert it.read().labels == {}


@each_kind
@pytest.mark.parametrize("given", ["text", 7, {"labels": {}}, InMemory])
def test_what_is_no_such_resource_is_refused(kind: str, given: Any) -> None:
    it = Kind(kind)
    with pytest.raises(InvalidArgument, match=f"^if_unchanged: .* is not a {kind.title()}; "):
        it.update(if_unchanged=given, **LABELS)


def test_a_resource_of_another_kind_or_name_is_refused() -> None:
    it = Kind("topic")
    with pytest.raises(InvalidArgument, match=r"is not a Topic; projects/local/topics/flights as"):
        it.update(if_unchanged=it.store.get_subscription(NAME), **LABELS)
    told = (
        "^if_unchanged: it is 'projects/local/topics/letters', but the call changes projects/local"
    )
    with pytest.raises(InvalidArgument, match=told):
        it.update(if_unchanged=it.store.get_topic(LETTERS), **LABELS)


def test_what_somebody_made_up_is_not_what_is_stored() -> None:
    it = Kind("subscription")
    for wrong in ({"labels": None}, {"message_retention_duration": "7d"}, {"retry_policy": 3}):
        with pytest.raises(Aborted, match=next(iter(wrong))):
            it.update(if_unchanged=replace(it.read(), **wrong), **LABELS)


@each_kind
def test_a_writer_between_the_look_and_the_write_is_not_overwritten(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = Kind(kind)
    seen = it.read()
    it.before_each_write(monkeypatch, lambda change, uid: change(uid, OTHERS))
    with pytest.raises(Aborted, match=r"since if_unchanged was read \(labels\)"):
        it.update(if_unchanged=seen, **LABELS)
    assert it.read().labels == OTHERS["labels"]


@each_kind
def test_who_deletes_between_the_look_and_the_write_makes_it_not_found(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = Kind(kind)
    seen = it.read()
    it.before_each_write(monkeypatch, lambda *_: it.delete())
    with pytest.raises(NotFound, match="was deleted meanwhile"):
        it.update(if_unchanged=seen, **LABELS)


def test_what_was_changed_and_changed_back_is_as_it_was_read() -> None:
    it = Kind("topic")
    seen = it.read()
    it.update(**OTHERS)
    it.update(labels=seen.labels)
    assert it.update(if_unchanged=seen, **LABELS).labels == LABELS["labels"]


def test_nothing_is_settled_for_an_update_that_is_refused() -> None:
    it = Kind("subscription", dead_letter_policy=DeadLetterPolicy(LETTERS, 5))
    it.world.publish("a")
    it.world.pull()
    seen = it.read()
    it.update(**OTHERS)
    it.world.be_at(HOUR)
    revision = it.world.revision()
    with pytest.raises(Aborted):
        it.update(if_unchanged=seen, dead_letter_policy=None)
    assert it.world.revision() == revision
    it.update(if_unchanged=it.read(), dead_letter_policy=None)
    assert it.world.revision() > revision


def test_an_update_that_is_crossed_forgets_no_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    it = Kind("subscription", dead_letter_policy=DeadLetterPolicy(LETTERS, 5))
    it.world.publish("a")
    it.world.pull()
    it.world.be_at(10)
    seen = it.read()
    it.before_each_write(monkeypatch, lambda change, uid: change(uid, OTHERS))
    with pytest.raises(Aborted):
        it.update(if_unchanged=seen, dead_letter_policy=None)
    (again,) = it.world.pull()
    assert again.attempt == 2


def test_clearing_a_dead_letter_policy_forgets_attempts_also_if_it_is_set_anew() -> None:
    """Pub/Sub: attempts are counted only while a dead-letter policy is set."""
    it = Kind("subscription", dead_letter_policy=DeadLetterPolicy(LETTERS, 5))
    it.world.publish("a")
    it.world.pull()
    it.world.be_at(10)
    cleared = it.update(if_unchanged=it.read(), dead_letter_policy=None)
    it.update(if_unchanged=cleared, dead_letter_policy=DeadLetterPolicy(LETTERS, 5))
    (again,) = it.world.pull()
    assert again.attempt == 1


def test_what_goes_with_a_topic_is_no_change_of_its_subscription() -> None:
    it = Kind("subscription")
    seen = it.read()
    it.store.update_topic(TOPIC, message_retention_duration="1d")
    it.store.delete_topic(TOPIC)
    assert it.read() != seen
    assert it.update(if_unchanged=seen, **LABELS).labels == LABELS["labels"]


TOPIC_READ = Topic("projects/p/topics/ttt", None, None, {"a": "1", "b": "2"}, at(0), "u")
SNAPSHOT_READ = Snapshot("projects/p/snapshots/sss", TOPIC_READ.name, at(1), {}, at(0), "u")


def test_every_field_of_its_own_counts() -> None:
    fields = set(Topic.__dataclass_fields__) | set(Subscription.__dataclass_fields__)
    fields |= set(Snapshot.__dataclass_fields__)
    it = Kind("subscription")
    own = {*own_fields(TOPIC_READ), *own_fields(SNAPSHOT_READ), *own_fields(it.read())}
    assert fields - own == {"topic", "retained_from", "topic_message_retention_duration"}


def test_the_order_of_labels_does_not_count() -> None:
    check_unchanged(TOPIC_READ, replace(TOPIC_READ, labels={"b": "2", "a": "1"}))
    with pytest.raises(Aborted, match=r"\(labels\)"):
        check_unchanged(TOPIC_READ, replace(TOPIC_READ, labels={"b": "2"}))
