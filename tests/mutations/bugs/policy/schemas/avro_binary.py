"""Seeded bugs of ``policy/schemas/avro_binary.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_schema_avro_binary.py",
    "tests/unit/test_schema_avro.py",
    "tests/unit/test_schema_sizes.py",
    "tests/unit/test_schema_paths.py",
)

BUGS = (
    Bug(
        "bytes-left-over",
        "Bytes after the end of an Avro message are accepted.",
        "        if end < len(data):",
        "        if end > len(data):",
    ),
    Bug(
        "levels-without-end",
        "Data of a type within itself is read however deep it is nested.",
        "            if level == MOST_LEVELS:",
        "            if level < 0:",
    ),
    Bug(
        "a-block-with-a-size-is-misread",
        "Valid Avro with blocks that carry their size is refused.",
        "                count = -count\n                _, at = _number(data, at)\n",
        "                count = -count\n",
    ),
    Bug(
        "named-types-not-walked",
        "A recursive type, named within itself, is read without a check of its depth.",
        "return _claims(schema, named, (), set())",
        "return _claims(schema, {}, (), set())",
    ),
    Bug(
        "avro-data-without-its-field",
        "Avro's binary data that does not fit is told without its field.",
        '                    why.path.insert(0, field["name"])\n',
        "                    pass\n",
    ),
    Bug(
        "walked-int-of-any-size",
        "In Avro's binary data of a type within itself an int has more than 32 bits.",
        "        elif kind in BITS and not fits(number, kind):\n",
        "        elif kind in BITS and False:\n",
    ),
    Bug(
        "boolean-of-any-byte",
        "Any byte is a boolean of Avro, which other readers take for the other one.",
        "data[at] > 1",
        "data[at] > 255",
    ),
    Bug(
        "items-of-a-sized-block-are-passed-over",
        "The items of blocks that tell their size are taken for what follows them.",
        "count = -count",
        "count = 0",
    ),
)
