"""Seeded bugs of ``cli/message_lines.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_publish.py",
    "tests/unit/test_cli_publish_schemas.py",
)

BUGS = (
    Bug(
        "bad-line-left-out",
        "A line that is no message is left out without a word.",
        "                wrong.add(record.place, str(error))\n",
        "                pass\n",
    ),
    Bug(
        "line-without-its-blanks",
        "The blanks around the text of a line are not published.",
        'line.removesuffix(b"\\r\\n" if line.endswith(b"\\r\\n") else b"\\n")',
        "line.strip()",
    ),
    Bug(
        "lines-are-counted-from-zero",
        "A bad line is named by the number of the line before it.",
        "enumerate(lines, start=1)",
        "enumerate(lines)",
    ),
    Bug(
        "blank-line-is-no-message",
        "A blank line of a text is left out, where each line is a message.",
        "return self.kind == JSONL and not line.strip()",
        "return not line.strip()",
    ),
    Bug(
        "batch-of-any-size",
        "A batch of lines has more bytes than a request may have.",
        "size + size_of(message) > MOST_BYTES",
        "size > MOST_BYTES",
    ),
    Bug(
        "options-before-the-object",
        "An attribute of the command line goes before that of an object.",
        "{**self.attributes, **attributes}",
        "{**attributes, **self.attributes}",
    ),
    Bug(
        "the-last-of-two",
        "Of two fields of one name the first is left out without a word.",
        "object_pairs_hook=unique_members",
        "object_pairs_hook=dict",
    ),
    Bug(
        "byte-order-mark-is-published",
        "The first message of a text of Windows begins with a byte order mark.",
        "        text = text.removeprefix(BOM.encode()) if number == 1 else text\n",
        "",
    ),
    Bug(
        "size-of-a-batch-goes-on",
        "After the bytes of one batch each line of a file is published by a commit of its own.",
        "            batch, size = Batch(), 0\n",
        "            batch = Batch()\n",
    ),
    Bug(
        "several-carriage-returns-go",
        "A line of a file loses all carriage returns at its end.",
        'text = line.removesuffix(b"\\r\\n" if line.endswith(b"\\r\\n") else b"\\n")',
        'text = line.rstrip(b"\\r\\n")',
    ),
    Bug(
        "ending-in-capitals-is-not-unpacked",
        "A file that ends in .GZ is read as it is.",
        "ending = Path(path).suffix.lower()\n    if ending in _PACKED",
        "ending = Path(path).suffix\n    if ending in _PACKED",
    ),
    Bug(
        "what-a-schema-adds-is-refused",
        "What was pulled of a topic with a schema cannot be published again.",
        "                if name not in ATTRIBUTES\n",
        "",
    ),
    Bug(
        "an-ordering-key-of-its-own-loses",
        "--ordering-key takes the place of the keys that objects have.",
        "ordering_key or self.ordering_key",
        "self.ordering_key or ordering_key",
    ),
    Bug(
        "a-carriage-return-at-the-end-is-lost",
        "A carriage return that ends the last line of a file is left out of its message.",
        'line.removesuffix(b"\\r\\n" if line.endswith(b"\\r\\n") else b"\\n")',
        'line.removesuffix(b"\\n").removesuffix(b"\\r")',
    ),
    Bug(
        "lines-are-not-held-against-the-schema",
        "A line that does not fit the schema of its topic is found after others are published.",
        "            broken = self.why_not(found.data)\n",
        "            broken = None\n",
    ),
)
