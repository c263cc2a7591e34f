"""Seeded bugs of ``policy/schemas/json_data.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_schema_avro_json.py",
    "tests/unit/test_schema_avro.py",
    "tests/unit/test_schema_protobuf.py",
)

BUGS = (
    Bug(
        "deep-lists-pass",
        "JSON of lists within lists is not held against the most levels.",
        "if isinstance(each, (dict, list))\n            for inner",
        "if isinstance(each, dict)\n            for inner",
    ),
    Bug(
        "long-number-is-told-with-pythons-advice",
        "Who publishes a number of 5,000 digits is told to call sys.set_int_max_str_digits().",
        "    except (json.JSONDecodeError, NotStrict) as error:",
        "    except ValueError as error:",
    ),
)
