"""A server with a policy file while roles are given and taken: stored policies, open streams."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("grpc")
import grpc

from pubsub_delta.policy import redelivery
from pubsub_delta.policy.iam import Binding
from pubsub_delta.resources import DeadLetterPolicy, OidcToken, PushConfig, Subscription
from pubsub_delta.server.authorization import Authorizer
from pubsub_delta.server.grpc_services import IAM_POLICY, PUBLISHER, SERVICES, SUBSCRIBER
from pubsub_delta.server.stored_policies import CACHE_SECONDS, StoredPolicies
from tests.unit.access_files import (
    ADMIN,
    AGENT,
    ANN,
    BOB,
    SNAPSHOT,
    SUBSCRIPTION,
    TOPIC,
    bound,
    token,
)
from tests.unit.raw_calls import refused
from tests.unit.serving import LONG, eventually
from tests.unit.serving_access import World, grant, world

PUBLISH = {"topic": TOPIC, "messages": [{"data": b"late"}]}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "policy.json"


def test_a_stored_policy_is_in_force_at_once(path: Path) -> None:
    # "Get/SetIamPolicy exist already and are enforced only with this"
    with world(path) as server:
        ann = server.as_(ANN)
        with refused("PERMISSION_DENIED"):
            ann.call(PUBLISHER, "Publish", **PUBLISH)
        grant(server, TOPIC, bound("pubsub.publisher", ANN))
        ann.call(PUBLISHER, "Publish", **PUBLISH)
        with refused("PERMISSION_DENIED"):
            server.as_(BOB).call(PUBLISHER, "Publish", **PUBLISH)
        with refused("PERMISSION_DENIED"):
            ann.call(IAM_POLICY, "GetIamPolicy", resource=TOPIC)
        grant(server, TOPIC)
        with refused("PERMISSION_DENIED"):
            ann.call(PUBLISHER, "Publish", **PUBLISH)


def test_a_topic_that_is_created_anew_has_nothing_of_the_old_policy(path: Path) -> None:
    with world(path) as server:
        ann, admin = server.as_(ANN), server.as_(ADMIN)
        grant(server, TOPIC, bound("pubsub.publisher", ANN))
        ann.call(PUBLISHER, "Publish", **PUBLISH)
        admin.call(PUBLISHER, "DeleteTopic", topic=TOPIC)
        with refused("PERMISSION_DENIED"):
            ann.call(PUBLISHER, "Publish", **PUBLISH)
        admin.call(PUBLISHER, "CreateTopic", name=TOPIC)
        with refused("PERMISSION_DENIED"):
            ann.call(PUBLISHER, "Publish", **PUBLISH)


def test_what_another_process_deletes_grants_nothing_to_what_is_created_here(path: Path) -> None:
    with world(path) as server:
        grant(server, TOPIC, bound("pubsub.publisher", ANN))
        server.as_(ANN).call(PUBLISHER, "Publish", **PUBLISH)
        server.backend.store.delete_topic(TOPIC)
        server.as_(ADMIN).call(PUBLISHER, "CreateTopic", name=TOPIC)
        with refused("PERMISSION_DENIED"):
            server.as_(ANN).call(PUBLISHER, "Publish", **PUBLISH)


def test_an_expired_snapshot_grants_nothing_to_the_next_of_its_name(path: Path) -> None:
    with world(path) as server:
        grant(server, SNAPSHOT, bound("pubsub.viewer", ANN))
        server.as_(ANN).call(SUBSCRIBER, "GetSnapshot", snapshot=SNAPSHOT)
        server.backend.clock.advance(8 * 24 * 3600)
        made = {"name": SNAPSHOT, "subscription": SUBSCRIPTION}
        server.as_(ADMIN).call(SUBSCRIBER, "CreateSnapshot", **made)
        with refused("PERMISSION_DENIED"):
            server.as_(ANN).call(SUBSCRIBER, "GetSnapshot", snapshot=SNAPSHOT)


def test_bindings_that_would_grant_nothing_are_refused(path: Path) -> None:
    # "conditions in bindings refused by name if not evaluated"
    publisher = bound("pubsub.publisher", ANN)
    with world(path) as server:
        conditional = {**publisher, "condition": {"expression": "true", "title": "always"}}
        with refused("UNIMPLEMENTED", r"policy\.bindings\[0\]\.condition: 'always'"):
            grant(server, TOPIC, conditional, version=3)
        with refused("INVALID_ARGUMENT", "roles/pubsub.owner"):
            grant(server, TOPIC, bound("pubsub.owner", ANN))
        assert not server.as_(ADMIN).call(IAM_POLICY, "GetIamPolicy", resource=TOPIC).bindings


def test_what_another_process_stores_is_in_force_within_seconds() -> None:
    time = 0.0
    stored: dict[str, list[Binding]] = {}
    reads: list[float] = []

    def read() -> dict[str, list[Binding]]:
        reads.append(time)
        return dict(stored)

    known = StoredPolicies(read, lambda: time)
    assert known.cached() is None
    assert known.current() == {}
    stored[TOPIC] = [Binding("roles/pubsub.publisher", (ANN,))]
    time = CACHE_SECONDS - 0.1
    assert known.current() == {}
    time = CACHE_SECONDS
    assert known.cached() is None
    assert known.current() == stored
    assert reads == [0.0, CACHE_SECONDS]


def test_what_changed_while_it_was_read_is_read_again() -> None:
    stored = [{TOPIC: [Binding("roles/pubsub.publisher", (ANN,))]}, {}]

    def read() -> Any:
        found = stored.pop(0)
        if stored:
            known.forget()  # a role is taken now, and this read does not know
        return found

    known = StoredPolicies(read)
    assert known.current() == {}
    assert stored == []


def test_what_cannot_be_read_grants_nothing() -> None:
    time = 0.0

    def read() -> Any:
        if time:
            raise OSError("the storage is away")
        return {TOPIC: [Binding("roles/pubsub.publisher", (ANN,))]}

    known = StoredPolicies(read, lambda: time)
    assert known.current()
    time = CACHE_SECONDS
    with pytest.raises(OSError, match="away"):
        known.current()


class Streamed:
    """A StreamingPull of a member."""

    def __init__(self, server: World, member: str) -> None:
        method = SERVICES[SUBSCRIBER]["StreamingPull"]
        self._requests: queue.Queue[Any] = queue.Queue()
        self.request = method.request
        self.say(subscription=SUBSCRIPTION, stream_ack_deadline_seconds=10)
        ask = server.channel.stream_stream(
            f"/{SUBSCRIBER}/StreamingPull",
            request_serializer=method.request.SerializeToString,
            response_deserializer=method.response.FromString,
        )
        metadata = server.as_(member).metadata
        self._call = ask(iter(self._requests.get, None), metadata=metadata, timeout=LONG)
        self.messages: list[bytes] = []
        self.error: Any = None
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def say(self, **fields: Any) -> None:
        self._requests.put(self.request(**fields))

    def _listen(self) -> None:
        try:
            for response in self._call:
                self.messages += [each.message.data for each in response.received_messages]
        except grpc.RpcError as error:
            self.error = error
        self._requests.put(None)

    def ended(self) -> str:
        """Return the code with which the server ends it."""
        self._thread.join(LONG)
        assert self.error is not None
        return str(self.error.code().name)


TAKE: list[tuple[str, Callable[[World], Any]]] = [
    ("PERMISSION_DENIED", lambda server: server.write()),
    ("PERMISSION_DENIED", lambda server: grant(server, SUBSCRIPTION)),
    ("UNAUTHENTICATED", lambda server: server.write(tokens=[token(ADMIN)])),
]


@pytest.mark.parametrize(("code", "take"), TAKE)
def test_an_open_stream_ends_when_its_role_is_taken(
    path: Path, code: str, take: Callable[[World], Any]
) -> None:
    # "StreamingPull (also when a role is taken while it is open: within a stated time)"
    by_file = [] if "grant" in take.__code__.co_names else [(SUBSCRIPTION, SUBSCRIBERS)]
    with world(path, *by_file) as server:
        server.access._stream_check = 0.05
        if not by_file:
            grant(server, SUBSCRIPTION, SUBSCRIBERS)
        stream = Streamed(server, ANN)
        server.as_(ADMIN).call(PUBLISHER, "Publish", **PUBLISH)
        eventually(lambda: stream.messages == [b"late"])
        take(server)
        assert stream.ended() == code
        server.as_(ADMIN).call(PUBLISHER, "Publish", **PUBLISH)
        pulled = {"subscription": SUBSCRIPTION, "max_messages": 5}
        got = server.as_(ADMIN).call(SUBSCRIBER, "Pull", **pulled).received_messages
        assert [each.message.data for each in got] == [b"late"]
        assert stream.messages == [b"late"]


SUBSCRIBERS = bound("pubsub.subscriber", ANN)


def test_a_stream_whose_token_expires_goes_on(path: Path) -> None:
    may = [(SUBSCRIPTION, SUBSCRIBERS)]
    soon = [token(ADMIN), token(ANN, expires="2026-01-01T01:00:00Z")]
    with world(path, *may, tokens=soon) as server:
        server.access._stream_check = 0.02
        stream = Streamed(server, ANN)
        server.as_(ADMIN).call(PUBLISHER, "Publish", **PUBLISH)
        eventually(lambda: stream.messages)
        server.backend.clock.advance(3601)
        with refused("UNAUTHENTICATED"):
            server.as_(ANN).call(SUBSCRIBER, "Pull", subscription=SUBSCRIPTION, max_messages=1)
        for _ in range(3):
            server.as_(ADMIN).call(PUBLISHER, "Publish", **PUBLISH)
        eventually(lambda: len(stream.messages) >= 4)
        stream.say()
        assert stream.error is None


def test_the_token_of_a_push_goes_nowhere_else_without_its_account(path: Path) -> None:
    # "the caller … must have the iam.serviceAccounts.actAs permission for the service account"
    update = (SUBSCRIPTION, bound("pubsub.editor", ANN))
    account = "projects/p/serviceAccounts/push@example.com"
    asked = {
        "subscription": {"name": SUBSCRIPTION, "push_config": {"push_endpoint": "http://b.c/d"}},
        "update_mask": {"paths": ["push_config.push_endpoint"]},
    }
    with world(path, update) as server:
        store = server.backend.store
        signed = PushConfig("http://a.b/c", oidc_token=OidcToken("push@example.com"))
        store.update_subscription(SUBSCRIPTION, push_config=signed)
        with refused("PERMISSION_DENIED"):
            server.as_(ANN).call(SUBSCRIBER, "UpdateSubscription", **asked)
        server.write(update, (account, bound("iam.serviceAccountUser", ANN)))
        with refused("FAILED_PRECONDITION", "no keys"):  # permitted; this server has none
            server.as_(ANN).call(SUBSCRIBER, "UpdateSubscription", **asked)
        server.write(update)
        store.update_subscription(SUBSCRIPTION, push_config=PushConfig("http://a.b/c"))
        server.as_(ANN).call(SUBSCRIBER, "UpdateSubscription", **asked)


def test_a_token_that_a_push_has_only_since_the_check_goes_nowhere_else(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody who may use the account gives it to the subscription after the check."""
    asked = {
        "subscription": {"name": SUBSCRIPTION, "push_config": {"push_endpoint": "http://b.c/d"}},
        "update_mask": {"paths": ["push_config.push_endpoint"]},
    }
    signed = PushConfig("http://a.b/c", oidc_token=OidcToken("push@example.com"))
    with world(path, (SUBSCRIPTION, bound("pubsub.editor", ANN))) as server:
        store, check = server.backend.store, Authorizer.check
        store.update_subscription(SUBSCRIPTION, push_config=PushConfig("http://a.b/c"))
        left = [lambda: store.update_subscription(SUBSCRIPTION, push_config=signed)]

        async def checked(self: Authorizer, *of: Any) -> None:
            await check(self, *of)
            if left:
                left.pop()()

        monkeypatch.setattr(Authorizer, "check", checked)
        with refused("PERMISSION_DENIED"):
            server.as_(ANN).call(SUBSCRIBER, "UpdateSubscription", **asked)
        kept = store.get_subscription(SUBSCRIPTION).push_config
        assert kept is not None
        assert (kept.push_endpoint, kept.oidc_token) == (signed.push_endpoint, signed.oidc_token)


