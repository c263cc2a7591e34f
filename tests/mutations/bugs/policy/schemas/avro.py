"""Seeded bugs of ``policy/schemas/avro.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_schema_avro_binary.py",
    "tests/unit/test_schema_avro.py",
    "tests/unit/test_schema_defaults.py",
    "tests/unit/test_schema_logical_types.py",
    "tests/unit/test_schema_sizes.py",
    "tests/unit/test_schema_typing.py",
)

BUGS = (
    Bug(
        "only-reads-what-was",
        "A new Avro revision need not be readable by those that know the earlier one.",
        "((one, other), (other, one))",
        "((one, other),)",
    ),
    Bug(
        "a-date-must-be-one-of-pythons",
        "A message in Avro's binary encoding is refused for a date that JSON may have.",
        "read = self._read(data, self._plain)",
        "read = self._read(data, self.schema)",
    ),
    Bug(
        "decimal-of-38-digits-is-text",
        "A decimal field of 38 digits is read as text.",
        "return DecimalOf(precision, scale) if precision <= MOST_DIGITS else TEXT",
        "return DecimalOf(precision, scale) if precision < MOST_DIGITS else TEXT",
    ),
    Bug(
        "defaults-that-are-no-values",
        "A default that is no value of its type is accepted, and no message after that.",
        "        AvroCodec(definition)  # it checks default values\n",
        "",
    ),
    Bug(
        "logical-types-of-the-writer",
        "A message of an earlier revision is read by the logical types of that revision.",
        "self._read(data, self._as_writer, reader._as_reader)",
        "self._read(data, self.schema, reader.schema)",
    ),
    Bug(
        "decimals-without-precision",
        "A decimal without its precision ends every publish in a KeyError.",
        "_without(self._given, _is_ignored), self.named",
        "self._given, self.named",
    ),
    Bug(
        "branches-beside-a-date",
        "A message with a string in a union with a date ends its publish in a ValueError.",
        "        except Exception:\n            return False\n",
        "        except SchemaMismatch:\n            return False\n",
    ),
    Bug(
        "types-looked-at-at-each-use",
        "A definition of types that use each other twice keeps a server busy for hours.",
        "        check_empty(named)\n",
        "",
    ),
    Bug(
        "int-of-any-size",
        "Avro's binary data has an int of more than 32 bits, as fastavro reads it.",
        "(self._is_of_bits(read) and self._writes(read, data))",
        "self._writes(read, data)",
    ),
    Bug(
        "larger-int-hides-the-others",
        "A stored int of more than 32 bits keeps all messages from being read as columns.",
        '    if type_ == "int" and not fits(value, "int"):',
        "    if False:",
    ),
)
