"""Seeded bugs of ``policy/json_texts.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_schema_protobuf_json.py",
    "tests/unit/test_target_rows.py",
    "tests/unit/test_rest_transcoding.py",
)

BUGS = (
    Bug(
        "digits-of-any-script",
        "A text is a number with digits of any script, which JSON's other readers do not take.",
        r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?",
        r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?",
    ),
    Bug(
        "base64-of-one-alphabet",
        "Bytes in JSON may not be in the base64 of URLs.",
        "(?:[A-Za-z0-9+/_-]{4})*(?:[A-Za-z0-9+/_-]{2,3}={0,2})?",
        "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2,3}={0,2})?",
    ),
)
