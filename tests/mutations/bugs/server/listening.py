"""Seeded bugs of ``server/listening.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_listening.py",
    "tests/unit/test_server_connections.py",
)

BUGS = (
    Bug(
        "port-that-is-taken-is-a-traceback",
        "A server whose port another program has ends with Python's error.",
        "    except OSError as error:\n        for each in made:",
        "    except PermissionError as error:\n        for each in made:",
    ),
    Bug(
        "a-port-for-each-address",
        "A server at a free port listens at another one for each address.",
        "        port = one.getsockname()[1]\n",
        "",
    ),
)
