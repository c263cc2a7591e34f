"""Stores in memory whose subscription pushes, for tests."""

from __future__ import annotations

from typing import Any

from pubsub_delta import PushConfig
from pubsub_delta.server.timing import Timing
from tests.endpoints import PushEndpoint
from tests.unit.serving import TOPIC, MemoryStore, publish

SELDOM = Timing(gather=0.01, shortest_poll=60, longest_poll=60)
"""At which nothing is found that nobody tells of."""


def pushing_to(endpoint: PushEndpoint | str, **fields: Any) -> MemoryStore:
    """Return a store whose subscription pushes to an endpoint."""
    url = endpoint if isinstance(endpoint, str) else endpoint.url
    return MemoryStore({"push_config": PushConfig(url), **fields})


def publish_all(publisher: Any, *data: str, key: str = "") -> None:
    """Publish messages in one request."""
    messages = [{"data": each.encode(), "ordering_key": key} for each in data]
    publish(publisher, {"topic": TOPIC, "messages": messages})