DEAD = "projects/p/topics/dead"
LETTERS = "projects/p/subscriptions/letters"
FORWARDS = [
    (DEAD, bound("pubsub.publisher", AGENT)),
    (SUBSCRIPTION, bound("pubsub.subscriber", AGENT)),
]


@pytest.fixture
def forwarding(path: Path) -> Iterator[World]:
    """A subscription with a dead-letter topic, and one that receives what is forwarded."""
    with world(path) as server:
        store = server.backend.store
        store.create_topic(DEAD)
        store.create_subscription(LETTERS, DEAD)
        store.update_subscription(SUBSCRIPTION, dead_letter_policy=DeadLetterPolicy(DEAD, 5))
        server.as_(ADMIN).call(PUBLISHER, "Publish", **PUBLISH)
        yield server


def attempt(server: World) -> int | None:
    """Let the delivery of the message fail; return its delivery attempt, None if none came."""
    admin = server.as_(ADMIN)
    ask = {"subscription": SUBSCRIPTION, "max_messages": 1, "return_immediately": True}
    received = admin.call(SUBSCRIBER, "Pull", **ask).received_messages
    if not received:
        return None
    nack = {"ack_ids": [received[0].ack_id], "ack_deadline_seconds": 0}
    admin.call(SUBSCRIBER, "ModifyAckDeadline", subscription=SUBSCRIPTION, **nack)
    return int(received[0].delivery_attempt)


