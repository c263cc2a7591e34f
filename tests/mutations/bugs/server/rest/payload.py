"""Seeded bugs of ``server/rest/payload.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_rest_transcoding.py",
    "tests/unit/test_bodies_from_elsewhere.py",
    "tests/unit/test_rest_transcripts.py",
)

BUGS = (
    Bug(
        "durations-of-any-script",
        "A duration in JSON may have more decimals than are kept, or digits of another script.",
        "if not _TIMES[of.name].fullmatch(given):",
        "if not given:",
    ),
    Bug(
        "no-base64-is-other-data",
        "Data that is not base64 is published as other data.",
        "if field.type == FieldDescriptor.TYPE_BYTES and not is_base64(given):",
        "if False:",
    ),
    Bug(
        "field-given-twice",
        "Of a field that is given by both of its names one is dropped.",
        "if field.name in seen:",
        "if False:",
    ),
    Bug(
        "name-given-twice",
        "Of a name that appears twice in an object the first value is dropped.",
        "if len(found) < len(pairs):",
        "if False:",
    ),
    Bug(
        "half-a-surrogate-pair",
        "A name in JSON that is half of a surrogate pair is an error of the server.",
        "        if _SURROGATE.search(text):",
        "        if not text:",
    ),
    Bug(
        "same-field-twice-in-two-names",
        "A field that is given by both of its names has one of the two values.",
        "        seen[field.name] = name\n",
        "",
    ),
    Bug(
        "masks-in-snake-case",
        "A field mask in snake case is refused.",
        "            return in_camel_case(given)\n",
        "            return given\n",
    ),
    Bug(
        "enum-of-any-value",
        "REST takes true, 1.5 and digits of any script for a value of an enum.",
        "elif field.cpp_type == FieldDescriptor.CPPTYPE_ENUM and not _is_of_enum(given, field):",
        "elif False:",
    ),
    Bug(
        "zone-of-any-hours",
        "REST takes a time for one of a zone that is 99 hours away.",
        r"([01]\d|2[0-3]):[0-5]\d)",
        r"\d\d:[0-5]\d)",
    ),
    Bug(
        "half-of-a-pair-among-letters",
        "Half of a surrogate pair passes beside other letters.",
        'any("\\ud800" <= letter',
        'all("\\ud800" <= letter',
    ),
)
