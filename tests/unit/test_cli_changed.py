"""What a command created or changed is printed as it is now, where a format is asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pubsub_delta.schemas import SchemaType
from tests.unit.schema_cases import AVRO, AVRO_WITH_AREA
from tests.unit.serving_world import Terminal, WorldBackend

pytest.importorskip("fastavro")

KEPT = "--message-retention-duration=1d"
CHANGES: list[tuple[str, dict[str, Any]]] = [
    (f"topics create new {KEPT}", {"name": "topics/new", "messageRetentionDuration": "86400s"}),
    ("topics update flights --update-labels=a=b", {"name": "topics/flights", "labels": {"a": "b"}}),
    (
        "subscriptions create new --topic=flights --ack-deadline=44",
        {"name": "subscriptions/new", "ackDeadlineSeconds": 44},
    ),
    (
        "subscriptions update first --ack-deadline=44",
        {"name": "subscriptions/first", "ackDeadlineSeconds": 44},
    ),
    (
        "snapshots create new --subscription=first --labels=a=b",
        {"name": "snapshots/new", "labels": {"a": "b"}},
    ),
    (
        "snapshots update before --update-labels=a=b",
        {"name": "snapshots/before", "labels": {"a": "b"}},
    ),
    (f"schemas create new --type=avro --definition='{AVRO}'", {"name": "schemas/new"}),
    (
        f"schemas commit states --type=avro --definition='{AVRO_WITH_AREA}'",
        {"name": "schemas/states", "definition": AVRO_WITH_AREA},
    ),
]


@pytest.mark.parametrize(("line", "expected"), CHANGES, ids=lambda each: str(each)[:20])
def test_a_change_is_printed_in_the_format_that_is_asked_for_and_else_not_at_all(
    line: str, expected: dict[str, Any]
) -> None:
    """gcloud prints the resource, of which a script reads what the store has set."""
    told = []
    for more in (" --format=json", ""):
        backend = WorldBackend()
        backend.store.create_topic("flights")
        backend.store.create_subscription("first", "flights")
        backend.store.create_snapshot("before", "first")
        backend.store.create_schema("states", SchemaType.AVRO, AVRO)
        done = Terminal(backend, None).run(line.replace("{", "{{").replace("}", "}}") + more)
        assert done.exit_code == 0, done.output
        told.append(done.stdout)
    printed, nothing = told
    (found,) = json.loads(printed)
    found["name"] = found["name"].removeprefix("projects/local/")
    assert {name: found[name] for name in expected} == expected
    assert nothing == ""


def test_what_was_created_is_printed_although_others_failed() -> None:
    """A failure does not stop the others; the exit code is 1 then, and stdout is whole."""
    backend = WorldBackend()
    backend.store.create_topic("there")
    shown = Terminal(backend, None).run("topics create one there two --format=json")
    assert shown.exit_code == 1
    assert [each["name"][-3:] for each in json.loads(shown.stdout)] == ["one", "two"]
    assert "there" in shown.stderr
