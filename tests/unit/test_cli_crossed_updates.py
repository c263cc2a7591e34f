"""Updates of the command line, while another process changes the same resource.

What an option leaves of a field stays as it is stored: other labels, the topic of a dead-letter
policy, the encoding of a schema. The other process acts between the command's look and its write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

pytest.importorskip("grpc")

from pubsub_delta.resources import DeadLetterPolicy
from pubsub_delta.schemas import SchemaSettings
from pubsub_delta.tables.registry.registry import Registry
from tests.model.drivers import MemoryPubSub
from tests.unit.serving_world import Terminal, WorldBackend, served
from tests.unit.test_races import once

AVRO = '{"type": "record", "name": "A", "fields": [{"name": "a", "type": "int", "default": 0}]}'


@dataclass
class Place:
    """The command lines of one process, and another process with the same store."""

    terminal: Terminal
    other: MemoryPubSub

    def run(self, line: str) -> None:
        result = self.terminal.run(line)
        assert result.exit_code == 0, result.stderr


@pytest.fixture(params=["a store", "a server"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    backend = WorldBackend()
    store = backend.open("local")
    store.create_topic("flights", labels={"ours": "1"})
    store.create_topic("dead")
    store.create_topic("others")
    store.create_subscription(
        "delays", "flights", labels={"ours": "1"}, dead_letter_policy=DeadLetterPolicy("dead", 5)
    )
    store.create_snapshot("before", "delays", labels={"ours": "1"})
    if request.param == "a store":
        yield Place(Terminal(backend, None), backend.open("local"))
        return
    with served(backend) as address:
        yield Place(Terminal(backend, address), backend.open("local"))


def recreate(store: MemoryPubSub, kind: str, labels: dict[str, str]) -> None:
    """Delete a resource, and create another one of its name."""
    if kind == "topic":
        store.delete_topic("flights")
        store.create_topic("flights", labels=labels)
    elif kind == "subscription":
        store.delete_subscription("delays")
        store.create_subscription("delays", "flights", labels=labels)
    else:
        store.delete_snapshot("before")
        store.create_snapshot("before", "delays", labels=labels)


NAMES = {"topic": "flights", "subscription": "delays", "snapshot": "before"}
each_kind = pytest.mark.parametrize("kind", NAMES)


def labels_of(store: MemoryPubSub, kind: str) -> dict[str, str]:
    return dict(getattr(store, f"get_{kind}")(NAMES[kind]).labels)


def crossed(monkeypatch: pytest.MonkeyPatch, kind: str, act: Callable[[], object]) -> None:
    once(monkeypatch, Registry, f"change_{kind}", act, "before")


@each_kind
@pytest.mark.parametrize(
    ("option", "left"),
    [
        ("--update-labels=mine=1", {"mine": "1", "ours": "2", "theirs": "1"}),
        ("--remove-labels=ours", {"theirs": "1"}),
        ("--update-labels=ours=3 --remove-labels=theirs", {"ours": "3"}),
    ],
)
def test_labels_that_somebody_else_sets_meanwhile_stay(
    place: Place, kind: str, option: str, left: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "An update changes only the fields it names": of labels those that the options name."""
    theirs: dict[str, Any] = {"labels": {"ours": "2", "theirs": "1"}}
    update = getattr(place.other, f"update_{kind}")
    crossed(monkeypatch, kind, lambda: update(NAMES[kind], **theirs))
    place.run(f"{kind}s update {NAMES[kind]} {option}")
    assert labels_of(place.other, kind) == left


@each_kind
def test_one_that_is_created_anew_meanwhile_gets_no_labels_of_the_earlier_one(
    place: Place, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is created anew under a name is another resource."""
    act = partial(recreate, place.other, kind, {"theirs": "1"})
    once(monkeypatch, MemoryPubSub, f"get_{kind}", act, "after")
    place.run(f"{kind}s update {NAMES[kind]} --update-labels=mine=1")
    assert labels_of(place.other, kind) == {"mine": "1", "theirs": "1"}


def test_attempts_are_those_of_the_dead_letter_topic_that_somebody_sets_meanwhile(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act() -> None:
        place.other.update_subscription("delays", dead_letter_policy=DeadLetterPolicy("others", 6))

    crossed(monkeypatch, "subscription", act)
    place.run("subscriptions update delays --max-delivery-attempts=9")
    found = place.other.get_subscription("delays").dead_letter_policy
    assert found == DeadLetterPolicy("projects/local/topics/others", 9)


def test_a_dead_letter_policy_that_somebody_clears_meanwhile_does_not_come_back(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act() -> None:
        place.other.update_subscription("delays", dead_letter_policy=None)

    crossed(monkeypatch, "subscription", act)
    assert place.terminal.run("subscriptions update delays --max-delivery-attempts=9").exit_code
    assert place.other.get_subscription("delays").dead_letter_policy is None


def test_revisions_are_those_of_the_settings_that_somebody_sets_meanwhile(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fastavro")
    first = place.other.create_schema("states", "AVRO", AVRO).revision_id
    settings = SchemaSettings("states", "JSON", first, "")
    place.other.update_topic("flights", schema_settings=settings)
    theirs = SchemaSettings("states", "BINARY", "", "")
    crossed(
        monkeypatch, "topic", lambda: place.other.update_topic("flights", schema_settings=theirs)
    )
    place.run(f"topics update flights --last-revision-id={first}")
    found = place.other.get_topic("flights").schema_settings
    assert found == SchemaSettings("projects/local/schemas/states", "BINARY", "", first)


def test_labels_have_any_keys_that_a_label_may_have(place: Place) -> None:
    """ "key non-empty, key and value ≤ 63 characters"."""
    place.run('topics update flights "--update-labels=a.b=1,c`d=2,E_f=3,ü=4"')
    all_of_them = {"ours": "1", "a.b": "1", "c`d": "2", "E_f": "3", "ü": "4"}
    assert labels_of(place.other, "topic") == all_of_them
    place.run('topics update flights "--remove-labels=a.b,E_f"')
    assert labels_of(place.other, "topic") == {"ours": "1", "c`d": "2", "ü": "4"}
