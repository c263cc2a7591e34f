"""Bugs that a reader found who took the guide's pages about messages at their word."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_A_READER_OF_MESSAGES = (
    Bug(
        "lines-are-not-held-against-the-schema",
        "A line that does not fit the schema of its topic is found after others are published.",
        "cli/message_lines.py",
        "            broken = self.why_not(found.data)\n",
        "            broken = None\n",
    ),
    Bug(
        "newest-revision-alone",
        "A line is held against the newest revision alone, and refused if it fits an earlier one.",
        "cli/topic_schemas.py",
        "tuple(chosen))",
        "tuple(chosen[:1]))",
    ),
    Bug(
        "refused-line-takes-its-batch",
        "The lines before one that a publish has refused are not published.",
        "cli/publish.py",
        "(batch.part(index + 1), batch.part(0, index))",
        "(batch.part(index + 1),)",
    ),
    Bug(
        "refused-by-its-place-in-a-batch",
        "A message that a publish has refused is named by its place in the batch.",
        "cli/publish.py",
        '        raise InvalidArgument(f"{source}: {record.place}: {why}") from None\n',
        "        raise error\n",
    ),
    Bug(
        "avro-data-without-its-field",
        "Avro's binary data that does not fit is told without its field.",
        "policy/schemas/avro_binary.py",
        '                    why.path.insert(0, field["name"])\n',
        "                    pass\n",
    ),
    Bug(
        "unknown-number-without-its-fields",
        "An unknown field of Protocol Buffers is told without the fields around it.",
        "policy/schemas/protobuf.py",
        "_unknown_field(each, (*within, field.name))",
        "_unknown_field(each, within)",
    ),
    Bug(
        "int-of-any-size",
        "Avro's binary data has an int of more than 32 bits, as fastavro reads it.",
        "policy/schemas/avro.py",
        "(self._is_of_bits(read) and self._writes(read, data))",
        "self._writes(read, data)",
    ),
    Bug(
        "walked-int-of-any-size",
        "In Avro's binary data of a type within itself an int has more than 32 bits.",
        "policy/schemas/avro_binary.py",
        "        elif kind in BITS and not fits(number, kind):\n",
        "        elif kind in BITS and False:\n",
    ),
    Bug(
        "larger-int-hides-the-others",
        "A stored int of more than 32 bits keeps all messages from being read as columns.",
        "policy/schemas/avro.py",
        '    if type_ == "int" and not fits(value, "int"):',
        "    if False:",
    ),
    Bug(
        "boolean-of-any-byte",
        "Any byte is a boolean of Avro, which other readers take for the other one.",
        "policy/schemas/avro_binary.py",
        "data[at] > 1",
        "data[at] > 255",
    ),
    Bug(
        "published-again-with-its-schema",
        "The console publishes a message again with what its schema has added, which is refused.",
        "console/message_page.py",
        " if k not in ATTRIBUTES}",
        "}",
    ),
    Bug(
        "again-by-its-place",
        "A message that is refused when it is published again is named by its place in a request.",
        "console/message_page.py",
        'return InvalidArgument(f"message {messages[index].message_id}: {why}")',
        "return error",
    ),
    Bug(
        "misfit-beside-the-form",
        "What does not fit a schema is told above the console's form, and not at its field.",
        "console/publishing.py",
        "form.add_error(_of_field(error), _FIELDS)",
        "form.add_error(error, _FIELDS)",
    ),
    Bug(
        "a-pass-for-each-id",
        "A search among ids goes through all before each of them: among a million it takes hours.",
        "ids.py",
        "zip(within, islice(self, within.start, within.stop), strict=True)",
        "((each, self[each]) for each in within)",
    ),
)
