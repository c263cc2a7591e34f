"""A config that says how messages are pushed or written says where to, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import grpc
import pytest

pytest.importorskip("grpc")

from pubsub_delta.server.grpc_services import PUBLISHER, SUBSCRIBER
from tests.unit.raw_calls import Server, refused
from tests.unit.serving_world import WorldBackend, served

TOPIC, NAME = "projects/p/topics/any", "projects/p/subscriptions/any"
TOKEN = {"oidc_token": {"service_account_email": "me@example.com"}}
HOOK = {"push_endpoint": "https://example.com/hook"}


@pytest.fixture
def server() -> Iterator[Server]:
    with served(WorldBackend()) as address, grpc.insecure_channel(address) as channel:
        server = Server(channel)
        server.call(PUBLISHER, "CreateTopic", name=TOPIC)
        yield server


def updated(server: Server, mask: str, **fields: Any) -> Any:
    asked = {"subscription": {"name": NAME, **fields}, "update_mask": {"paths": [mask]}}
    return server.call(SUBSCRIBER, "UpdateSubscription", **asked)


@pytest.mark.parametrize("config", [TOKEN, {"no_wrapper": {"write_metadata": True}}])
def test_a_push_config_without_its_endpoint_is_refused(
    server: Server, config: dict[str, Any]
) -> None:
    """An empty push_config means pull. One that is meant for pushes makes no pull subscription."""
    missing = "push_config.push_endpoint: it is missing, and"
    with refused("INVALID_ARGUMENT", missing):
        server.call(SUBSCRIBER, "CreateSubscription", name=NAME, topic=TOPIC, push_config=config)
    server.call(SUBSCRIBER, "CreateSubscription", name=NAME, topic=TOPIC, push_config=HOOK)
    with refused("INVALID_ARGUMENT", missing):
        server.call(SUBSCRIBER, "ModifyPushConfig", subscription=NAME, push_config=config)
    with refused("INVALID_ARGUMENT", missing):
        updated(server, "push_config", push_config=config)
    assert updated(server, "push_config.push_endpoint").push_config.push_endpoint == ""
    with_version = {"attributes": {"x-goog-version": "v1"}}
    server.call(SUBSCRIBER, "ModifyPushConfig", subscription=NAME, push_config=with_version)


def test_a_table_config_without_its_table_is_refused(server: Server) -> None:
    missing = "bigquery_config.table: it is missing, and use_topic_schema is set"
    config = {"use_topic_schema": True}
    with refused("INVALID_ARGUMENT", missing):
        server.call(
            SUBSCRIBER, "CreateSubscription", name=NAME, topic=TOPIC, bigquery_config=config
        )
    server.call(SUBSCRIBER, "CreateSubscription", name=NAME, topic=TOPIC, bigquery_config={})
    with refused("INVALID_ARGUMENT", missing):
        updated(server, "bigquery_config", bigquery_config=config)
    updated(server, "bigquery_config")
