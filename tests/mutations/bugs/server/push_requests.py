"""Seeded bugs of ``server/push_requests.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_push_requests.py",
    "tests/unit/test_push_tokens.py",
    "tests/unit/test_server_push.py",
)

BUGS = (
    Bug(
        "publish-time-of-a-push-in-milliseconds",
        "A pushed message of a whole tenth of a millisecond says that it is older.",
        "if time.microsecond % 1000 else",
        "if time.microsecond % 100 else",
    ),
    Bug(
        "header-with-an-underscore",
        "An attribute passes for metadata if it is written with underscores.",
        'if not _RESERVED.fullmatch(name.replace("_", "-"))',
        "if not _RESERVED.fullmatch(name)",
    ),
    Bug(
        "authorization-by-an-attribute",
        "A publisher sets the Authorization header of pushes by an attribute.",
        "|authorization|host|",
        "|host|",
    ),
    Bug(
        "header-of-two-lines",
        "The value of an attribute adds headers to a push request.",
        "_NAME.fullmatch(each[0]) and _VALUE.fullmatch(each[1])]",
        "_NAME.fullmatch(each[0]) and _VALUE.match(each[1])]",
    ),
    Bug(
        "bare-data-has-no-type",
        "A push of bare data with metadata tells no type of its body.",
        'if not any(name.lower() == "content-type" for name, _ in metadata):',
        "if not metadata:",
    ),
    Bug(
        "push-has-two-content-types",
        "An attribute content-type in lower case does not replace the header of bare data.",
        'if not any(name.lower() == "content-type" for name, _ in metadata):',
        'if not any(name == "Content-Type" for name, _ in metadata):',
    ),
    Bug(
        "no-ordering-key-in-metadata",
        "The metadata of a push has no ordering key.",
        '        "x-goog-pubsub-ordering-key": received.ordering_key,\n',
        "",
    ),
)
