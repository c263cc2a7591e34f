"""PubSub is one object: what it lists as its methods, and that their arguments arrive."""

from __future__ import annotations

import inspect
from datetime import timedelta
from typing import Any

import pytest

from pubsub_delta import (
    BatchSettings,
    DeadLetterPolicy,
    ExpirationPolicy,
    FlowControl,
    InvalidArgument,
    LimitExceededBehavior,
    PublishFlowControl,
    PushConfig,
    RetryPolicy,
    client,
)
from pubsub_delta.methods import (
    inspection,
    maintenance,
    metrics,
    schemas,
    snapshots,
    streams,
    subscriptions,
    topics,
)
from tests.unit.in_memory import LETTERS, TOPIC, InMemory

CLIENT = client.PubSub
LISTED = {
    name: function
    for module in (
        inspection,
        maintenance,
        metrics,
        schemas,
        snapshots,
        streams,
        subscriptions,
        topics,
    )
    for name, function in vars(module).items()
    if inspect.isfunction(function) and function.__module__ == module.__name__
}
PUBLIC = {name: each for name, each in vars(CLIENT).items() if not name.startswith("_")}
METHODS = {name: each for name, each in PUBLIC.items() if not isinstance(each, property)}
FIELDS: dict[str, Any] = {
    "ack_deadline_seconds": 60,
    "message_retention_duration": timedelta(days=2),
    "retain_acked_messages": True,
    "expiration_policy": ExpirationPolicy("20d"),
    "filter": "attributes:carrier",
    "enable_message_ordering": True,
    "enable_exactly_once_delivery": True,
    "dead_letter_policy": DeadLetterPolicy(f"projects/local/topics/{LETTERS}", 7),
    "retry_policy": RetryPolicy("1s", "2s"),
    "labels": {"team": "gates"},
}

DEFAULTS: dict[str, dict[str, Any]] = {
    "create_subscription": {
        "ack_deadline_seconds": 10,
        "message_retention_duration": "7d",
        "retain_acked_messages": False,
        "filter": "",
        "enable_message_ordering": False,
        "enable_exactly_once_delivery": False,
    },
    "subscribe": {"flow_control": FlowControl(10_000, 100 * 1024 * 1024, 3600), "max_workers": 4},
    "publisher": {
        "batch_settings": BatchSettings(1_000, 10_000_000, 0.05),
        "flow_control": PublishFlowControl(1_000, 10_000_000, LimitExceededBehavior.BLOCK),
        "total_timeout": "60s",
    },
    "read_topic": {"typed": False},
    "peek": {"max_messages": 25, "max_bytes": 4096},
    "subscription_history": {"points": 30},
    "create_views": {"prefix": ""},
    "metrics": {"exact": False},
    "metrics_table": {"exact": False},
    "metrics_exporter": {"interval": "60s", "exact": False},
    "maintain": {
        "tables": True,
        "dead_letters": True,
        "expiration": True,
        "retention": True,
        "exact": False,
        "optimize": False,
        "vacuum": False,
        "dry_run": False,
    },
}


def test_the_client_has_no_base_class_and_every_method_by_its_own_name() -> None:
    assert CLIENT.__bases__ == (object,)
    assert {name: METHODS.get(name) for name in LISTED} == LISTED
    assert [each.__name__ for each in METHODS.values()] == list(METHODS)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_help_shows_what_a_method_does_and_takes(name: str) -> None:
    assert (inspect.getdoc(METHODS[name]) or "").endswith((".", "``"))
    assert next(iter(inspect.signature(METHODS[name]).parameters)) == "self"


def test_what_a_method_is_not_told_is_as_the_documentation_says() -> None:
    """Pub/Sub's defaults of a subscription, Google's of flow control; no duty of ``maintain`` that
    rewrites or removes files is done unasked."""
    taken = {name: inspect.signature(each).parameters.values() for name, each in METHODS.items()}
    given = {
        name: {each.name: each.default for each in found if each.default not in (each.empty, None)}
        for name, found in taken.items()
    }
    assert {name: found for name, found in given.items() if found} == DEFAULTS


def test_a_subscription_has_the_fields_that_it_was_created_with() -> None:
    taken = inspect.signature(CLIENT.create_subscription).parameters
    others = {"self", "subscription", "topic", "push_config", "table_config"}
    assert FIELDS.keys() == taken.keys() - others
    store = InMemory().store
    made = store.create_subscription("late", TOPIC, **FIELDS)
    assert {name: getattr(made, name) for name in FIELDS} == FIELDS
    assert store.get_subscription("late") == made
    pushed = store.create_subscription("hook", TOPIC, push_config=PushConfig("https://a.example/"))
    assert pushed.push_config is not None
    assert pushed.push_config.push_endpoint == "https://a.example/"


def test_a_topic_has_the_fields_that_it_was_created_with() -> None:
    store = InMemory().store
    kept: dict[str, Any] = {
        "message_retention_duration": timedelta(days=2),
        "labels": {"team": "gates"},
    }
    made = store.create_topic("kept", **kept)
    assert {name: getattr(made, name) for name in kept} == kept
    assert store.get_topic("kept") == made


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("ack_deadline_seconds", 9),
        ("message_retention_duration", "32d"),
        ("retain_acked_messages", "yes"),
        ("expiration_policy", "20d"),
        ("filter", "carrier"),
        ("enable_message_ordering", 1),
        ("enable_exactly_once_delivery", None),
        ("dead_letter_policy", DeadLetterPolicy(TOPIC)),
        ("retry_policy", RetryPolicy("2s", "1s")),
        ("labels", {"": "gates"}),
        ("push_config", PushConfig("ftp://a.example/")),
        ("table_config", "shop.orders"),
    ],
)
def test_nothing_is_created_with_a_field_that_is_refused(field: str, wrong: object) -> None:
    """A request is validated whole before anything is written."""
    store, fields = InMemory().store, {field: wrong}
    with pytest.raises(InvalidArgument, match=field if field != "filter" else "filter|column"):
        store.create_subscription("late", TOPIC, **fields)  # type: ignore[arg-type]
    assert [each.name.rpartition("/")[2] for each in store.list_subscriptions()] == ["first"]
