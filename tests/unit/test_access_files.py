"""Policy files: what they may say, and how what they say wrongly is refused."""

from __future__ import annotations

import hmac
import json
import logging
import os
from base64 import urlsafe_b64encode
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("grpc")
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, OctKey, RSAKey

from pubsub_delta.clock import UTC
from pubsub_delta.errors import InvalidArgument, Unimplemented
from pubsub_delta.policy.access_files import read_policy
from pubsub_delta.server import policy_files
from pubsub_delta.server.authentication import Authenticator
from pubsub_delta.server.policy_files import PolicyFile
from pubsub_delta.server.status import Unauthenticated
from tests.unit.access_files import ANN, BOB, TOPIC, bound, digest, token, token_of, write

NOW = datetime(2026, 1, 1, tzinfo=UTC)
EXAMPLE = """
tokens:
- sha256: {digest}
  member: user:ann@example.com
  expires: 2027-01-01T00:00:00Z
groups:
  group:crew@example.com: [user:ann@example.com]
roles:
  projects/p/roles/relay: [pubsub.topics.publish, pubsub.subscriptions.consume]
bindings:
  projects/p:
  - role: projects/p/roles/relay
    members: [group:crew@example.com]
  projects/p/serviceAccounts/push@example.com:
  - role: roles/iam.serviceAccountUser
    members: [user:ann@example.com]
"""


def member(file: PolicyFile, authorization: str | bytes, now: datetime = NOW) -> str | None:
    """Return whose an authorization is, None where it is nobody's."""
    try:
        return file.loaded.authenticator.authenticate(authorization, now).member
    except Unauthenticated:
        return None


def test_yaml_and_json_say_the_same(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(EXAMPLE.format(digest=digest("secret")))
    file = PolicyFile(path)
    policy = file.loaded.policy
    assert file.loaded.authenticator.authenticate("Bearer secret", NOW).groups == {
        "group:crew@example.com"
    }
    assert policy.tokens[0].expires == datetime(2027, 1, 1, tzinfo=UTC)
    assert policy.bindings["projects/p"][0].role == "projects/p/roles/relay"
    said = {
        "tokens": [token(ANN, sha256=digest("secret"), expires="2027-01-01T00:00:00Z")],
        "groups": {"group:crew@example.com": [ANN]},
        "roles": {"projects/p/roles/relay": [*policy.roles["projects/p/roles/relay"]]},
        "bindings": {
            each: [
                {"role": binding.role, "members": list(binding.members)}
                for binding in policy.bindings[each]
            ]
            for each in policy.bindings
        },
    }
    path.write_text(json.dumps(said))
    assert PolicyFile(path).loaded.policy == policy


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ([], "the policy file: list; a mapping"),
        ({"binding": {}}, "unknown name 'binding'"),
        ({"tokens": {}}, "tokens: dict; a list"),
        ({"tokens": [{"member": ANN}]}, r"tokens\[0\]: sha256 is missing"),
        ({"tokens": [token(ANN, sha256="secret")]}, r"tokens\[0\]\.sha256: it is not a SHA-256"),
        (
            {"tokens": [token(ANN), token(BOB, sha256=digest(token_of(ANN)).upper())]},
            r"tokens\[1\]\.sha256: it is that of tokens\[0\], of another member",
        ),
        ({"tokens": [token("ann@example.com")]}, r"tokens\[0\]\.member: 'ann@example.com'"),
        ({"tokens": [token("group:crew@example.com")]}, r"tokens\[0\]\.member"),
        ({"tokens": [token(ANN, expires="soon")]}, r"tokens\[0\]\.expires: 'soon'"),
        ({"tokens": [token(ANN, expires=datetime(2026, 1, 1))]}, r"tokens\[0\]\.expires"),
        ({"tokens": [token(ANN, expired="2026-01-01T00:00:00Z")]}, "unknown name 'expired'"),
        ({"groups": {"crew": [ANN]}}, "groups: 'crew'"),
        ({"groups": {"group:a@x.y": ["group:b@x.y"]}}, "group:b@x.y"),
        ({"roles": {"roles/pubsub.viewer": []}}, r"roles: 'roles/pubsub\.viewer'"),
        ({"roles": {"projects/p/roles/r": ["pubsub.topics.fly"]}}, "'pubsub.topics.fly' is no"),
        ({"bindings": {"flights": []}}, "bindings: 'flights'"),
        ({"bindings": {"projects/p/topics/a*": []}}, "a topic id"),
        ({"bindings": {"projects/*": []}}, "project: '\\*'"),
        ({"bindings": {TOPIC: [bound("pubsub.owner", ANN)]}}, r"roles/pubsub\.owner"),
        ({"bindings": {TOPIC: [bound("pubsub.viewer", "ann")]}}, r"\]\[0\]\.members: 'ann'"),
        ({"bindings": {TOPIC: [bound("pubsub.viewer", "group:a@x.y")]}}, "is not defined"),
        ({"bindings": {TOPIC: [{"role": "roles/viewer"}]}}, "members is missing"),
        ({"bindings": {TOPIC: [{**bound("pubsub.viewer", ANN), "expires": 1}]}}, "name 'expires'"),
        ({"service_agent": "service-{project}"}, "service_agent"),
        ({"issuers": [{"issuer": "a", "audience": "b"}]}, r"issuers\[0\]: keys is missing"),
        (
            {"issuers": [{"issuer": "a", "audience": "b", "keys": "k", "member": "user:a@b.c"}]},
            r"issuers\[0\]\.member: 'user:a@b\.c'",
        ),
    ],
)
def test_what_is_wrong_is_refused_naming_the_place(document: Any, told: str) -> None:
    with pytest.raises(InvalidArgument, match=told):
        read_policy(document)


