"""Seeded bugs of ``policy/schemas/avro_json.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_schema_avro_json.py",
    "tests/unit/test_schema_avro.py",
    "tests/unit/test_schema_paths.py",
)

BUGS = (
    Bug(
        "fields-left-over",
        "Fields that the schema does not have are accepted in Avro's JSON.",
        "            if name not in names:",
        "            if not names:",
    ),
    Bug(
        "least-number-of-avro",
        "The least int and long of Avro are refused in JSON.",
        "-_RANGES[kind] <= value <",
        "-_RANGES[kind] < value <",
    ),
    Bug(
        "keys-of-maps-that-are-no-text",
        "Half a surrogate pair is accepted as a key of a map in Avro's JSON.",
        '        for key in value:\n            _plain("string", key, path)\n',
        "",
    ),
    Bug(
        "integers-beyond-all-floating-point-numbers",
        "An integer that no double holds ends a publish in an OverflowError.",
        "    except OverflowError:\n        return inf if value > 0 else -inf\n",
        "    except ArithmeticError:\n        raise\n",
    ),
    Bug(
        "numbers-as-booleans",
        "A number fits a boolean field of Avro.",
        "        fits = isinstance(value, bool)\n",
        "        fits = isinstance(value, int)\n",
    ),
    Bug(
        "any-value-is-an-array",
        "A number where Avro has an array is a TypeError.",
        "        if not isinstance(value, list):",
        "        if value is None:",
    ),
    Bug(
        "a-path-without-the-branch",
        "The path of a wrong value leaves out the branch of a union.",
        "self._value(branch, inner, _within(path, name))",
        "self._value(branch, inner, path)",
    ),
    Bug(
        "a-number-for-bytes-is-an-error",
        "A number where bytes belong ends the publish with an error of its own.",
        "except (TypeError, UnicodeEncodeError):",
        "except UnicodeEncodeError:",
    ),
)
