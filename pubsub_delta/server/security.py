"""The security of a server: its addresses, certificates and tokens.

It imports neither gRPC nor Arrow: a server checks its address and listens before those imports.
"""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pubsub_delta.addresses import is_loopback
from pubsub_delta.errors import FailedPrecondition, InvalidArgument

if TYPE_CHECKING:  # it needs the store, which a client does not have
    from pubsub_delta.server.authorization import Authorizer


@dataclass(frozen=True)
class Security:
    """The protection of a server.

    ``certificate``, ``key``: PEM files for TLS, both or neither. ``token``: the token that clients
    send as ``authorization: Bearer …``. ``access``: the policy file, whose tokens are accepted
    instead. ``insecure``: listen to a public address without these.
    """

    certificate: Path | None = None
    key: Path | None = None
    token: str | None = None
    access: Authorizer | None = None
    insecure: bool = False

    def check(self, host: str) -> None:
        """Raise FailedPrecondition for a public address without TLS and tokens, unless forced."""
        if (self.certificate is None) != (self.key is None):
            raise InvalidArgument(
                "tls: a certificate and its key are accepted, or neither; one of them is missing"
            )
        if self.token is not None and not can_be_sent(self.token):
            raise InvalidArgument(
                "token: it is empty, or has characters that no client can send; printable ASCII "
                "characters are accepted"
            )
        if self.token is not None and self.access is not None:
            raise InvalidArgument(
                "token-file: it is given together with a policy file, whose tokens are accepted "
                "instead; one of the two is accepted"
            )
        asks_for_tokens = self.token is not None or self.access is not None
        protected = self.certificate is not None and asks_for_tokens
        if not (is_loopback(host) or protected or self.insecure):
            raise FailedPrecondition(
                f"host: {host!r} can be reached by others, and the server lacks TLS or a "
                "token; --tls-certificate, --tls-key and --token-file or --policy-file protect it, "
                "a loopback address is always accepted, and --insecure listens all the same"
            )

    def tls(self) -> ssl.SSLContext | None:
        """Return the TLS context of connections; None for plaintext.

        If a client offers both protocols, HTTP/1.1 is chosen: gRPC offers HTTP/2 only, and clients
        that offer both ask for JSON.
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


def can_be_sent(token: str) -> bool:
    """Return whether gRPC's metadata and HTTP's headers can carry a token."""
    return bool(token) and token.isascii() and token.isprintable()


def split_address(text: str) -> tuple[str, int]:
    """Return the host and the port of ``host:port``; ``:port`` means this machine only.

    >>> split_address("localhost:8085"), split_address("[::1]:0"), split_address(":8085")
    (('localhost', 8085), ('[::1]', 0), ('localhost', 8085))
    """
    host, colon, port = text.rpartition(":")
    is_host = re.fullmatch(r"\[[^\[\]/]*\]|[^:\[\]/]*", host)
    if not colon or not re.fullmatch(r"[0-9]{1,5}", port) or int(port) > 65535 or not is_host:
        raise InvalidArgument(f"host-port: {text!r}; host:port is accepted, as in localhost:8085")
    return host or "localhost", int(port)
