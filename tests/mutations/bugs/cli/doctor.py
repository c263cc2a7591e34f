"""Seeded bugs of ``cli/doctor.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_doctor.py",
    "tests/unit/test_cli_usual_format.py",
)

BUGS = (
    Bug(
        "doctor-finds-everybody-well",
        "The exit code of doctor is 0 whatever it finds.",
        'if any(each.state == "problem" for each in found):',
        "if False:",
    ),
    Bug(
        "doctor-starts-spark-again",
        "Where Spark does not start, doctor tries it for each kind of resource.",
        "return not isinstance(error, (FailedPrecondition, Unavailable))",
        "return True",
    ),
    Bug(
        "doctor-warnings-fail",
        "doctor ends with 1 after a warning.",
        'any(each.state == "problem" for each in found):\n        raise',
        'any(each.state != "ok" for each in found):\n        raise',
    ),
    Bug(
        "doctor-checks-a-remote-disk",
        "doctor with --remote checks this machine's disk.",
        "    if settings.remote is None:  # or else they are another machine's\n",
        "    if True:\n",
    ),
    Bug(
        "doctor-without-the-usual-format",
        "doctor does not take the format of the settings file.",
        "if app.settings.format:",
        'if app.global_options.get("format"):',
    ),
)
