"""Tokens of push requests: who verifies them, which key signs, and how the keys are kept."""

from __future__ import annotations

import json
import os
import stat
import threading
import urllib.request
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpcore")
import jwt
from filelock import FileLock
from google.auth.transport.requests import Request
from google.oauth2 import id_token

from pubsub_delta import NoWrapper, OidcToken, PushConfig
from pubsub_delta.clock import UTC, ManualClock, SystemClock
from pubsub_delta.errors import FailedPrecondition, InvalidArgument
from pubsub_delta.server import push_endpoint as endpoints
from pubsub_delta.server.push_keys import PushKeys
from pubsub_delta.server.push_tokens import PushTokens, checked_issuer
from pubsub_delta.server.pushing import Pushers
from pubsub_delta.server.security import Security
from tests.endpoints import Pushed, PushEndpoint, listening
from tests.unit.serving import (
    LONG,
    TOPIC,
    MemoryStore,
    clients,
    eventually,
    publish,
    serving,
)
from tests.unit.serving_calls import NAME, Calls, running, soon

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

EMAIL = "push@example.com"
DAY = 24 * 3600


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "push-keys.json"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime(2026, 1, 1, tzinfo=UTC))


@pytest.fixture
def endpoint() -> Iterator[PushEndpoint]:
    with listening() as found:
        yield found


def signed_store(endpoint: PushEndpoint, audience: str = "", **config: Any) -> MemoryStore:
    token = OidcToken(EMAIL, audience)
    return MemoryStore({"push_config": PushConfig(endpoint.url, oidc_token=token, **config)})


def pushed(address: str, endpoint: PushEndpoint, **message: Any) -> Pushed:
    """Publish a message, and return the request that pushes it."""
    with clients(address) as (publisher, _):
        publish(publisher, {"topic": TOPIC, "messages": [{"data": b"late", **message}]})
    eventually(lambda: endpoint.requests)
    return endpoint.requests[-1]


def bearer(request: Pushed) -> str:
    kind, token = request.headers["authorization"].split()
    assert kind == "Bearer"
    return token


def test_google_auth_verifies_the_token_of_a_push(path: Path, endpoint: PushEndpoint) -> None:
    # "A receiver that verifies with google-auth's `id_token.verify_token` with a certs_url"
    store = signed_store(endpoint)
    with serving(store, push_keys=path) as address:
        token = bearer(pushed(address, endpoint))
        certs = f"http://{address}/.well-known/jwks.json"
        claims = id_token.verify_token(token, Request(), endpoint.url, certs_url=certs)
        assert (claims["email"], claims["email_verified"]) == (EMAIL, True)
        assert claims["iss"] == f"http://{address}"
        assert claims["exp"] - claims["iat"] == 3600
        with pytest.raises(jwt.InvalidAudienceError):
            id_token.verify_token(token, Request(), "https://other.example", certs_url=certs)
        eventually(lambda: store.unacked == [])  # once the endpoint's answer is read


def test_pyjwt_finds_the_keys_by_the_discovery_document(path: Path, endpoint: PushEndpoint) -> None:
    # "or PyJWT's PyJWKClient"; OpenID Connect: `{issuer}/.well-known/openid-configuration`
    with serving(signed_store(endpoint, "receivers"), push_keys=path) as address:
        token = bearer(pushed(address, endpoint))
        issuer = jwt.decode(token, options={"verify_signature": False})["iss"]
        with urllib.request.urlopen(f"{issuer}/.well-known/openid-configuration") as answer:
            told = json.load(answer)
        assert told["issuer"] == issuer
        key = jwt.PyJWKClient(told["jwks_uri"]).get_signing_key_from_jwt(token)
        [algorithm] = told["id_token_signing_alg_values_supported"]
        claims = jwt.decode(
            token, key.key, algorithms=[algorithm], audience="receivers", issuer=issuer
        )
        assert sorted(claims) == sorted(told["claims_supported"])


