"""Seeded bugs of ``console/message_data.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_schemas.py",
    "tests/unit/test_console_values.py",
    "tests/unit/test_console_messages.py",
    "tests/unit/test_console_whole_pages.py",
    "tests/unit/test_console_whole_answers.py",
    "tests/unit/test_console_fields_and_lines.py",
)

BUGS = (
    Bug(
        "text-cut-in-a-character",
        "A text that is cut within a character of four bytes is shown in hexadecimal alone.",
        "for cut in range(4 if len(data) < whole else 1):",
        "for cut in range(3 if len(data) < whole else 1):",
    ),
    Bug(
        "bytes-shown-as-text",
        "Bytes whose first letters are a text are shown as one, without the others.",
        "for cut in range(4 if len(data) < whole else 1):",
        "for cut in range(4):",
    ),
    Bug(
        "list-of-a-schema-is-a-text",
        "A list within a message is shown as Python writes it.",
        "    if isinstance(value, list):\n        return [",
        "    if isinstance(value, tuple):\n        return [",
    ),
    Bug(
        "bytes-of-a-schema-are-pythons",
        "Bytes within a message are shown as b'…'.",
        '        return value.hex(" ")\n    return _Number',
        "        return str(value)\n    return _Number",
    ),
    Bug(
        "map-of-a-schema-is-a-list",
        "A map within a message is shown as a list of pairs.",
        "all(isinstance(each, tuple) for each in value):",
        "all(isinstance(each, dict) for each in value):",
    ),
    Bug(
        "a-whole-text-is-a-beginning",
        "A text that is shown whole is said to be cut off.",
        "is_cut = len(shown) < len(text) or",
        "is_cut = len(shown) <= len(text) or",
    ),
    Bug(
        "a-large-text-as-a-tree",
        "A page draws a tree of JSON of any size.",
        "if len(data) > MAX_TEXT_BYTES or data.lstrip()",
        "if data.lstrip()",
    ),
)
