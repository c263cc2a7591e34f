"""Bugs of what somebody meets who is new here: a wrong root, no Spark, a store restored by half."""

from __future__ import annotations

from tests.mutations.bug import Bug

_ROWS = "tables/registry/resource_table.py"

BUGS_OF_NEWCOMERS = (
    Bug(
        "lost-registry-is-empty",
        "Retention deletes what the rows keep that a half restored store has no more.",
        _ROWS,
        "            self._check_not_lost()\n            return -1, []",
        "            return -1, []",
    ),
    Bug(
        "unfinished-registry-is-lost",
        "A store whose creation was cut short can never be used.",
        "tables/registry/registry.py",
        "self._create, names[n + 1 :])",
        "self._create, names[:n])",
    ),
    Bug(
        "lost-schemas-were-never-there",
        "Half of a store that was restored is told as a deleted schema, and gets another table.",
        _ROWS,
        "self._created_later)) or self._is_named()",
        "self._created_later))",
    ),
    Bug(
        "file-for-a-root-is-no-error-of-ours",
        "Who names a file as the root sees a stack trace.",
        "tables/lanes/locks.py",
        "except (NotADirectoryError, FileExistsError, FileNotFoundError) as error:",
        "except (FileExistsError, FileNotFoundError) as error:",
    ),
    Bug(
        "impossible-root-is-damage",
        "Who names a root that cannot be made is told to restore a store from a copy.",
        "tables/lanes/locks.py",
        "except (NotADirectoryError, FileExistsError, FileNotFoundError) as error:",
        "except (NotADirectoryError, FileExistsError) as error:",
    ),
    Bug(
        "schema-for-a-root-without-a-word",
        "Who forgets the slash of a directory is told that Spark is missing, and not why.",
        "tables/lanes/choice.py",
        "                    raise self._not_started(error) from error",
        "                    raise error",
    ),
    Bug(
        "no-java-is-a-traceback",
        "Who starts a job without Java sees a stack trace, and a scheduler tries again.",
        "session.py",
        'if "JAVA_GATEWAY_EXITED" not in str(error):',
        'if "JAVA_GATEWAY_EXITED" in str(error):',
    ),
    Bug(
        "problem-of-an-unknown-class",
        "The report of maintenance names a class that stands on no page.",
        "errors.py",
        "each.__module__ == PubSubError.__module__",
        "each.__module__",
    ),
)
