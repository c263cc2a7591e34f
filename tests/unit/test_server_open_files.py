"""How many connections a server takes, by the limit of open files of its process."""

from __future__ import annotations

import asyncio
import ssl
import sys
from typing import Any, cast

import pytest

pytest.importorskip("grpc")

from pubsub_delta.server import multiplexer as multiplexer_module

resource = pytest.importorskip("resource")


@pytest.mark.parametrize(
    ("soft", "hard", "may_be_raised", "affordable"),
    [
        (1_000_000, 1_000_000, True, 100),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, True, 100),
        (256, 1_000_000, True, 100),
        (256, resource.RLIM_INFINITY, True, 100),
        (256, 256 + 3 * 40 + 2, True, 40),
        (256 + 3 * 30, 1_000_000, False, 30),
        (64, 64, True, 1),
    ],
)
def test_as_many_connections_are_taken_as_the_limit_of_files_allows(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, may_be_raised: bool, affordable: int
) -> None:
    """ "A connection takes three files. The server raises its limit as far as it may"."""
    limits = [(soft, hard)]

    def raised(_: int, limit: tuple[int, int]) -> None:
        if not may_be_raised:
            raise ValueError("not allowed to raise maximum limit")
        limits.append(limit)

    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", raised)
    assert multiplexer_module._affordable(100) == affordable
    assert limits[-1][1] == hard
    assert limits[-1][0] == resource.RLIM_INFINITY or limits[-1][0] <= max(soft, 256 + 3 * 100)


def test_without_a_limit_of_files_every_connection_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Windows has no module ``resource``."""
    monkeypatch.setitem(sys.modules, "resource", None)
    assert multiplexer_module._affordable(100) == 100


@pytest.mark.parametrize(
    ("soft", "hard", "after"),
    [
        (556, 1_000_000, 556),
        (555, 1_000_000, 556),
        (1_000_000, 1_000_000, 1_000_000),
        (1_000_000, resource.RLIM_INFINITY, 1_000_000),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, resource.RLIM_INFINITY),
        (256, 300, 300),
        (256, resource.RLIM_INFINITY, 556),
    ],
)
def test_the_limit_of_files_is_raised_to_what_is_needed_and_never_lowered(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, after: int
) -> None:
    """256 other files, and three a connection."""
    limits = [(soft, hard)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, limit: limits.append(limit))
    multiplexer_module._affordable(100)
    assert limits[-1] == (after, hard)
    assert len(limits) == (1 if after == soft else 2), "it is set once, where that is needed"


class _Opened(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.was_aborted = False

    def abort(self) -> None:
        self.was_aborted = True


@pytest.mark.parametrize("has_tls", [True, False])
def test_a_server_that_is_full_says_so_once_until_half_of_its_connections_are_closed(
    has_tls: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """ "A connection that cannot be refused in its own protocol is aborted": with TLS at once."""
    tls = ssl.create_default_context() if has_tls else None
    multiplexer: Any = multiplexer_module.PortMultiplexer(
        cast(Any, None), cast(Any, None), tls, most=4
    )
    told = "4 connections are open; more are refused"

    def warned() -> int:
        return [each.getMessage() for each in caplog.records].count(told)

    opened = [_Opened() for _ in range(4)]
    assert [multiplexer.admit(each) for each in opened] == [True] * 4
    assert warned() == 0
    for _ in range(2):
        refused = _Opened()
        assert not multiplexer.admit(refused)
        assert refused.was_aborted is has_tls
        multiplexer.closed(refused)
    assert warned() == 1
    multiplexer.closed(opened[0])
    more = _Opened()
    assert multiplexer.admit(more)
    assert not multiplexer.admit(refused)
    multiplexer.closed(refused)
    assert warned() == 1
    for each in (more, opened[1]):
        multiplexer.closed(each)
    opened = [_Opened() for _ in range(2)]
    assert [multiplexer.admit(each) for each in opened] == [True] * 2
    assert not multiplexer.admit(refused)
    assert warned() == 2
