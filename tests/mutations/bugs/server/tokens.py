"""Seeded bugs of ``server/tokens.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_odd_calls.py",
    "tests/unit/test_server_rest.py",
    "tests/unit/test_server_access.py",
    "tests/unit/test_server_answers.py",
    "tests/unit/test_server_schemas.py",
    "tests/unit/test_server_command.py",
)

BUGS = (
    Bug(
        "a-scheme-in-one-case",
        "The token of a server is refused of clients that write its scheme in small letters.",
        'scheme.lower() == b"bearer"',
        'scheme == b"Bearer"',
    ),
    Bug(
        "a-token-of-any-scheme",
        "The token of a server is accepted by another scheme than Bearer.",
        ' and scheme.lower() == b"bearer"',
        "",
    ),
    Bug(
        "health-needs-a-token",
        "Health checks need a token.",
        'handler is None or details.method.startswith(f"/{health.SERVICE_NAME}/")',
        "handler is None",
    ),
    Bug(
        "token-and-a-wrong-clock",
        "A token that a wrong clock cannot check ends a call with UNKNOWN and the name of a class.",
        "except PubSubError as error:",
        "except Unauthenticated as error:",
    ),
)
