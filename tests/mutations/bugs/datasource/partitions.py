"""Seeded bugs of ``datasource/partitions.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_data_source_parts.py",
    "tests/unit/test_data_source_consumer.py",
    "tests/lanes/test_data_source_reads.py",
)

BUGS = (
    Bug(
        "keys-torn-apart",
        "The messages of an ordered subscription are spread over parts.",
        "for positions in [every] if ordered else divide(every, files):",
        "for positions in divide(every, files):",
    ),
    Bug(
        "cut-off-end",
        "The first message of a part is in none.",
        ".max + 1 for each in range(1, pieces)]",
        ".max + 2 for each in range(1, pieces)]",
    ),
    Bug(
        "attempt-lost-on-the-way",
        "A task shows 0 delivery attempts of each message.",
        "            delivery_attempt=self.delivery_attempt,\n"
        "        )\n"
        "\n"
        "\n"
        "@dataclass(frozen=True)\n"
        "class SpansPartition",
        "        )\n\n\n@dataclass(frozen=True)\nclass SpansPartition",
    ),
    Bug(
        "size-of-a-partition-counts-on",
        "After the first full partition every file begins another one.",
        "            ends.append(first)\n            cost = 0\n",
        "            ends.append(first)\n",
    ),
    Bug(
        "the-first-two-parts-are-one",
        "A partition of the data source is larger than it should be.",
        "bounds = [0, *sorted(set(ends)), 2**63]",
        "bounds = [0, *sorted(set(ends))[1:], 2**63]",
    ),
    Bug(
        "a-file-that-just-fits-is-put-apart",
        "A task reads less than it may: a file that just fits begins another part.",
        "if cost and cost + of_file > most:",
        "if cost and cost + of_file >= most:",
    ),
    Bug(
        "part-of-a-file-costs-all-of-it",
        "A file of which few messages are left is divided as if all were.",
        "+ file.size * len(held) // file.rows",
        "+ file.size",
    ),
    Bug(
        "a-file-of-no-rows-ends-the-read",
        "A file whose statistics tell no rows ends the read with an error.",
        "if first is None or last is None or not file.rows:",
        "if first is None or last is None:",
    ),
)
