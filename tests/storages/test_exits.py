"""A program that ends without stopping what works for it in threads."""

from __future__ import annotations

import pytest

from pubsub_delta import PubSub
from tests.lanes.test_exits import ACKNOWLEDGES, run

pytestmark = [pytest.mark.storages, pytest.mark.timeout(600)]


def test_what_callbacks_have_said_is_written(root: str, store: PubSub) -> None:
    """concurrent.futures: "cannot schedule new futures after interpreter shutdown"."""
    store.publish("orders", [b"message"] * 10)
    run(ACKNOWLEDGES, root)
    assert store.subscription_metrics("billing").num_undelivered_messages == 0