def test_the_issuer_is_the_url_that_receivers_know_the_server_by(
    path: Path, endpoint: PushEndpoint
) -> None:
    # docs/access.md: `--push-issuer` where receivers reach the server by another address
    issuer = "https://push.example.org"
    with serving(signed_store(endpoint), push_keys=path, push_issuer=issuer) as address:
        token = bearer(pushed(address, endpoint))
        assert jwt.decode(token, options={"verify_signature": False})["iss"] == issuer
        found = f"http://{address}/.well-known/openid-configuration"
        with urllib.request.urlopen(found) as answer:
            assert json.load(answer)["issuer"] == issuer


def test_the_documents_need_no_token_and_have_no_secrets(path: Path) -> None:
    PushKeys(path, SystemClock().now).signing()
    with serving(MemoryStore(), security=Security(token="secret"), push_keys=path) as address:
        for name in ("jwks.json", "openid-configuration"):
            connection = HTTPConnection(address, timeout=LONG)
            connection.request("GET", f"/.well-known/{name}")
            reply = connection.getresponse()
            assert (reply.status, reply.getheader("Cache-Control")) == (
                200,
                "public, max-age=3600",
            )
            text = reply.read()
        with urllib.request.urlopen(f"http://{address}/.well-known/jwks.json") as answer:
            [key] = json.load(answer)["keys"]
        assert set(key) == {"kty", "n", "e", "kid", "use", "alg"}
        assert b"secret" not in text
        connection = HTTPConnection(address, timeout=LONG)
        connection.request("GET", "/.well-known/other")
        assert connection.getresponse().status == 404


def test_a_question_for_keys_makes_none(path: Path) -> None:
    with (
        serving(MemoryStore(), push_keys=path) as address,
        urllib.request.urlopen(f"http://{address}/.well-known/jwks.json") as answer,
    ):
        assert json.load(answer) == {"keys": []}
    assert not path.exists()


def test_no_attribute_takes_the_place_of_the_token(path: Path, endpoint: PushEndpoint) -> None:
    bare = NoWrapper(write_metadata=True)
    with serving(signed_store(endpoint, no_wrapper=bare), push_keys=path) as address:
        forged = {"Authorization": "Bearer forged", "authorization": "Bearer forged", "kind": "a"}
        request = pushed(address, endpoint, attributes=forged)
        assert bearer(request) != "forged"
        assert request.headers["kind"] == "a"
        assert request.body == b"late"


