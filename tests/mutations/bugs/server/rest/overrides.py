"""Seeded bugs of ``server/rest/overrides.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_rest_frameworks.py",
    "tests/unit/test_rest_transcripts.py",
)

BUGS = (
    Bug(
        "query-of-any-length-in-the-body",
        "A query that comes in the body has no limit but that of bodies.",
        "if len(body) > _LONGEST_QUERY:",
        "if len(body) > 1_000 * _LONGEST_QUERY:",
    ),
    Bug(
        "override-unread",
        "A POST that means another method is of no method.",
        'if wanted and head.verb == "POST" else head',
        "if False else head",
    ),
    Bug(
        "override-of-any-method",
        "A GET that says it means DELETE deletes.",
        'if wanted and head.verb == "POST" else head',
        "if wanted else head",
    ),
    Bug(
        "override-without-its-query",
        "A GET that is sent as a POST, as its query is long, is refused for its body.",
        'if head.verb != "GET" or kind != _FORM or _HEADER not in head.headers:',
        "if True:",
    ),
)
