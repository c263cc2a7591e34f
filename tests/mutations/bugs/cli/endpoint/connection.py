"""Seeded bugs of ``cli/endpoint/connection.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_endpoint_reached.py",
    "tests/unit/test_cli_endpoint.py",
    "tests/unit/test_cli_broken_servers.py",
)

BUGS = (
    Bug(
        "empty-file-of-certificates-trusts-all",
        "An empty file of certificates trusts the public authorities.",
        '    pem = _read(trusted, "endpoint_tls")\n',
        '    pem = _read(trusted, "endpoint_tls")\n'
        "    if not pem:\n"
        "        return grpc.ssl_channel_credentials(pem)\n",
    ),
    Bug(
        "no-response-is-a-success",
        "A status without a response is told as done.",
        "        if response is None:",
        '        if response is None and name == "Publish":',
    ),
    Bug(
        "server-that-was-started-again-is-not-found",
        "A shell tells for up to two minutes that a server is gone which was started again.",
        "RECONNECT_SECONDS = 1\n",
        "RECONNECT_SECONDS = 120\n",
    ),
)
