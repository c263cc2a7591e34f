"""Seeded bugs of ``cli/checks.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_doctor_problems.py",
    "tests/unit/test_cli_doctor.py",
)

BUGS = (
    Bug(
        "disk-as-free-as-need-be",
        "A disk with exactly a gigabyte left is told as too full.",
        "if free < LOW_DISK_BYTES:",
        "if free <= LOW_DISK_BYTES:",
    ),
    Bug(
        "clock-ahead-by-a-minute",
        "A commit a minute ahead, which is allowed, is told as from the future.",
        "if ahead > MAX_CLOCK_SKEW:",
        "if ahead >= MAX_CLOCK_SKEW:",
    ),
    Bug(
        "backlog-at-its-warning",
        "A backlog exactly at nine tenths of its retention is told as lost soon.",
        "if count and age > RETENTION_WARNING * kept.total_seconds():",
        "if count and age >= RETENTION_WARNING * kept.total_seconds():",
    ),
    Bug(
        "doctor-overlooks-locks",
        "A lock that is held is none for doctor.",
        "    except Timeout:\n        return True",
        "    except Timeout:\n        return False",
    ),
    Bug(
        "doctor-shorter-retention",
        "doctor warns of messages that the topic's longer retention keeps.",
        "    kept = max(\n        each.message_retention_duration, "
        "each.topic_message_retention_duration or timedelta(0)\n    )",
        "    kept = each.message_retention_duration",
    ),
    Bug(
        "a-retention-is-the-rest-of-its-days",
        "doctor warns of each backlog whose retention is in whole days.",
        "RETENTION_WARNING * kept.total_seconds()",
        "RETENTION_WARNING * kept.seconds",
    ),
    Bug(
        "the-detached-cannot-be-read",
        "doctor reports a problem where a subscription is detached.",
        "            return\n        found = store.metrics(each.name)\n",
        "            raise NotFound(name)\n        found = store.metrics(each.name)\n",
    ),
    Bug(
        "unreadable-topic-is-sound",
        "doctor counts an unreadable topic as sound.",
        "        else:\n            sound += 1\n",
        "        sound += 1\n",
    ),
    Bug(
        "unread-resources-are-problems",
        "With more than 200 resources doctor takes those that it left out for problems.",
        "    checked = min(count, MOST)\n",
        "    checked = count\n",
    ),
    Bug(
        "clock-ahead-by-the-wrong-side",
        "doctor warns of commits of the past, and not of the future.",
        "found[0].time - now if found",
        "now - found[0].time if found",
    ),
    Bug(
        "java-home-without-java",
        "The doctor finds no Java where JAVA_HOME is a directory that is gone.",
        'if home and Path(home, "bin/java").exists():',
        "if home:",
    ),
    Bug(
        "version-of-who-made-java",
        "The doctor tells the version of a vendor's package as that of Java.",
        'line.startswith("JAVA_VERSION=")',
        '"VERSION=" in line',
    ),
    Bug(
        "full-disk-is-a-problem",
        "The doctor calls little room on the disk a problem, and fails.",
        'return Finding("storage", "warning", detail, advice)',
        'return Finding("storage", "problem", detail, advice)',
    ),
    Bug(
        "locks-nobody-holds",
        "The doctor never finds a lock that is held.",
        "    except Timeout:\n        return True",
        "    except Timeout:\n        return False",
    ),
    Bug(
        "what-cannot-be-read-is-gone",
        "doctor says that a dead-letter topic does not exist where it cannot be read.",
        "        except NotFound:\n            yield Finding(",
        "        except PubSubError:\n            yield Finding(",
    ),
    Bug(
        "doctor-ends-at-a-damaged-subscription",
        "doctor tells nothing of the subscriptions behind a damaged one.",
        '{_short(each.name)}", error)\n        else:\n            sound += 1',
        '{_short(each.name)}", error)\n            return\n        else:\n            sound += 1',
    ),
    Bug(
        "root-of-another-user-is-well",
        "doctor finds nothing where the store cannot be written.",
        "    if not os.access(root, os.R_OK | os.W_OK | os.X_OK):",
        "    if os.access(root, os.R_OK | os.W_OK | os.X_OK) is None:",
    ),
)
