"""Seeded bugs of ``session_end.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_session_end.py",
    "tests/unit/test_spark_errors.py",
    "tests/unit/test_session_settings.py",
)

BUGS = (
    Bug(
        "killed-jvm-is-an-error-of-py4j",
        "A store whose JVM was killed ends in errors of Py4J that tell nothing.",
        "        if not _is_jvm_lost(error):\n",
        "        if error:\n",
    ),
    Bug(
        "lost-call-is-an-error-of-py4j",
        "The call during which a JVM is killed ends in an error of Py4J that tells nothing.",
        "    return unanswered or kind in _JVM_LOST\n",
        "    return kind in _JVM_LOST\n",
    ),
    Bug(
        "schema-of-a-lost-jvm-is-no-type",
        "Of a DataFrame whose JVM was killed it is told that its data type cannot be read.",
        '    if kind == "PySparkValueError" and',
        '    if kind == "" and',
    ),
)
