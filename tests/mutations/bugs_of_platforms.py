"""Bugs of what stands between the store and its users: names in SQL, inputs, tasks, settings."""

from __future__ import annotations

from tests.mutations.bug import Bug

_NAMES = "policy/view_names.py"
_VIEWS = "operations/views.py"
_RECORDS = "cli/records.py"
_LAYOUT = "tables/layout.py"
_SESSION = "session.py"
_COMMANDS = "jobs/entry_points.py"

BUGS_OF_PLATFORMS = (
    Bug(
        "view-names-differ-by-case",
        "Two views whose names differ in the case of their letters alone are one in a catalog.",
        _NAMES,
        "(count[name.casefold()] > 1 or",
        "(list(plain.values()).count(name) > 1 or",
    ),
    Bug(
        "reserved-view-name-given-out",
        "The view of a topic called topics replaces the registry.",
        _NAMES,
        "name.casefold() in taken or ",
        "",
    ),
    Bug(
        "view-of-another-topic",
        "A topic that is called as the view of another one has its messages in that view.",
        _NAMES,
        "Counter(name.casefold() for name in found.values())",
        "Counter(name.casefold() for name in plain.values())",
    ),
    Bug(
        "view-replaces-what-came",
        "A view that was not there is created over what somebody else has made meanwhile.",
        _VIEWS,
        "        replace = identity is not None\n",
        "        replace = True\n",
    ),
    Bug(
        "view-of-others-taken-for-ours",
        "A view without our mark is replaced.",
        _VIEWS,
        "    if identity is None:\n        raise _Refused(_TAKEN)\n    return identity\n",
        '    return mark or {"digest": ""}\n',
    ),
    Bug(
        "row-of-csv-at-another-line",
        "A bad row is named by the line before it.",
        _RECORDS,
        "first, before = rows.line_num + 1, len(taken)",
        "first, before = rows.line_num, len(taken)",
    ),
    Bug(
        "row-of-other-columns-published",
        "A row of CSV with more columns than there are names loses the rest without a word.",
        _RECORDS,
        "elif len(row) != len(names):",
        "elif len(row) < len(names):",
    ),
    Bug(
        "array-not-recognised",
        "A JSON array is read as lines.",
        _RECORDS,
        'if text.lstrip().startswith(b"["):',
        'if text.startswith(b"[["):',
    ),
    Bug(
        "backtick-ends-a-name",
        "A backtick in the name of a schema ends it in SQL.",
        _LAYOUT,
        'return "`" + name.replace("`", "``") + "`"',
        'return "`" + name + "`"',
    ),
    Bug(
        "hidden-setting-is-empty",
        "A platform that hides its settings is taken for a Spark without Delta.",
        _SESSION,
        "    except Exception:\n        return None\n\n\ndef check_session",
        "    except Exception:\n        return default\n\n\ndef check_session",
    ),
    Bug(
        "done-task-fails",
        "A platform's task ends with SystemExit(0), which is a failure there.",
        _COMMANDS,
        "        if left.code not in (None, 0):\n            raise\n",
        "        raise\n",
    ),
)
