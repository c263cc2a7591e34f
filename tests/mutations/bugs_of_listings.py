"""Bugs of tables with nested formats, of what scripts are asked, and of fields by schema."""

from __future__ import annotations

from tests.mutations.bug import Bug

_TABLES = "cli/tables.py"

BUGS_OF_LISTINGS = (
    Bug(
        "nested-under-another-row",
        "What is nested stands under the rows in the order of the records, not of the rows.",
        _TABLES,
        "[below(row).splitlines() for row in ordered]",
        "[below(row).splitlines() for row in rows]",
    ),
    Bug(
        "nested-wider-than-a-terminal",
        "A nested table is as wide as the terminal, and its indentation besides.",
        "cli/printing.py",
        "max(width - INDENTED, 1)",
        "width",
    ),
    Bug(
        "wrapped-columns-wait",
        "A column that may be wrapped gives no room before the others.",
        _TABLES,
        "widths = wrapped(widths, wraps, room - frame)",
        "widths = list(widths)",
    ),
    Bug(
        "scripts-are-asked",
        "A script is asked before something is deleted, and so deletes nothing.",
        "cli/application.py",
        "if self.settings.quiet or not sys.stdin.isatty():",
        "if self.settings.quiet:",
    ),
    Bug(
        "fields-by-the-newest-revision",
        "The fields of a message are read by the newest revision of its schema.",
        "operations/schemas.py",
        'revision_id = attributes.get(validation.REVISION_ATTRIBUTE, "")',
        'revision_id = ""',
    ),
    Bug(
        "shared-options-backwards",
        "The options that commands share are shown from the last to the first.",
        "jobs/option_groups.py",
        "for option in reversed(group):",
        "for option in group:",
    ),
)
