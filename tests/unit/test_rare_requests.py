"""Requests that clients seldom send, and errors that nobody expects while one is answered."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("grpc")
pytest.importorskip("httpcore")

from pubsub_delta import OidcToken, PushConfig
from pubsub_delta.clock import UTC, ManualClock
from pubsub_delta.server import push_tokens
from pubsub_delta.server.name_lookups import MOST_LOOKUPS, NameLookups
from pubsub_delta.server.push_keys import PushKeys
from pubsub_delta.server.push_tokens import PushTokens
from pubsub_delta.server.rest import transcoding
from tests.unit.serving_calls import NAME, Calls, running
from tests.unit.serving_world import WorldBackend, served
from tests.unit.test_server_rest import ask

FLIGHTS = "/v1/projects/local/topics/flights"


def test_an_error_that_nobody_expected_is_answered_in_json(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A client that gets no reply sends its request again, and again."""

    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("nobody expected this")

    with served(WorldBackend()) as address:
        assert ask(address, "PUT", FLIGHTS)[0] == 200
        with monkeypatch.context() as patched:
            patched.setattr(transcoding, "response_of", broken)
            status, told = ask(address, "GET", FLIGHTS)
        assert (status, told["error"]["status"]) == (500, "INTERNAL")
        assert "failed unexpectedly" in caplog.text
        assert ask(address, "GET", FLIGHTS)[0] == 200


@pytest.mark.parametrize(
    "fields", ["topics(name", "topics(name))", "topics(", "topics()", "topics/", "topics(name,"]
)
def test_a_selection_that_is_not_whole_is_refused(fields: str) -> None:
    with served(WorldBackend()) as address:
        status, told = ask(address, "GET", f"/v1/projects/local/topics?fields={fields}")
    assert (status, told["error"]["status"]) == (400, "INVALID_ARGUMENT")
    assert "fields" in told["error"]["message"]


def test_a_stream_that_says_nothing_ends() -> None:
    async def nothing() -> AsyncIterator[Any]:
        for each in ():
            yield each

    async def test(calls: Calls) -> None:
        assert [each async for each in calls.stream(nothing())] == []
        assert calls.hub.running(NAME) is None

    running(test)


def test_a_process_without_threads_looks_names_up_once_it_has_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each lookup that did not begin would be one less for ever."""

    def none(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def test() -> None:
        lookups = NameLookups()
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", none)
            for _ in range(MOST_LOOKUPS + 1):
                with pytest.raises(RuntimeError, match="new thread"):
                    await lookups.addresses("localhost")
        assert await lookups.addresses("localhost")

    asyncio.run(test())


def test_tokens_are_kept_for_so_many_audiences(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(push_tokens, "_MAX_TOKENS", 3)
    now = ManualClock(datetime(2026, 1, 1, tzinfo=UTC)).now
    tokens = PushTokens(PushKeys(tmp_path / "keys.json", now), "https://push.example.com", now)
    configs = [
        PushConfig("https://example.com/", oidc_token=OidcToken("push@example.com", f"of-{n}"))
        for n in range(6)
    ]
    for each in configs:
        token = tokens.token(each)
        assert tokens.cached(each) == token
    assert sum(tokens.cached(each) is not None for each in configs) <= 3
