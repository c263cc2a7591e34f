"""Seeded bugs of ``policy/streams.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_streams.py",
    "tests/unit/test_data_source_consumer.py",
    "tests/unit/test_streams_properties.py",
)

BUGS = (
    Bug(
        "micro-batch-gets-others",
        "A micro-batch that is run again is given other messages than before.",
        "if last is None or batch_id > last.batch_id:",
        "if last is None or batch_id >= last.batch_id:",
    ),
    Bug(
        "micro-batch-acks-itself",
        "A micro-batch that is run again acknowledges its own messages first.",
        "if last is None or batch_id <= last.batch_id or not last.positions:",
        "if last is None or batch_id < last.batch_id or not last.positions:",
    ),
    Bug(
        "micro-batch-given-back-forgotten",
        "A micro-batch that was given back is empty when it is run again.",
        "    return _with_stream(state, last)\n\n\ndef started_last",
        "    return state\n\n\ndef started_last",
    ),
    Bug(
        "micro-batch-beyond-the-last-attempt",
        "A micro-batch that is run again gets messages that have had all their attempts.",
        "if not is_exhausted(span.released(), terms.subscription)\n        and (part",
        "if (part",
    ),
    Bug(
        "forgotten-micro-batch-again",
        "A micro-batch that is forgotten gets other messages when it is run again.",
        "    if last is None or last.batch_id != batch_id:\n        return state, []\n    until",
        "    if last is None:\n        return begin(state, query_id, batch_id, None, terms, now)\n"
        "    if last.batch_id != batch_id:\n        return state, []\n    until",
    ),
    Bug(
        "a-drain-takes-what-comes-later",
        "A run with availableNow leases as many messages as there were, and newer ones first.",
        "terms, now, below=below)",
        "terms, now)",
    ),
    Bug(
        "newest-queries-forgotten",
        "Of more queries than are remembered the newest is forgotten.",
        "key=lambda stream: stream.lease_id)[-MAX_STREAMS:]",
        "key=lambda stream: stream.lease_id)[:MAX_STREAMS]",
    ),
)
