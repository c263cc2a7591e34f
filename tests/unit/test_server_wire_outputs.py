"""What clients are told that they cannot set, and how finer times and other fields are read."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

pytest.importorskip("grpc")
from google.pubsub_v1.types import pubsub

from pubsub_delta.clock import from_micros
from pubsub_delta.resources import ReceivedMessage
from pubsub_delta.server import wire
from pubsub_delta.server.status import status_of
from pubsub_delta.table_config import TableConfig, TableState
from pubsub_delta.tables.lanes.storage_errors import StorageRefused
from tests.unit.builders import PLAIN, START
from tests.unit.test_server_wire import asked, changed

DAY = timedelta(days=1)


def test_a_subscription_tells_that_it_is_detached_and_what_its_topic_retains() -> None:
    """ "Output only": ``detached`` and ``topic_message_retention_duration``."""
    stored = replace(PLAIN, detached=True, topic_message_retention_duration=DAY)
    message = pubsub.Subscription.wrap(wire.subscription_message(stored))
    assert (message.detached, message.topic_message_retention_duration) == (True, DAY)
    assert not wire.subscription_message(PLAIN).HasField("topic_message_retention_duration")


@pytest.mark.parametrize("state", [*TableState, None])
def test_a_subscription_tells_that_its_table_cannot_be_written(state: TableState | None) -> None:
    """ "RESOURCE_ERROR: The subscription cannot receive messages because of an error"."""
    stored = replace(PLAIN, table_config=TableConfig("p.d.t", state=state))
    told = pubsub.Subscription.wrap(wire.subscription_message(stored)).state
    states: Any = pubsub.Subscription.State
    is_written = state in (None, TableState.ACTIVE)
    assert told == (states.ACTIVE if is_written else states.RESOURCE_ERROR)


def test_a_delivery_without_a_dead_letter_policy_has_no_attempt() -> None:
    """ "If a DeadLetterPolicy is not set on the subscription, this will be 0"."""
    received = ReceivedMessage("ack id", "0", START, b"a", {}, "", None)
    assert wire.received_message(received).delivery_attempt == 0


def test_a_snapshot_lives_no_shorter_than_its_client_asked_for() -> None:
    """ "Times are cut in the direction that loses nothing"."""
    snapshot = asked("Snapshot", expire_time={"seconds": 1, "nanos": 1_001})
    assert wire.read_fields(snapshot, ["expire_time"]) == {"expire_time": from_micros(1_000_002)}


def test_a_field_that_nobody_asks_to_change_may_be_one_that_is_refused() -> None:
    """A client that has read a resource elsewhere sends it as it is, with a mask."""
    elsewhere = {"cloud_storage_config": {"bucket": "b"}, "labels": {"a": "b"}}
    assert changed(["labels"], **elsewhere) == {"labels": {"a": "b"}}


def test_a_storage_that_refuses_the_server_is_unavailable_for_its_clients() -> None:
    """They "can do nothing about it, and their libraries try again"."""
    assert status_of(StorageRefused("403 Forbidden")).code == 14