def test_what_nobody_here_can_sign_is_not_pushed_and_no_delivery_fails(
    endpoint: PushEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    """Another process has given the subscription its token."""
    store = signed_store(endpoint)
    with serving(store) as address, clients(address) as (publisher, _):
        publish(publisher, {"topic": TOPIC, "messages": [{"data": b"late"}]})
        eventually(lambda: "no keys to sign its tokens" in caplog.text)
        assert endpoint.requests == []
        assert store.requests == []


def test_where_a_token_cannot_be_signed_the_message_waits(
    path: Path, endpoint: PushEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    path.write_text("{")
    path.chmod(0o600)
    store = signed_store(endpoint)
    with serving(store, push_keys=path) as address, clients(address) as (publisher, _):
        publish(publisher, {"topic": TOPIC, "messages": [{"data": b"late"}]})
        eventually(lambda: store.counters.pushes[endpoints.UNSIGNED] >= 2)
        assert endpoint.requests == []
        assert f"{endpoints.UNSIGNED}; backing off" in caplog.text, (
            "and not at once, again and again"
        )
        path.unlink()
        eventually(lambda: endpoint.data == [b"late"] and store.unacked == [])
    # No delivery of it has failed: it was never nacked.
    assert [turn.deadlines for turn, _ in store.requests if timedelta(0) in turn.deadlines] == []


def test_nothing_is_pushed_to_an_endpoint_that_was_changed_while_a_token_was_signed(
    path: Path,
) -> None:
    # "Changes through the server take effect at once", however long the file of keys is locked
    def signed(endpoint: PushEndpoint) -> PushConfig:
        return PushConfig(endpoint.url, oidc_token=OidcToken(EMAIL))

    async def change(one: PushEndpoint, other: PushEndpoint, calls: Calls) -> None:
        tokens = PushTokens(PushKeys(path, calls.backend.now), "http://server", calls.backend.now)
        pushers, store = Pushers(calls.hub, calls.backend.now, tokens), calls.store
        await pushers.apply(store.update_subscription(NAME, push_config=signed(one)))
        with FileLock(f"{path}.lock"):
            await calls.publish("a", "b")
            await soon(lambda: pushers._workers[NAME].has_requests)
            await pushers.apply(store.update_subscription(NAME, push_config=signed(other)))
        await soon(lambda: len(other.requests) == 2)
        assert sorted(other.data) == [b"a", b"b"]
        assert one.requests == []
        await pushers.stop()

    with listening() as one, listening() as other:
        running(partial(change, one, other))


def test_nothing_is_pushed_that_a_seek_has_voided_while_a_token_was_signed(path: Path) -> None:
    # "What was leased before a seek is not called, and not sent by a server"
    async def seek(one: PushEndpoint, calls: Calls) -> None:
        tokens = PushTokens(PushKeys(path, calls.backend.now), "http://server", calls.backend.now)
        pushers, store = Pushers(calls.hub, calls.backend.now, tokens), calls.store
        signed = PushConfig(one.url, oidc_token=OidcToken(EMAIL))
        await pushers.apply(store.update_subscription(NAME, push_config=signed))
        pusher = pushers._workers[NAME]
        with FileLock(f"{path}.lock"):
            await calls.publish("a", "b")
            await soon(lambda: pusher.has_requests)
            calls.backend.clock.advance(1)
            await calls.seek(time=calls.backend.clock.now())
        await soon(lambda: not pusher.has_requests)
        await calls.publish("c")
        await soon(lambda: one.data)
        assert one.data == [b"c"]
        await pushers.stop()

    with listening() as one:
        running(partial(seek, one))


def test_one_token_is_used_for_half_an_hour(path: Path, clock: ManualClock) -> None:
    tokens = PushTokens(PushKeys(path, clock.now), "http://server", clock.now)
    config = PushConfig("https://a.example", oidc_token=OidcToken(EMAIL))
    assert tokens.cached(config) is None
    first = tokens.token(config)
    clock.advance(1799)
    assert tokens.cached(config) == first
    other = PushConfig("https://b.example", oidc_token=OidcToken(EMAIL))
    assert tokens.cached(other) is None  # the endpoint is whom it is meant for
    clock.advance(1)
    assert tokens.cached(config) is None


def test_a_token_of_a_clock_that_was_ahead_is_not_sent_again(
    path: Path, clock: ManualClock
) -> None:
    """Receivers refuse a token whose time of issue has not come."""
    tokens = PushTokens(PushKeys(path, clock.now), "http://server", clock.now)
    config = PushConfig("https://a.example", oidc_token=OidcToken(EMAIL))
    clock.advance(3600)
    tokens.token(config)
    clock.advance(-1)
    assert tokens.cached(config) is None


@pytest.mark.parametrize("removed", [True, False])
def test_a_token_of_a_key_that_is_gone_is_not_sent_again(
    path: Path, clock: ManualClock, removed: bool
) -> None:
    """Whoever removes or replaces a key does not trust it; receivers find no key of that id."""
    tokens = PushTokens(PushKeys(path, clock.now), "http://server", clock.now)
    config = PushConfig("https://receiver", oidc_token=OidcToken(EMAIL))
    old = tokens.token(config)
    tokens.refresh()
    assert tokens.cached(config) == old
    path.unlink()
    if not removed:
        PushKeys(path, clock.now).signing()
    tokens.refresh()
    assert tokens.cached(config) is None
    new = jwt.get_unverified_header(tokens.token(config))["kid"]
    assert new != jwt.get_unverified_header(old)["kid"]
    assert published(PushKeys(path, clock.now)) == [new]


def test_a_key_signs_for_thirty_days_and_the_next_is_published_before(
    path: Path, clock: ManualClock
) -> None:
    # "rotation"
    keys = PushKeys(path, clock.now)
    first = keys.signing().kid
    clock.advance(30 * DAY - 1)
    assert (keys.signing().kid, published(keys)) == (first, [first])
    clock.advance(1)
    assert keys.signing().kid == first
    second = published(keys)[0]
    assert published(keys) == [second, first]
    clock.advance(DAY - 1)
    assert keys.signing().kid == first
    clock.advance(1)
    assert keys.signing().kid == second
    assert published(keys) == [second, first]  # tokens of it are still about
    clock.advance(DAY)
    assert published(keys) == [second]
    clock.advance(29 * DAY)
    keys.signing()
    assert len(json.loads(path.read_text())["keys"]) == 2  # the first is forgotten


def published(keys: PushKeys) -> list[str]:
    return [each["kid"] for each in keys.public()]


def test_servers_of_one_store_share_the_keys(path: Path, clock: ManualClock) -> None:
    # "several servers on one store"
    servers = [PushKeys(path, clock.now) for _ in range(4)]
    signing: list[str] = []
    threads = [
        threading.Thread(target=lambda each=each: signing.append(each.signing().kid))
        for each in servers
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(signing)) == 1
    clock.advance(30 * DAY)
    servers[0].signing()
    assert len({tuple(published(each)) for each in servers}) == 1
    assert len(published(servers[1])) == 2


OF_NO_SERVER = ("", "{", "[]", "{}", '{"keys": 7}', '{"keys": [7]}', '{"keys": [{}]}', "[" * 10**5)


@pytest.mark.parametrize("text", OF_NO_SERVER)
def test_a_file_of_no_server_is_refused(path: Path, clock: ManualClock, text: str) -> None:
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(FailedPrecondition, match="a file that a server wrote is accepted"):
        PushKeys(path, clock.now).signing()


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_nobody_else_may_read_the_keys(path: Path, clock: ManualClock) -> None:
    # "key kept in the store/in a file safely with permissions"
    PushKeys(path, clock.now).signing()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o604)
    with pytest.raises(FailedPrecondition, match="other users may read"):
        PushKeys(path, clock.now).signing()


def test_a_file_that_cannot_be_written_is_told_unless_it_has_keys(
    tmp_path: Path, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FailedPrecondition, match="cannot be written"):
        PushKeys(tmp_path / "file" / "keys.json", clock.now).signing()
    path = tmp_path / "keys" / "keys.json"
    keys = PushKeys(path, clock.now)
    first = keys.signing().kid
    clock.advance(31 * DAY)
    keys._path = tmp_path / "file" / "keys.json"  # the disk cannot be written any more
    assert keys.signing().kid == first
    assert "a new key could not be added" in caplog.text


@pytest.mark.parametrize(
    "url",
    [
        *("pubsub.example.com", "ftp://a.example", "https://", "http://a?b", "http://a?"),
        *("http://a#", "http://[::1", "http://a:b", "http://a:99999", "http://a:0"),
    ],
)
def test_an_issuer_is_a_url(url: str) -> None:
    with pytest.raises(InvalidArgument, match="push-issuer"):
        checked_issuer(url)


def test_a_token_is_valid_for_an_hour(path: Path, clock: ManualClock) -> None:
    tokens = PushTokens(PushKeys(path, clock.now), "http://server", clock.now)
    token = tokens.token(PushConfig("https://a.example", oidc_token=OidcToken(EMAIL)))
    claims = jwt.decode(token, options={"verify_signature": False})
    assert datetime.fromtimestamp(claims["exp"], UTC) == clock.now() + timedelta(hours=1)
    assert claims["aud"] == "https://a.example"
    assert jwt.get_unverified_header(token)["kid"] == PushKeys(path, clock.now).signing().kid
