"""Seeded bugs of ``jobs/idempotency_ids.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_job_idempotency_ids.py",)

BUGS = (
    Bug(
        "null-is-an-empty-text",
        "The batch of rows without a value has the idempotency id of those with an empty one.",
        "if value is not None:",
        "if value:",
    ),
    Bug(
        "digest-of-a-part",
        "Two long values have one idempotency id, and the second is skipped.",
        "hashlib.sha256(written).hexdigest()",
        "hashlib.sha256(written[:LONGEST_ID]).hexdigest()",
    ),
    Bug(
        "an-idempotency-id-of-many-bytes",
        "An idempotency ID of a batch is shortened by characters, and is too long in bytes.",
        "if len(written) > LONGEST_ID:",
        "if len(id_) > LONGEST_ID:",
    ),
    Bug(
        "long-ids-too-long",
        "An idempotency id of a long value has more than 256 bytes.",
        "written[: LONGEST_ID - len(ending)]",
        "written[:LONGEST_ID]",
    ),
    Bug(
        "a-column-with-a-slash",
        "The ids of two columns and values can be the same.",
        "{quote(column, safe='')}",
        "{quote(column)}",
    ),
)
