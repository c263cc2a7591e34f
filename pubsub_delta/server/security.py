"""Who may connect: addresses that may be listened to, certificates, and bearer tokens."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from hmac import compare_digest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pubsub_delta.addresses import is_loopback
from pubsub_delta.errors import FailedPrecondition, InvalidArgument
from pubsub_delta.server.protocol import grpc, health
from pubsub_delta.server.status import Unauthenticated, abort

if TYPE_CHECKING:  # it needs the store, which a client does not have
    from pubsub_delta.server.authorization import Authorizer


@dataclass(frozen=True)
class Security:
    """How a server is protected.

    ``certificate``, ``key``: PEM files for TLS, both or neither. ``token``: what clients send as
    ``authorization: Bearer …``. ``access``: whose tokens are accepted instead, and what each may
    do. ``insecure``: listen to a public address without these.
    """

    certificate: Path | None = None
    key: Path | None = None
    token: str | None = None
    access: Authorizer | None = None
    insecure: bool = False

    def check(self, host: str) -> None:
        """Refuse an address that others can reach, unless they are kept out or it is forced."""
        if (self.certificate is None) != (self.key is None):
            raise InvalidArgument(
                "tls: a certificate and its key are accepted, or neither; one of them is missing"
            )
        if self.token is not None and (not self.token or not self.token.isprintable()):
            raise InvalidArgument("token: it is empty or has control characters; text is accepted")
        if self.token is not None and self.access is not None:
            raise InvalidArgument(
                "token-file: it is given together with a policy file, whose tokens are accepted "
                "instead; one of the two is accepted"
            )
        protected = self.certificate is not None and self.tokens() is not None
        if not (is_loopback(host) or protected or self.insecure):
            raise FailedPrecondition(
                f"host: {host!r} can be reached by others, and the server has not both TLS and a "
                "token; --tls-certificate, --tls-key and --token-file or --policy-file protect it, "
                "a loopback address is always accepted, and --insecure listens all the same"
            )

    def tokens(self) -> Tokens | None:
        """Return what tells whether a token is accepted; None where none is asked for."""
        if self.access is not None:
            return self.access
        return None if self.token is None else ServerToken(self.token)

    def tls(self) -> ssl.SSLContext | None:
        """Return what connections are encrypted by; None for plaintext.

        Of a client that offers both protocols HTTP/1.1 is taken: gRPC offers HTTP/2 only, and
        whoever offers both asks for JSON.
        """
        if self.certificate is None or self.key is None:
            return None
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            for file in (self.certificate, self.key):
                file.read_bytes()  # its error names the file, that of the next line does not
            context.load_cert_chain(self.certificate, self.key, password="")
        except OSError as error:  # ssl.SSLError is one
            raise InvalidArgument(
                f"tls: {error}; PEM files of a certificate and its key, without a password, are "
                "accepted"
            ) from None
        context.set_alpn_protocols(["http/1.1", "h2"])
        return context


def split_address(text: str) -> tuple[str, int]:
    """Return the host and the port of ``host:port``; ``:port`` means this machine only.

    >>> split_address("localhost:8085"), split_address("[::1]:0"), split_address(":8085")
    (('localhost', 8085), ('[::1]', 0), ('localhost', 8085))
    """
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or not 0 <= int(port) <= 65535 or "/" in host:
        raise InvalidArgument(f"host-port: {text!r}; host:port is accepted, as in localhost:8085")
    return host or "localhost", int(port)


class Tokens(Protocol):
    """What tells whether a token is accepted."""

    def authenticate(self, authorization: str | bytes, /) -> object:
        """Raise Unauthenticated unless that is an authorization that is accepted."""


class ServerToken:
    """The one token of a server: who has it may do everything."""

    def __init__(self, token: str) -> None:
        self._expected = f"Bearer {token}".encode()

    def authenticate(self, authorization: str | bytes) -> None:
        """Raise Unauthenticated unless that is the authorization that is expected."""
        if not compare_digest(_bytes(authorization), self._expected):
            raise Unauthenticated(
                "authorization: the bearer token is missing or not the server's; "
                "metadata 'authorization: Bearer <token>' is accepted"
            )


class TokenInterceptor(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    """Refuses calls without a token; health checks need none."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def intercept_service(self, continuation: Any, details: Any) -> Any:
        """Let a call through, or answer it UNAUTHENTICATED."""
        handler = await continuation(details)
        if handler is None or details.method.startswith(f"/{health.SERVICE_NAME}/"):
            return handler
        try:
            self._tokens.authenticate(dict(details.invocation_metadata).get("authorization", ""))
        except Unauthenticated as error:
            return _refusing(handler, error)
        return handler


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode(errors="replace")


def _refusing(handler: Any, error: Unauthenticated) -> Any:
    async def refuse(_request: Any, context: Any) -> None:
        await abort(context, error)

    if handler.response_streaming:
        return grpc.stream_stream_rpc_method_handler(refuse)
    return grpc.unary_unary_rpc_method_handler(refuse)
