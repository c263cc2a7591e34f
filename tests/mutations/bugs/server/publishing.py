"""Seeded bugs of ``server/publishing.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_gathering.py",
    "tests/unit/test_server_schemas.py",
    "tests/unit/test_server_rims.py",
    "tests/unit/test_rest_transcripts.py",
)

BUGS = (
    Bug(
        "misfit-fails-others",
        "A request that does not fit the schema fails those that share its commit.",
        "                    if len(batch) == 1:\n",
        "                    if batch:\n",
    ),
    Bug(
        "publish-of-clients-that-are-gone",
        "What waits to be published is published though its client is gone, and sends it again.",
        "if request in self._requests:",
        "if not self._requests:",
    ),
    Bug(
        "append-of-nothing",
        "Nothing is appended to a topic, after all who had something have gone.",
        "if not batch:  # its clients have gone",
        "if batch is None:",
    ),
    Bug(
        "a-batcher-with-an-append-is-idle",
        "A batcher whose append is under way is forgotten: requests of a topic are no more one.",
        "return self._task is None and not self._requests",
        "return not self._requests",
    ),
    Bug(
        "append-of-any-bytes",
        "All requests that wait are one append, however many bytes they have.",
        "if batch and (count > MOST_MESSAGES or size > MOST_BYTES):",
        "if batch and count > MOST_MESSAGES:",
    ),
    Bug(
        "one-misfit-fails-the-others",
        "A request that does not fit the schema fails the other requests of its append, too.",
        "                _fail([request], error)",
        "                _fail(batch, error)",
    ),
    Bug(
        "ids-of-the-first-request",
        "Requests in one append get the ids of the first.",
        "            start = end\n        self._published()",
        "        self._published()",
    ),
    Bug(
        "looked-for-before-it-was-deleted",
        "What is published to a topic that was created anew goes to the one before.",
        """\
            await self._gathered(expected)
            batch = self._take()
            try:
                append = await self._blocking(self._publisher)
""",
        """\
            append = await self._blocking(self._publisher)
            await self._gathered(expected)
            batch = self._take()
            try:
""",
    ),
    Bug(
        "published-for-who-left-during-the-look",
        "What waits for a topic that another process writes is published though its client left.",
        "batch = [request for request in batch if not request.done.done()]",
        "pass",
    ),
)
