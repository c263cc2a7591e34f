"""Seeded bugs of ``cli/endpoint/errors.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_endpoint.py",
    "tests/unit/test_cli_endpoint_reached.py",
    "tests/unit/test_cli_broken_servers.py",
)

BUGS = (
    Bug(
        "ids-that-are-not-named-fail",
        "An ack id that a server did not name is taken for one that failed, whatever the code.",
        "unnamed = INVALID_ACK_ID if self.code == InvalidArgument.code else OF_OTHERS",
        "unnamed = INVALID_ACK_ID",
    ),
    Bug(
        "details-that-cannot-be-read-hide-an-error",
        "The error of a server is not told whose details cannot be read.",
        "    except DecodeError:",
        "    except UnicodeError:",
    ),
    Bug(
        "detail-that-cannot-be-read-hides-an-error",
        "A detail that cannot be read hides the error of a server.",
        "    with suppress(DecodeError):",
        "    with suppress(UnicodeError):",
    ),
    Bug(
        "server-that-died-is-said-to-have-done-nothing",
        "A request that a server may have carried out before it died is told as never sent.",
        "        if not text.startswith(_NOT_CONNECTED):",
        "        if False:",
    ),
    Bug(
        "unknown-host-may-have-published",
        "A request to a host without an address is told as one that may have succeeded.",
        '"errors resolving", ',
        "",
    ),
)
