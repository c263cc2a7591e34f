"""Seeded bugs of ``console/resource_changes.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_deletions.py",
    "tests/unit/test_console_form_values.py",
    "tests/unit/test_console_flows.py",
    "tests/unit/test_console_successors.py",
    "tests/lanes/test_table_console.py",
    "tests/unit/test_console_whole_pages.py",
    "tests/unit/test_console_fields_and_lines.py",
)

BUGS = (
    Bug(
        "page-deletes-what-came-later",
        "The console deletes what was created again since its page was shown.",
        '    stored = read(id_)\n    if form["fingerprint"] != fingerprint(stored):\n'
        "        return conflict(request)\n",
        "    stored = read(id_)\n",
    ),
    Bug(
        "deleted-without-the-name",
        "What is deleted goes whatever name was typed.",
        '    if form.text("name") != id_:\n',
        "    if False:\n",
    ),
    Bug(
        "damaged-and-not-to-be-deleted",
        "What is damaged cannot be deleted in the console, as what goes with it cannot be counted.",
        "        return measured()\n    except PubSubError as error:",
        "        return measured()\n    except KeyError as error:",
    ),
    Bug(
        "reloaded-conflict-of-a-deletion",
        "The page of a deletion that met a change shows a bare error when it is requested again.",
        "return conflict(asked) if is_other or form.warning else failure_page(asked, error)",
        "return conflict(asked) if is_other else failure_page(asked, error)",
    ),
    Bug(
        "expire-time-to-the-second",
        "An edit of a snapshot's labels moves the time at which it expires.",
        "for name, value in edited.items() if value != shown[name]}",
        "for name, value in edited.items()}",
    ),
    Bug(
        "table-that-comes-is-a-change",
        "A form is refused as its table has come, or gone, though nobody has changed anything.",
        "replace(table, state=None)",
        "table",
    ),
    Bug(
        "the-order-of-labels-is-a-change",
        "A subscription whose labels come in another order is told as changed.",
        '(n, sorted(v.items()) if n == "labels" else v)',
        "(n, v)",
    ),
)
