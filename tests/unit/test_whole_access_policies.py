"""A policy file read whole: everything in it, and nothing else."""

from __future__ import annotations

from datetime import datetime

import pytest

from pubsub_delta.clock import UTC
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy.access import AccessPolicy, Issuer, StaticToken
from pubsub_delta.policy.access_files import read_policy
from pubsub_delta.policy.iam import Binding

ANN, BOB, CREW = "user:ann@example.com", "serviceAccount:bob@example.com", "group:crew@example.com"
RELAY = "projects/p/roles/relay"
DOCUMENT = {
    "tokens": [
        {"sha256": "A" * 64, "member": ANN, "expires": "2027-01-01T00:00:00Z"},
        {"sha256": "b" * 64, "member": BOB},
        {"sha256": "c" * 64, "member": "principal://example.com/ann"},
    ],
    "issuers": [
        {"issuer": "i", "audience": "a", "keys": "k.json"},
        {"issuer": "j", "audience": "b", "keys": "l.json", "member": "serviceAccount:{sub}"},
    ],
    "groups": {CREW: [ANN, BOB], "group:none@example.com": []},
    "roles": {RELAY: ["pubsub.topics.publish", "pubsub.subscriptions.consume"]},
    "bindings": {
        "*": [{"role": "roles/pubsub.viewer", "members": ["allUsers", "domain:example.com"]}],
        "projects/p": [
            {"role": RELAY, "members": [CREW, ANN]},
            {"role": "roles/pubsub.admin", "members": []},
        ],
        "projects/p/topics/flights": [{"role": RELAY, "members": ["allAuthenticatedUsers"]}],
        "projects/p/serviceAccounts/push@example.com": [],
    },
    "service_agent": "serviceAccount:agent-{project}@example.com",
}
POLICY = AccessPolicy(
    tokens=[
        StaticToken("a" * 64, ANN, datetime(2027, 1, 1, tzinfo=UTC)),
        StaticToken("b" * 64, BOB, None),
        StaticToken("c" * 64, "principal://example.com/ann", None),
    ],
    issuers=[
        Issuer("i", "a", "k.json", "user:{email}"),
        Issuer("j", "b", "l.json", "serviceAccount:{sub}"),
    ],
    groups={CREW: frozenset({ANN, BOB}), "group:none@example.com": frozenset()},
    roles={RELAY: frozenset({"pubsub.topics.publish", "pubsub.subscriptions.consume"})},
    bindings={
        "*": [Binding("roles/pubsub.viewer", ("allUsers", "domain:example.com"))],
        "projects/p": [Binding(RELAY, (CREW, ANN)), Binding("roles/pubsub.admin", ())],
        "projects/p/topics/flights": [Binding(RELAY, ("allAuthenticatedUsers",))],
        "projects/p/serviceAccounts/push@example.com": [],
    },
    service_agent="serviceAccount:agent-{project}@example.com",
)


def test_a_document_is_this_policy() -> None:
    assert read_policy(DOCUMENT) == POLICY


@pytest.mark.parametrize("part", DOCUMENT)
def test_each_part_may_be_left_out(part: str) -> None:
    """Except where another part names what it defines."""
    given = {name: of for name, of in DOCUMENT.items() if name != part}
    if part in ("groups", "roles"):
        with pytest.raises(InvalidArgument, match=r"^bindings\['projects/p'\]\[0\]"):
            read_policy(given)
        del given["bindings"]
    usual = AccessPolicy()
    parts = {name: getattr(POLICY if name in given else usual, name) for name in DOCUMENT}
    found = read_policy(given)
    for name, expected in parts.items():
        assert type(expected)(getattr(found, name)) == expected, name
