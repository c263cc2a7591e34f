"""``add-iam-policy-binding`` with a server: the binding is stored, and the server goes by it."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("grpc")
import grpc

from pubsub_delta.cli.endpoint.client import EndpointClient
from pubsub_delta.cli.endpoint.connection import Connection
from pubsub_delta.cli.endpoint.policies import add_binding
from pubsub_delta.errors import Aborted
from tests.unit.access_files import ADMIN, ANN, BOB, TOPIC, token_of
from tests.unit.raw_calls import Server, refused
from tests.unit.serving_access import World, world
from tests.unit.serving_world import Terminal, WorldBackend, served

PUBLISH = {"topic": TOPIC, "messages": [{"data": b"late"}]}
PUB = "google.pubsub.v1.Publisher"


def terminal(server: World, directory: Path, member: str) -> Terminal:
    """Return command lines with the token of a member."""
    (directory / "token").write_text(token_of(member))
    made = Terminal(server.backend, server.address)
    made.variables["PUBSUB_DELTA_ENDPOINT_TOKEN_FILE"] = str(directory / "token")
    return made


def test_a_role_that_is_granted_is_in_force(tmp_path: Path) -> None:
    # "so that the grants of the reference's dead-letter pages mean something"
    grant = f"topics add-iam-policy-binding {TOPIC} --role=roles/pubsub.publisher --member="
    with world(tmp_path / "policy.json") as server:
        with refused("PERMISSION_DENIED"):
            server.as_(ANN).call(PUB, "Publish", **PUBLISH)
        for member in (ANN, ANN, BOB):
            done = terminal(server, tmp_path, ADMIN).run(f"{grant}{member}")
            assert (done.exit_code, done.stderr) == (
                0,
                f"Updated IAM policy for topic [{TOPIC}].\n",
            )
        for member in (ANN, BOB):
            server.as_(member).call(PUB, "Publish", **PUBLISH)
        stored = server.as_(ADMIN).call("google.iam.v1.IAMPolicy", "GetIamPolicy", resource=TOPIC)
        assert [list(each.members) for each in stored.bindings] == [[ANN, BOB]]
        denied = terminal(server, tmp_path, ANN).run(f"{grant}{ANN}")
        assert "PERMISSION_DENIED: User not authorized" in denied.stderr
        wrong = terminal(server, tmp_path, ADMIN).run(f"{grant}ann")
        assert "INVALID_ARGUMENT" in wrong.stderr


class Crossed(EndpointClient):
    """Somebody else changes the policy between two calls, so many times."""

    times = 1

    def call(self, method: str, /, **fields: object) -> object:
        if method == "SetIamPolicy" and self.times:
            self.times -= 1
            other = EndpointClient(self.connection, self.project)
            add_binding(other, TOPIC, BOB, f"roles/pubsub.{'viewer' if self.times else 'editor'}")
            raise Aborted("policy.etag: the policy was changed since it was read")
        return super().call(method, **fields)


def test_what_others_grant_meanwhile_is_kept(tmp_path: Path) -> None:
    with world(tmp_path / "policy.json") as server:
        connection = Connection(server.channel, server.address, token_of(ADMIN))
        add_binding(Crossed(connection, "p"), TOPIC, ANN, "roles/pubsub.publisher")
        stored = server.as_(ADMIN).call("google.iam.v1.IAMPolicy", "GetIamPolicy", resource=TOPIC)
        roles = {each.role: list(each.members) for each in stored.bindings}
        assert roles == {"roles/pubsub.editor": [BOB], "roles/pubsub.publisher": [ANN]}
        stubborn = Crossed(connection, "p")
        stubborn.times = 5
        with pytest.raises(Aborted):
            add_binding(stubborn, TOPIC, ANN, "roles/pubsub.viewer")


def test_a_role_is_granted_beside_a_binding_with_a_condition() -> None:
    """Who is granted a role without a condition has it whatever another binding asks for."""
    backend, role = WorldBackend(), "roles/pubsub.publisher"
    backend.open("p").create_topic("flights")
    name = "projects/p/topics/flights"
    bound = {"role": role, "members": [ANN], "condition": {"expression": "false", "title": "no"}}
    with served(backend) as address, grpc.insecure_channel(address) as channel:
        server = Server(channel)
        policy = {"version": 3, "bindings": [bound]}
        server.call("google.iam.v1.IAMPolicy", "SetIamPolicy", resource=name, policy=policy)
        for member in (ANN, BOB):
            add = f"topics add-iam-policy-binding flights --role={role} --member={member}"
            done = Terminal(backend, address).run(add, PUBSUB_DELTA_PROJECT="p")
            assert done.exit_code == 0, done.stderr
        asked = {"resource": name, "options": {"requested_policy_version": 3}}
        stored = server.call("google.iam.v1.IAMPolicy", "GetIamPolicy", **asked)
    found = [(each.HasField("condition"), list(each.members)) for each in stored.bindings]
    assert found == [(True, [ANN]), (False, [ANN, BOB])]
