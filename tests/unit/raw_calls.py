"""Calls of a server as raw stubs make them: without what a library does around them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import pytest

from pubsub_delta.server.grpc_services import SERVICES
from tests.unit.serving import LONG


class Server:
    """A server at the other end of a channel."""

    def __init__(self, channel: Any) -> None:
        self.channel = channel

    def call(self, service: str, method: str, **fields: Any) -> Any:
        """Call a method with the fields of its request."""
        return self.send(service, method, SERVICES[service][method].request(**fields))

    def send(self, service: str, method: str, request: Any) -> Any:
        """Call a method with a request, or with the bytes of one."""
        of = SERVICES[service][method]
        write = bytes if isinstance(request, bytes) else of.request.SerializeToString
        ask = self.channel.unary_unary(
            f"/{service}/{method}",
            request_serializer=write,
            response_deserializer=of.response.FromString,
        )
        return ask(request, timeout=LONG)


@contextmanager
def refused(code: str, told: str | None = None) -> Iterator[Any]:
    """Expect an error of a canonical code, with a text."""
    with pytest.raises(grpc.RpcError, match=told) as raised:
        yield raised
    error: Any = raised.value
    assert error.code().name == code, error.details()
