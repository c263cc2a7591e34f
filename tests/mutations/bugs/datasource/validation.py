"""Seeded bugs of ``datasource/validation.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_data_source_checking.py",)

BUGS = (
    Bug(
        "attribute-keys-twice",
        "A task publishes a message of which an attribute appears twice.",
        'return bool(named.group_by(["row", "key"]).aggregate([]).num_rows == named.num_rows)',
        "return True",
    ),
    Bug(
        "texts-not-checked",
        "A task publishes a text that is not UTF-8.",
        "            column.validate(full=True)  # texts are UTF-8\n",
        "            column.validate()\n",
    ),
    Bug(
        "source-reserved-case",
        "A DataFrame can publish attributes with the reserved prefix in capitals.",
        "pc.starts_with(keys, pattern=RESERVED_PREFIX, ignore_case=True)",
        "pc.starts_with(keys, pattern=RESERVED_PREFIX)",
    ),
    Bug(
        "empty-attribute-keys-pass",
        "Spark publishes attributes with an empty key.",
        "_are_within(keys, 1, MAX_KEY_BYTES)",
        "_are_within(keys, 0, MAX_KEY_BYTES)",
    ),
    Bug(
        "reserved-keys-among-others",
        "The check by column accepts a reserved key of a message with other attributes.",
        "ignore_case=True)).as_py():\n        return False",
        "ignore_case=True)).as_py():\n        return len(values) > 1",
    ),
    Bug(
        "messages-without-data-end-a-publish",
        "A publish of messages without a column of data ends with an error.",
        'return pa.nulls(count, _DATA) if name == "data"',
        'return pa.nulls(_DATA, count) if name == "data"',
    ),
    Bug(
        "ten-attributes-are-looked-at-one-by-one",
        "Messages with as many attributes as are surely few are checked one by one.",
        "as_py() > _SURE_ATTRIBUTES",
        "as_py() >= _SURE_ATTRIBUTES",
    ),
)
