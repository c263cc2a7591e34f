"""Seeded bugs of ``cli/message_files.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_cli_pull_files.py",)

BUGS = (
    Bug(
        "file-is-named-before-it-is-on-the-disk",
        "A file has its name, and its messages are acknowledged, while it is in memory only.",
        "            os.fsync(stream.fileno())\n",
        "",
    ),
    Bug(
        "file-replaces-another",
        "A file that came meanwhile, and whose messages are acknowledged, is replaced.",
        "        os.link(begun, path)\n",
        "        os.replace(begun, path)\n",
    ),
    Bug(
        "csv-without-attempts",
        "The CSV file of pulled messages does not say their delivery attempt.",
        "data, attempt]",
        "data, None]",
    ),
    Bug(
        "file-replaced-meanwhile",
        "pull --output replaces a file that another process created meanwhile, on a disk "
        "without links.",
        "        if path.exists():\n            raise _already_exists(path) from None\n",
        "",
    ),
    Bug(
        "carriage-returns-in-csv",
        "A carriage return in a message ends its row in a CSV file.",
        '_LINE_END = "\\r\\n"',
        '_LINE_END = "\\n"',
    ),
    Bug(
        "no-ndjson",
        "A pull writes no file that ends in .ndjson.",
        '    ".ndjson": _JsonLines,\n',
        "",
    ),
)
