"""The connection to a server: address, TLS, token, and unary calls."""

from __future__ import annotations

import re
import ssl
from pathlib import Path
from typing import Any

from pubsub_delta.addresses import is_loopback
from pubsub_delta.cli.endpoint.errors import error_of
from pubsub_delta.cli.settings import Settings
from pubsub_delta.cli.token_files import read_token
from pubsub_delta.errors import FailedPrecondition, InvalidArgument, Unknown
from pubsub_delta.server.grpc_services import SERVICES, grpc
from pubsub_delta.server.security import can_be_sent, split_address

ANSWER_SECONDS = 5
"""The timeout of the connection."""
RECONNECT_SECONDS = 1
"""The pause after a connection that failed, as in a shell whose server is started again."""
CALL_SECONDS = 120
"""The timeout of a call: a commit may be slow, and wait for others."""
PUBLIC = "public"
"""Stands for the authorities that gRPC trusts, in place of a PEM file."""

_HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]")


class Connection:
    """Calls methods of one server. It connects at the first call.

    Args:
        channel: the gRPC channel.
        address: the address of the server, for errors.
        token: the bearer token, or None.
        call_seconds: the timeout of a call.
    """

    def __init__(
        self, channel: Any, address: str, token: str | None, call_seconds: float = CALL_SECONDS
    ) -> None:
        self._channel = channel
        self._address = address
        self._metadata = () if token is None else (("authorization", f"Bearer {token}"),)
        self._call_seconds = call_seconds

    def send(self, service: str, name: str, request: Any) -> Any:
        """Call a method of a service, and return its response.

        Errors of the server and of the connection are raised as errors of the library.
        """
        method = SERVICES[service][name]
        ask = self._channel.unary_unary(
            f"/{service}/{name}",
            request_serializer=method.request.SerializeToString,
            response_deserializer=method.response.FromString,
        )
        try:
            response = ask(request, timeout=self._call_seconds, metadata=self._metadata)
        except grpc.RpcError as error:
            raise error_of(error, self._address, self._call_seconds) from None
        if response is None:  # gRPC: the status is OK, and no whole message came before it
            raise Unknown(
                f"endpoint: {self._address} sent no response to {name}; it may have carried out "
                "the request: ask it, and check what is between it and here"
            )
        return response


def connection_of(settings: Settings) -> Connection:
    """Return the connection of the settings; InvalidArgument if they are not valid."""
    assert settings.endpoint is not None
    host = _host_of(settings.endpoint)
    credentials, token = _credentials(settings.endpoint_tls), _token(settings.endpoint_token_file)
    if token is not None and credentials is None and not is_loopback(host):
        raise FailedPrecondition(
            f"endpoint_token_file: without TLS others could read the token on its way to {host}; "
            "add --endpoint-tls, or use an address of this machine"
        )
    options = [
        ("grpc.max_receive_message_length", -1),
        # gRPC uses the reconnect backoff as the timeout of an attempt.
        ("grpc.min_reconnect_backoff_ms", ANSWER_SECONDS * 1000),
        # Until then it tells the old error, though the server may have been started again.
        ("grpc.initial_reconnect_backoff_ms", RECONNECT_SECONDS * 1000),
        ("grpc.max_reconnect_backoff_ms", RECONNECT_SECONDS * 1000),
        ("grpc.enable_http_proxy", int(not is_loopback(host))),
    ]
    channel = (
        grpc.insecure_channel(settings.endpoint, options)
        if credentials is None
        else grpc.secure_channel(settings.endpoint, credentials, options)
    )
    return Connection(channel, settings.endpoint, token)


def _host_of(endpoint: str) -> str:
    try:
        host, port = split_address(endpoint)
    except InvalidArgument:
        host, port = "", 0
    if not port or not _HOST.fullmatch(host) or endpoint.startswith(":"):
        raise InvalidArgument(
            f"endpoint: {endpoint!r} is not the address of a server; host:port is accepted, as in "
            "localhost:8085"
        )
    return host


def _credentials(trusted: str | None) -> Any:
    """Return the channel credentials; None for plaintext."""
    if trusted is None:
        return None
    if trusted == PUBLIC:
        return grpc.ssl_channel_credentials()
    pem = _read(trusted, "endpoint_tls")
    try:  # gRPC trusts public authorities where a file is empty
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(
            cadata=pem.decode("ascii", "ignore")
        )
    except (ssl.SSLError, ValueError) as error:
        raise InvalidArgument(
            f"endpoint_tls: {trusted!r} has no certificate ({error}); a PEM file with the "
            "certificate of the server or of its authority is accepted"
        ) from None
    return grpc.ssl_channel_credentials(pem)


def _token(file: str | None) -> str | None:
    token = read_token(None if file is None else Path(file), "endpoint_token_file")
    if token is None:
        return None
    if not can_be_sent(token):
        raise InvalidArgument(
            f"endpoint_token_file: the content of {file!r} is not a token; printable ASCII "
            "characters are accepted"
        )
    return token


def _read(file: str, setting: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        raise InvalidArgument(
            f"{setting}: {file!r} cannot be read ({error}); a file is accepted"
        ) from None