def test_a_token_of_one_member_may_stand_twice() -> None:
    # one of them until it expires
    twice = [token(ANN), token(ANN, expires="2025-01-01T00:00:00Z")]
    authenticator = Authenticator(read_policy({"tokens": twice}), {})
    assert authenticator.authenticate(f"Bearer {token_of(ANN)}", NOW).member == ANN


def test_a_hash_may_be_written_in_capitals() -> None:
    # "by its SHA-256 in hexadecimal digits": certutil and others print them in capitals
    policy = read_policy({"tokens": [token(ANN, sha256=digest("secret").upper())]})
    assert Authenticator(policy, {}).authenticate("Bearer secret", NOW).member == ANN


def test_a_token_may_have_8192_characters() -> None:
    """Memory: a longer one is not looked at."""
    for size, is_known in ((8_192, True), (8_193, False)):
        policy = read_policy({"tokens": [token(ANN, sha256=digest("x" * size))]})
        authenticator, given = Authenticator(policy, {}), f"Bearer {'x' * size}"
        if is_known:
            assert authenticator.authenticate(given, NOW).member == ANN
        else:
            with pytest.raises(Unauthenticated):
                authenticator.authenticate(given, NOW)


def test_a_file_may_have_ten_million_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ "up to 10,000,000 are accepted"."""
    path = write(tmp_path / "policy.json")
    size = len(path.read_bytes())
    monkeypatch.setattr(policy_files, "_LARGEST", size)
    assert PolicyFile(path)
    monkeypatch.setattr(policy_files, "_LARGEST", size - 1)
    with pytest.raises(InvalidArgument, match=f"it has {size:,} bytes"):
        PolicyFile(path)


def test_a_token_in_the_place_of_its_hash_is_not_shown() -> None:
    with pytest.raises(InvalidArgument) as refused:
        read_policy({"tokens": [token(ANN, sha256="my-secret")]})
    assert "my-secret" not in str(refused.value)


def test_what_would_do_nothing_is_refused_by_name() -> None:
    conditional = {**bound("pubsub.viewer", ANN), "condition": {"expression": "true"}}
    with pytest.raises(Unimplemented, match=r"\[0\]\.condition: conditions are not evaluated"):
        read_policy({"bindings": {TOPIC: [conditional]}})
    fetched = {"issuer": "a", "audience": "b", "keys": "https://example.com/jwks"}
    with pytest.raises(Unimplemented, match=r"issuers\[0\]\.keys"):
        read_policy({"issuers": [fetched]})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("bindings: [", "neither YAML nor JSON"),
        ("bindings: {}\nbindings: {}", "'bindings' is given twice"),
        ('{"bindings": {"*": [], "*": []}}', r"'\*' is given twice"),
        ("bindings: !!python/object/apply:os.getcwd []", "neither YAML nor JSON"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(text)
    with pytest.raises(InvalidArgument, match=rf"policy-file: .*policy\.yaml.*{told}"):
        PolicyFile(path)
    with pytest.raises(InvalidArgument, match="it cannot be read"):
        PolicyFile(tmp_path / "absent.yaml")


def test_a_token_is_its_members_until_it_expires(tmp_path: Path) -> None:
    soon = {**token(BOB), "expires": "2026-01-01T00:00:10Z"}
    file = PolicyFile(write(tmp_path / "policy.json", tokens=[token(ANN), soon]))
    assert member(file, f"Bearer {token_of(ANN)}") == ANN
    assert member(file, f"bearer  {token_of(ANN)}".encode()) == ANN
    assert member(file, f"Bearer {token_of(BOB)}", NOW + timedelta(seconds=9)) == BOB
    assert member(file, f"Bearer {token_of(BOB)}", NOW + timedelta(seconds=10)) is None


@pytest.mark.parametrize(
    "authorization",
    [
        *("", "Bearer", "Bearer ", token_of(ANN), f"Basic {token_of(ANN)}"),
        *(f"Bearer {token_of(ANN)} x", f"Bearer {digest(token_of(ANN))}", "Bearer x"),
        *(f"Bearer {'x' * 100_000}", "Bearer a.b.c", "Bearer ..", "Bearer W10.e30.e30"),
        b"Bearer \xff\xfe",
    ],
)
def test_what_is_no_token_is_nobodys(tmp_path: Path, authorization: str | bytes) -> None:
    signed = RSAKey.generate_key(2048)
    issuer = issued(tmp_path, signed)
    file = PolicyFile(write(tmp_path / "policy.json", issuers=[issuer]))
    assert member(file, authorization) is None


def issued(directory: Path, *keys: Any, **more: Any) -> dict[str, Any]:
    """Write the public keys of an issuer; return its entry."""
    (directory / "issuer.json").write_text(json.dumps(KeySet(list(keys)).as_dict(private=False)))
    named = {"issuer": "https://issuer.example.com", "audience": "pubsub"}
    return {**named, "keys": "issuer.json", **more}


def signed_by(key: Any, algorithm: str = "RS256", **claims: Any) -> str:
    says = {
        "iss": "https://issuer.example.com",
        "aud": "pubsub",
        "exp": int(NOW.timestamp()) + 60,
        "email": "ann@example.com",
        **claims,
    }
    said = {name: value for name, value in says.items() if value is not None}
    header = {"alg": algorithm} if key.kid is None else {"alg": algorithm, "kid": key.kid}
    return f"Bearer {jwt.encode(header, said, key, algorithms=[algorithm])}"


def test_a_jwt_of_an_issuer_is_its_members(tmp_path: Path) -> None:
    key = RSAKey.generate_key(2048)
    file = PolicyFile(write(tmp_path / "policy.json", issuers=[issued(tmp_path, key)]))
    assert member(file, signed_by(key)) == ANN
    assert member(file, signed_by(key, aud=["other", "pubsub"])) == ANN
    now = int(NOW.timestamp())  # "seconds by which the clock of an issuer may be wrong": 10
    assert member(file, signed_by(key, exp=now - 9, nbf=now + 10)) == ANN


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://other.example.com"},
        {"iss": None},
        {"aud": "other"},
        {"aud": None},
        {"exp": int(NOW.timestamp()) - 11},
        {"exp": None},
        {"nbf": int(NOW.timestamp()) + 11},
        {"email": None},
        {"email": "ann@example.com,user:admin@example.com extra"},
        {"email": ["ann@example.com"]},
        {"email_verified": False},
        {"email_verified": "false"},
    ],
)
def test_a_jwt_that_says_something_else_is_nobodys(tmp_path: Path, claims: Any) -> None:
    key = RSAKey.generate_key(2048)
    file = PolicyFile(write(tmp_path / "policy.json", issuers=[issued(tmp_path, key)]))
    assert member(file, signed_by(key, **claims)) is None


def test_a_jwt_that_somebody_else_signed_is_nobodys(tmp_path: Path) -> None:
    key, other = RSAKey.generate_key(2048), RSAKey.generate_key(2048)
    file = PolicyFile(write(tmp_path / "policy.json", issuers=[issued(tmp_path, key)]))
    assert member(file, signed_by(other)) is None
    head, _, tail = signed_by(OctKey.generate_key(256), "HS256").rpartition(".")
    signature = hmac.digest(key.as_pem(private=False), head[len("Bearer ") :].encode(), "sha256")
    by_public_key = urlsafe_b64encode(signature).rstrip(b"=").decode()
    assert len(by_public_key) == len(tail)
    assert member(file, f"{head}.{by_public_key}") is None
    unsigned = signed_by(key).rpartition(".")[0]
    assert member(file, f"{unsigned}.") is None


def test_the_member_of_a_jwt_may_be_another_claim(tmp_path: Path) -> None:
    key = ECKey.generate_key("P-256")
    issuer = issued(tmp_path, key, member="principal://pool/subject/{sub}")
    file = PolicyFile(write(tmp_path / "policy.json", issuers=[issuer]))
    assert member(file, signed_by(key, "ES256", sub="7")) == "principal://pool/subject/7"


def test_an_issuer_may_stand_twice(tmp_path: Path) -> None:
    """ "JWTs are accepted of the issuers that the file names": each entry by its own keys.

    So it is while an issuer changes its keys, and where other tokens of it have other claims.
    """
    key, next_key = (RSAKey.generate_key(2048) for _ in range(2))
    (tmp_path / "next.json").write_text(json.dumps(KeySet([next_key]).as_dict(private=False)))
    by_name = issued(tmp_path, next_key, member="principal://pool/subject/{sub}")
    issuers = [issued(tmp_path, key), {**by_name, "keys": "next.json"}]
    issued(tmp_path, key)
    file = PolicyFile(write(tmp_path / "policy.json", issuers=issuers))
    assert member(file, signed_by(key)) == ANN
    assert member(file, signed_by(key, email=None, sub="7")) is None, "the other entry's keys"
    assert member(file, signed_by(next_key, sub="7")) == "principal://pool/subject/7"
    issuers[0] = {**issuers[0], "keys": "next.json"}
    file = PolicyFile(write(tmp_path / "policy.json", issuers=issuers))
    assert member(file, signed_by(next_key, email=None, sub="7")) == "principal://pool/subject/7"
    assert member(file, signed_by(next_key)) == ANN


def test_keys_that_are_no_public_keys_are_refused(tmp_path: Path) -> None:
    issuer = {**issued(tmp_path, RSAKey.generate_key(2048)), "keys": "absent.json"}
    with pytest.raises(InvalidArgument, match=r"issuers\[0\]\.keys"):
        PolicyFile(write(tmp_path / "policy.json", issuers=[issuer]))
    secret = OctKey.generate_key(256).as_dict(private=True)
    public = RSAKey.generate_key(2048).as_dict(private=False)
    for keys in ([secret], [public, secret]):
        (tmp_path / "absent.json").write_text(json.dumps({"keys": keys}))
        with pytest.raises(InvalidArgument, match="public keys are"):
            PolicyFile(write(tmp_path / "policy.json", issuers=[issuer]))


@pytest.mark.parametrize(
    "keys",
    [
        *("", "no JSON", "null", "[]", "{}", "7", '{"keys": 7}', '{"keys": null}', '{"keys": []}'),
        *('{"keys": [7]}', '{"keys": [{}]}', '{"keys": [{"kty": "RSA"}]}'),
        *('{"keys": [{"kty": ["RSA"]}]}', '{"keys": [{"kty": "RSA", "n": "!", "e": "AQAB"}]}'),
        '{"keys": [{"kty": "EC", "crv": "P-7", "x": "a", "y": "b"}]}',
        "[" * 100_000,
        '{"issuer": "https://accounts.example", "jwks_uri": "https://accounts.example/keys"}',
    ],
)
def test_what_is_no_set_of_keys_is_refused_naming_its_place(tmp_path: Path, keys: str) -> None:
    """As the discovery document, or a certificate, in place of the JWKS: an error, no traceback."""
    (tmp_path / "k.json").write_text(keys)
    issuers = [{**issued(tmp_path, RSAKey.generate_key(2048)), "keys": "k.json"}]
    with pytest.raises(
        InvalidArgument, match=r"issuers\[0\]\.keys: .*k\.json' is not a JWKS"
    ) as why:
        PolicyFile(write(tmp_path / "policy.json", issuers=issuers))
    assert "save the document at the issuer's jwks_uri" in str(why.value)


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    # "policy file reloaded when it changes"
    path = write(tmp_path / "policy.json", tokens=[token(ANN)])
    file = PolicyFile(path)
    assert not file.reload_if_changed()
    write(tmp_path / "new.json", tokens=[token(BOB)])
    os.replace(tmp_path / "new.json", path)
    assert file.reload_if_changed()
    assert (member(file, f"Bearer {token_of(ANN)}"), member(file, f"Bearer {token_of(BOB)}")) == (
        None,
        BOB,
    )
    assert not file.reload_if_changed()


def test_changed_keys_of_an_issuer_are_read_again(tmp_path: Path) -> None:
    key, next_key = (RSAKey.generate_key(2048, auto_kid=True) for _ in range(2))
    file = PolicyFile(write(tmp_path / "policy.json", issuers=[issued(tmp_path, key)]))
    issued(tmp_path, key, next_key)
    assert member(file, signed_by(next_key)) is None
    assert file.reload_if_changed()
    assert member(file, signed_by(next_key)) == ANN


def test_a_file_that_cannot_be_read_leaves_the_one_before_it_in_force(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path / "policy.json", tokens=[token(ANN)])
    file = PolicyFile(path)
    for wrong in ("{", '{"bindings": {"flights": []}}', None):
        path.unlink() if wrong is None else path.write_text(wrong)
        caplog.clear()
        with caplog.at_level(logging.ERROR, logger="pubsub_delta.server"):
            assert not file.reload_if_changed()
            assert not file.reload_if_changed()
        assert len(caplog.records) == 1  # told once, not at each look
        assert "the previous policy stays in force" in caplog.text
        assert member(file, f"Bearer {token_of(ANN)}") == ANN
    write(path, tokens=[token(BOB)])
    assert file.reload_if_changed()
    assert member(file, f"Bearer {token_of(BOB)}") == BOB
