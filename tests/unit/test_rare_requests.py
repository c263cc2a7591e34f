"""Requests that clients seldom send, and errors that nobody expects while one is answered."""

from __future__ import annotations

import asyncio
import os
import signal
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
from pubsub_delta.server import push_tokens, serve
from pubsub_delta.server.hub import Hub
from pubsub_delta.server.name_lookups import MOST_LOOKUPS, NameLookups
from pubsub_delta.server.push_keys import PushKeys
from pubsub_delta.server.push_tokens import PushTokens
from pubsub_delta.server.rest import transcoding
from pubsub_delta.server.serve import run
from tests.unit.serving import LONG, MemoryStore, eventually, serving
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
        none: list[Any] = []
        for each in none:
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


class Told:
    """A server that counts what it is told by signals."""

    def __init__(self, *, has_policy_file: bool) -> None:
        self.has_policy_file = has_policy_file
        self.reloads, self.stopped = 0, False

    async def start(self, _: object) -> int:
        asyncio.get_running_loop().call_later(0.05, os.kill, os.getpid(), signal.SIGHUP)
        return 0

    async def reload(self) -> None:
        self.reloads += 1
        os.kill(os.getpid(), signal.SIGHUP if self.reloads < 3 else signal.SIGTERM)

    async def stop(self) -> None:
        self.stopped = True


@pytest.mark.usefixtures("hangups")
@pytest.mark.parametrize(("has_policy_file", "reloads"), [(True, 3), (False, 0)])
def test_a_hangup_reads_the_policy_again_and_ends_a_server_without_one(
    has_policy_file: bool, reloads: int
) -> None:
    """ "After SIGHUP it reads its policy file again, if it has one. Else it ends." """
    server: Any = Told(has_policy_file=has_policy_file)
    asyncio.run(asyncio.wait_for(run(lambda: server, lambda _: None), LONG))
    assert (server.reloads, server.stopped) == (reloads, True)


def test_what_a_server_has_left_is_taken_over_though_the_first_attempt_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The store may not be written for a while: the next look tries again."""
    looks: list[int] = []

    async def take_over(_: Hub) -> None:
        looks.append(1)
        if len(looks) < 3:
            raise OSError("no space is left")

    monkeypatch.setattr(Hub, "take_over", take_over)
    monkeypatch.setattr(serve, "TAKE_OVER_SECONDS", 0.02)
    with serving(MemoryStore()):
        eventually(lambda: len(looks) > 4)
