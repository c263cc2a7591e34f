"""Bearer tokens of a server: their check, and the refusal of calls without one."""

from __future__ import annotations

from hmac import compare_digest
from typing import Any, Protocol

from pubsub_delta.errors import PubSubError
from pubsub_delta.server.grpc_services import grpc, health
from pubsub_delta.server.security import Security
from pubsub_delta.server.status import Unauthenticated, abort


def accepted_tokens(security: Security) -> Tokens | None:
    """Return the check of tokens; None if the server has no tokens."""
    if security.access is not None:
        return security.access
    return None if security.token is None else ServerToken(security.token)


class Tokens(Protocol):
    """Checks tokens."""

    def authenticate(self, authorization: str | bytes, /) -> object:
        """Raise Unauthenticated unless an ``authorization`` is accepted."""


class ServerToken:
    """The single token of a server, which permits everything."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    def authenticate(self, authorization: str | bytes) -> None:
        """Raise Unauthenticated unless an ``authorization`` has this token.

        RFC 9110, 11.1: the name of a scheme is in any case.
        """
        scheme, _, given = _bytes(authorization).partition(b" ")
        if not (compare_digest(given.lstrip(b" "), self._token) and scheme.lower() == b"bearer"):
            raise Unauthenticated(
                "authorization: the bearer token is missing or not the server's; "
                "metadata 'authorization: Bearer <token>' is accepted"
            )


class TokenInterceptor(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    """Refuses calls without a token; health checks need none."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def intercept_service(self, continuation: Any, details: Any) -> Any:
        """Pass a call on, or end it with the error of its token."""
        handler = await continuation(details)
        if handler is None or details.method.startswith(f"/{health.SERVICE_NAME}/"):
            return handler
        try:
            self._tokens.authenticate(dict(details.invocation_metadata).get("authorization", ""))
        except PubSubError as error:  # a token that expires cannot be checked by a wrong clock
            return _refusing(handler, error)
        return handler


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode(errors="replace")


def _refusing(handler: Any, error: PubSubError) -> Any:
    async def refuse(_request: Any, context: Any) -> None:
        await abort(context, error)

    if handler.response_streaming:
        return grpc.stream_stream_rpc_method_handler(refuse)
    return grpc.unary_unary_rpc_method_handler(refuse)
