"""Seeded bugs of ``jobs/file_formats.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_job_file_formats.py",)

BUGS = (
    Bug(
        "files-of-two-formats",
        "A job reads files without a format in their names as those beside them.",
        "if len(known) > 1 or (asked is None and known and None in formats.values()):",
        "if len(known) > 1:",
    ),
    Bug(
        "packing-in-capitals",
        "A file that ends in .GZ is refused.",
        "packing.lower() not in UNPACKED",
        "packing not in UNPACKED",
    ),
    Bug(
        "packed-ending-of-capitals",
        "A file that ends in .GZ has no format.",
        'return ending if ending.lower() in PACKED else ""',
        'return ending if ending in PACKED else ""',
    ),
)
