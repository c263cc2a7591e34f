"""Seeded bugs of ``server/logs.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_command.py",
    "tests/unit/test_server_loops.py",
    "tests/unit/test_server_logs.py",
)

BUGS = (
    Bug(
        "records-by-the-second",
        "The time of a record in JSON has no fraction of a second.",
        "from_micros(int(record.created * 1_000_000))",
        "from_micros(int(record.created) * 1_000_000)",
    ),
    Bug(
        "severities-by-twos",
        "A record of a warning says that it is information.",
        '"severity": record.levelname,',
        '"severity": logging.getLevelName(record.levelno // 20 * 20),',
    ),
    Bug(
        "records-of-one-logger",
        "Every record has the name of the library's logger.",
        '"logger": record.name,',
        '"logger": "pubsub_delta",',
    ),
    Bug(
        "a-log-without-its-level",
        "Records are told from the level on that Python has by itself.",
        "        logger.setLevel(level.upper())\n",
        "",
    ),
)
