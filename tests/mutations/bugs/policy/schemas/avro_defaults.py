"""Seeded bugs of ``policy/schemas/avro_defaults.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_schema_typing.py",
    "tests/unit/test_schema_defaults.py",
    "tests/unit/test_schema_paths.py",
)

BUGS = (
    Bug(
        "default-of-28-digits",
        "The default value of a field loses its digits after the 28th.",
        """return Decimal(f"{unscaled}E{-schema.get('scale', 0)}")""",
        "return Decimal(unscaled).scaleb(-schema.get('scale', 0))",
    ),
    Bug(
        "negative-default-unsigned",
        "A negative default of a decimal field is read as a large number.",
        'int.from_bytes(raw, "big", signed=True)',
        'int.from_bytes(raw, "big")',
    ),
    Bug(
        "defaults-of-no-branch",
        "A default that is of no branch of its union is accepted.",
        '        _DefaultReader(field["type"], named).check(default)\n',
        "",
    ),
    Bug(
        "defaults-of-every-branch",
        "A default is never found to be of no branch of a union.",
        "                self._fits[key] = False\n",
        "                self._fits[key] = True\n",
    ),
    Bug(
        "local-times-before-the-epoch",
        "The default of a local time is as long before 1970 as it is after it.",
        '"local-timestamp-micros": lambda micros: _EPOCH + timedelta',
        '"local-timestamp-micros": lambda micros: _EPOCH - timedelta',
    ),
)
