"""Who may reach a server: by which names, and by which certificate."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("grpc")

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.server import serve
from pubsub_delta.server.rest.gateway import Gateway
from pubsub_delta.server.security import Security
from pubsub_delta.server.serve import ServerSettings
from tests.unit.serving import QUICK, MemoryStore
from tests.unit.test_server_command import certificate


@pytest.mark.parametrize(
    ("host", "with_tls", "local_only"),
    [
        ("127.0.0.1", False, True),
        ("localhost", False, True),
        ("0.0.0.0", False, False),
        ("127.0.0.1", True, False),
        ("0.0.0.0", True, False),
    ],
)
def test_a_server_of_this_machine_alone_is_asked_by_its_own_names(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    host: str,
    with_tls: bool,
    local_only: bool,
) -> None:
    """A page of another origin reaches it by a name of its own (DNS rebinding). With TLS its
    certificate says by which names it is asked, at a public address its owner does."""
    pem, key = certificate(tmp_path) if with_tls else (None, None)
    store = MemoryStore()
    settings = ServerSettings(host, 0, Security(pem, key, insecure=True), QUICK)
    made: list[bool] = []

    def gateway(*given: Any, **named: Any) -> Gateway:
        made.append(named["local_names_only"])
        return Gateway(*given, **named)

    monkeypatch.setattr(serve, "Gateway", gateway)

    async def begun() -> None:
        serve.Server(store, store.now, settings, store.counters)

    asyncio.run(begun())
    assert made == [local_only]


@pytest.mark.parametrize("absent", ["server.pem", "server.key"])
def test_a_file_of_tls_that_is_not_there_is_named(tmp_path: Path, absent: str) -> None:
    files = certificate(tmp_path)
    assert Security(*files).tls() is not None
    (tmp_path / absent).unlink()
    with pytest.raises(InvalidArgument) as refused:
        Security(*files).tls()
    assert str(refused.value) == (
        f"tls: [Errno 2] No such file or directory: '{tmp_path / absent}'; PEM files of a "
        "certificate and its key, without a password, are accepted"
    )


def test_tls_needs_both_files(tmp_path: Path) -> None:
    pem, key = certificate(tmp_path)
    for half in (Security(), Security(certificate=pem), Security(key=key)):
        assert half.tls() is None
    for half in (Security(certificate=pem), Security(key=key)):
        with pytest.raises(InvalidArgument, match="one of them is missing"):
            half.check("127.0.0.1")
