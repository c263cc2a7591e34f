"""The file of the keys that sign tokens of push requests, and the tokens that are kept."""

from __future__ import annotations

import pytest

pytest.importorskip("grpc")

pytest.importorskip("httpcore")
import json
from datetime import datetime
from http.client import HTTPConnection
from pathlib import Path

from pubsub_delta import OidcToken, PushConfig
from pubsub_delta.clock import UTC, ManualClock, SystemClock
from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.server import push_tokens
from pubsub_delta.server.push_keys import PushKeys
from pubsub_delta.server.push_tokens import PushTokens
from tests.unit.serving import LONG, MemoryStore, serving


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


def test_a_file_of_public_keys_is_refused(tmp_path: Path) -> None:
    """Only a private key signs: a server that cannot sign says so, and which file it has read."""
    path = tmp_path / "push-keys.json"
    keys = PushKeys(path, SystemClock().now)
    keys.signing()
    written = json.loads(path.read_text())
    for each in written["keys"]:
        for secret in ("d", "p", "q", "dp", "dq", "qi"):
            each.pop(secret, None)
    path.write_text(json.dumps(written))
    with pytest.raises(FailedPrecondition, match=str(path)):
        PushKeys(path, SystemClock().now).signing()


def test_keys_that_cannot_be_read_are_an_error_and_no_empty_list(tmp_path: Path) -> None:
    """Receivers cache the document: without keys they would refuse every token for an hour."""
    path = tmp_path / "push-keys.json"
    path.write_text("no keys")
    with serving(MemoryStore(), push_keys=path) as address:
        connection = HTTPConnection(address, timeout=LONG)
        connection.request("GET", "/.well-known/jwks.json")
        reply = connection.getresponse()
        assert reply.status == 400
        assert "push-keys.json" in json.load(reply)["error"]["message"]
