"""push_config as columns of the registry."""

from __future__ import annotations

from pubsub_delta import NoWrapper, OidcToken, PushConfig
from tests.conftest import Bench

URL = "https://example.com/push"
V1 = {"x-goog-version": "v1"}


def test_the_field_is_stored_changed_and_cleared(bench: Bench) -> None:
    topic = bench.topic()
    bare = PushConfig(URL, no_wrapper=NoWrapper(write_metadata=True))
    made = bench.store.create_subscription("pushed", topic, push_config=bare)
    assert made.push_config == PushConfig(URL, V1, NoWrapper(write_metadata=True))
    assert bench.store.get_subscription("pushed") == made
    signed = PushConfig(URL, V1, None, OidcToken("push@example.com", "receivers"))
    given = bench.store.update_subscription("pushed", push_config=signed)
    assert given.push_config == bench.store.get_subscription("pushed").push_config == signed
    other = bench.store.update_subscription("pushed", push_config=PushConfig(f"{URL}/2"))
    assert other.push_config == PushConfig(f"{URL}/2", V1)
    pushing = bench.store._tables.registry.subscriptions_to("push_endpoint")
    assert [each.push_config for each in pushing if each.name == made.name] == [other.push_config]
    assert bench.store.update_subscription("pushed", push_config=None).push_config is None
    names = [each.name for each in bench.store._tables.registry.subscriptions_to("push_endpoint")]
    assert made.name not in names
