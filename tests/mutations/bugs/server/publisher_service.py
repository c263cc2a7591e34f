"""Seeded bugs of ``server/publisher_service.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_answers.py",
    "tests/unit/test_rest_transcripts.py",
)

BUGS = (
    Bug(
        "page-larger-than-clients-accept",
        "A page of a listing is larger than clients accept, and they get none of it.",
        "if fitting < len(page):",
        "if not fitting:",
    ),
    Bug(
        "request-of-many-messages-unbounded",
        "Only single messages are bounded, and not what a request holds together.",
        "size = sum(map(size_of, messages))",
        "size = max(map(size_of, messages))",
    ),
    Bug(
        "pages-of-any-size",
        "A page of a listing is as large as its client asks.",
        "size = min(request.page_size or MOST_LISTED, MOST_LISTED)",
        "size = request.page_size or MOST_LISTED",
    ),
    Bug(
        "publish-of-exactly-most-bytes-is-refused",
        "A publish request of exactly 10,000,000 bytes is refused.",
        "        if size > MOST_BYTES:",
        "        if size >= MOST_BYTES:",
    ),
)
