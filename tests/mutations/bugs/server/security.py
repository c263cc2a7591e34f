"""Seeded bugs of ``server/security.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_listening.py",
    "tests/unit/test_server_multiplexer.py",
    "tests/unit/test_server_rest.py",
    "tests/unit/test_server_command.py",
    "tests/unit/test_server_addresses.py",
    "tests/unit/test_server_values.py",
)

BUGS = (
    Bug(
        "port-of-many-digits",
        "A port of thousands of digits ends in no documented error.",
        'not re.fullmatch(r"[0-9]{1,5}", port)',
        "not port.isdecimal()",
    ),
    Bug(
        "json-asked-for-over-http-2",
        "With TLS, a client that offers both protocols is given the one of gRPC.",
        '["http/1.1", "h2"]',
        '["h2", "http/1.1"]',
    ),
    Bug(
        "server-imported-before-it-listens",
        "A server that is started again refuses its clients while it imports, and they back off.",
        "from pubsub_delta.addresses import is_loopback\n",
        "from pubsub_delta.addresses import is_loopback\n"
        "from pubsub_delta.server.grpc_services import grpc  # noqa: F401\n",
    ),
    Bug(
        "tls-without-tokens-is-enough",
        "A server with TLS that asks for no token is open to everybody who reaches it.",
        "protected = self.certificate is not None and asks_for_tokens",
        "protected = self.certificate is not None or asks_for_tokens",
    ),
    Bug(
        "the-last-port-is-refused",
        "The port 65535 is refused.",
        "or int(port) > 65535 or",
        "or int(port) >= 65535 or",
    ),
    Bug(
        "address-with-too-many-colons",
        "A server takes ::1:8085 for an address, and prints one that nobody can read.",
        "|[^:\\[\\]/]*",
        "|[^\\[\\]/]*",
    ),
    Bug(
        "token-that-nobody-can-send",
        "A server starts with a token that no header carries, and refuses every call.",
        "return bool(token) and token.isascii() and token.isprintable()",
        "return bool(token) and token.isprintable()",
    ),
    Bug(
        "an-absent-key-without-its-name",
        "The error of a key of TLS that is not there names no file.",
        "for file in (self.certificate, self.key):",
        "for file in (self.certificate,):",
    ),
    Bug(
        "a-port-beyond-all-ports",
        "An address with the port 65536 is taken.",
        "or int(port) > 65535 or",
        "or int(port) > 65536 or",
    ),
)
