"""A server without keys for push tokens, beside one of the store that has them."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("grpc")
from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.resources import OidcToken, PushConfig
from pubsub_delta.server.pushing import Pushers
from tests.unit.serving import LONG
from tests.unit.serving_calls import NAME, Calls, opening, running
from tests.unit.test_server_response_queue import following, texts


def test_its_streams_end_when_another_server_is_to_push(caplog: pytest.LogCaptureFixture) -> None:
    # "Streams that are open end so when it gets an endpoint"
    async def test(calls: Calls) -> None:
        pushers = Pushers(calls.hub, calls.backend.now)
        stream = calls.stream(opening())
        await calls.publish("a")
        assert texts(await following(stream)) == ["a"]
        signed = PushConfig("https://example.com/push", oidc_token=OidcToken("push@example.com"))
        calls.other_process.update_subscription(NAME, push_config=signed)
        await pushers.refresh()
        with pytest.raises(FailedPrecondition, match="pushes its messages to"):
            await asyncio.wait_for(anext(stream), LONG / 4)
        await pushers.stop()

    running(test)
    assert "no keys to sign its tokens with" in caplog.text