def letters(server: World) -> list[Any]:
    ask = {"subscription": LETTERS, "max_messages": 5, "return_immediately": True}
    return list(server.as_(ADMIN).call(SUBSCRIBER, "Pull", **ask).received_messages)


@pytest.mark.parametrize("missing", [0, 1, None])
def test_without_its_two_roles_nothing_is_forwarded_and_no_attempt_counted(
    forwarding: World, missing: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    # "Pub/Sub only counts delivery attempts when a dead-letter topic is configured correctly and
    # includes the correct IAM permissions."
    left = [each for place, each in enumerate(FORWARDS) if place not in (missing, None)]
    forwarding.write(*(left if missing is not None else []))
    with caplog.at_level(logging.WARNING, logger="pubsub_delta.server"):
        assert [attempt(forwarding) for _ in range(8)] == [0] * 8
    assert letters(forwarding) == []
    text = "dead letters are not forwarded"
    told = [each.getMessage() for each in caplog.records if text in each.getMessage()]
    assert len(told) == 1
    role = "roles/pubsub.subscriber" if missing == 1 else "roles/pubsub.publisher"
    assert told[0].endswith(f"{AGENT} needs {role} on {SUBSCRIPTION if missing == 1 else DEAD}")


def test_the_agent_of_the_subscriptions_project_forwards_wherever_the_topic_is(path: Path) -> None:
    # "Dead-letter topics … To forward undeliverable messages to a dead-letter topic in another
    # project": the roles go to service-{project-number of the subscription}
    abroad = "projects/other/topics/dead"
    of_other = AGENT.replace("service-p@", "service-other@")
    policy = DeadLetterPolicy(abroad, 5)
    subscription = Subscription(SUBSCRIPTION, TOPIC, dead_letter_policy=policy)
    for agent, may in ((AGENT, True), (of_other, False)):
        roles = [
            (abroad, bound("pubsub.publisher", agent)),
            (SUBSCRIPTION, bound("pubsub.subscriber", agent)),
        ]
        with world(path, *roles) as server:
            assert server.access.may_forward(subscription) == may


@pytest.mark.parametrize("by_file", [True, False])
def test_with_its_two_roles_it_is_forwarded(forwarding: World, by_file: bool) -> None:
    # "Grant the publisher and subscriber roles to the Pub/Sub service account."
    assert [attempt(forwarding) for _ in range(3)] == [0] * 3
    if by_file:
        forwarding.write(*FORWARDS)
    else:
        for resource, binding in FORWARDS:
            grant(forwarding, resource, binding)
    told = list(iter(lambda: attempt(forwarding), None))
    # The nack before may be written by now, or be the first that counts.
    assert told in ([1, 2, 3, 4, 5], [2, 3, 4, 5])
    [letter] = letters(forwarding)
    assert letter.message.data == b"late"
    assert letter.message.attributes["CloudPubSubDeadLetterSourceDeliveryCount"] == "5"


def test_what_was_to_be_forwarded_waits_for_the_roles(forwarding: World) -> None:
    """Another process has decided to forward it, and was killed before it did."""
    other = forwarding.backend.open("p")
    for _ in range(5):
        other.pull(SUBSCRIPTION, 1).nack()
    subscription, topic = other.get_subscription(SUBSCRIPTION), other.get_topic(DEAD)

    def decide(state: Any) -> Any:
        return redelivery.decide_forwarding(state, subscription, topic.uid), None

    other._tables.ack_states.change(subscription.uid, decide)
    assert attempt(forwarding) is None
    assert letters(forwarding) == []
    forwarding.write(*FORWARDS)
    attempt(forwarding)
    eventually(lambda: letters(forwarding))
