"""A server with a policy file, on a store in memory, and those who call it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import grpc

from pubsub_delta.server.authorization import Authorizer, may_forward, store_authorizer
from pubsub_delta.server.grpc_services import IAM_POLICY, SERVICES
from pubsub_delta.server.security import Security
from tests.unit.access_files import ADMIN, SNAPSHOT, SUBSCRIPTION, TOPIC, token_of, write
from tests.unit.raw_calls import Server
from tests.unit.serving import LONG
from tests.unit.serving_world import WorldBackend, served


class World:
    """A server with a policy file, on a store with a topic, a subscription and a snapshot."""

    def __init__(
        self, address: str, channel: Any, backend: WorldBackend, access: Authorizer, path: Path
    ) -> None:
        self.address, self.channel = address, channel
        self.backend, self.access, self.path = backend, access, path

    def as_(self, member: str | None) -> Caller:
        """Return the server as somebody calls it."""
        return Caller(self.channel, member)

    def write(self, *bound_to: Any, **more: Any) -> None:
        """Write the policy file anew; the server reads it."""
        write(self.path, *bound_to, **more)
        asyncio.run(self.access.reload())


class Caller(Server):
    """A server as a member calls it, or somebody without a token."""

    def __init__(self, channel: Any, member: str | None) -> None:
        super().__init__(channel)
        token = None if member is None else f"Bearer {token_of(member)}"
        self.metadata = () if token is None else (("authorization", token),)

    def send(self, service: str, method: str, request: Any) -> Any:
        of = SERVICES[service][method]
        ask = self.channel.unary_unary(
            f"/{service}/{method}",
            request_serializer=of.request.SerializeToString,
            response_deserializer=of.response.FromString,
        )
        return ask(request, timeout=LONG, metadata=self.metadata)


def grant(server: World, resource: str, *bindings: Any, **more: Any) -> Any:
    """Replace the stored policy of a resource, as the admin."""
    policy = {"bindings": bindings, **more}
    return server.as_(ADMIN).call(IAM_POLICY, "SetIamPolicy", resource=resource, policy=policy)


@contextmanager
def world(path: Path, *bound_to: Any, **more: Any) -> Iterator[World]:
    backend = WorldBackend()
    write(path, *bound_to, **more)
    access = store_authorizer(path, lambda: backend.store._tables, backend.now)
    backend._may_forward = may_forward(access)
    backend.store.create_topic(TOPIC)
    backend.store.create_subscription(SUBSCRIPTION, TOPIC)
    backend.store.create_snapshot(SNAPSHOT, SUBSCRIPTION)
    with (
        served(backend, security=Security(access=access)) as address,
        grpc.insecure_channel(address) as channel,
    ):
        yield World(address, channel, backend, access, path)


def rest(
    world: World, verb: str, target: str, body: Any, member: str | None
) -> tuple[int, dict[str, str], Any]:
    """Send a request; return the status, the headers and the JSON of the reply."""
    connection = HTTPConnection(world.address, timeout=LONG)
    token = {} if member is None else {"Authorization": f"Bearer {token_of(member)}"}
    sent = {"Content-Type": "application/json", **token}
    connection.request(verb, target, None if body is None else json.dumps(body), sent)
    reply = connection.getresponse()
    read = json.loads(reply.read())
    connection.close()
    return reply.status, dict(reply.getheaders()), read
