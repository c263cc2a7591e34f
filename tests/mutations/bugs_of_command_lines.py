"""Bugs of a reading of what the command line promises, as the code had them or nearly."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_COMMAND_LINES = (
    Bug(
        "lines-after-a-bad-row-are-left-out",
        "Lines after one that ends the rows of a CSV file are neither published nor told.",
        "cli/records.py",
        "for number, line in enumerate(given, start=rows.line_num + 1):",
        "for number, line in enumerate([], start=rows.line_num + 1):",
    ),
    Bug(
        "an-array-cut-off-is-its-last-line",
        "Of a JSON array that is cut off the bad records have one line only.",
        "cli/records.py",
        'yield Record(f"line {error.lineno}", data, f"it is not a JSON array: {error.msg}")',
        'yield Record(f"line {error.lineno}", b"[", f"it is not a JSON array: {error.msg}")',
    ),
    Bug(
        "a-carriage-return-at-the-end-is-lost",
        "A carriage return that ends the last line of a file is left out of its message.",
        "cli/message_lines.py",
        'line.removesuffix(b"\\r\\n" if line.endswith(b"\\r\\n") else b"\\n")',
        'line.removesuffix(b"\\n").removesuffix(b"\\r")',
    ),
    Bug(
        "a-text-of-a-backslash-goes-on",
        "A line of the shell that ends in an escaped backslash takes the next command.",
        "cli/shell_lines.py",
        'goes_on = (len(line) - len(line.rstrip("\\\\"))) % 2 == 1',
        'goes_on = line.endswith("\\\\")',
    ),
    Bug(
        "a-blank-where-a-line-goes-on",
        "A blank is put where a line of the shell goes on.",
        "cli/shell_lines.py",
        "begun.append(line[:-1] if goes_on else line)",
        'begun.append(f"{line[:-1]} " if goes_on else line)',
    ),
    Bug(
        "a-demo-in-a-directory-of-a-tilde",
        "demo --root=~/flights makes its store in a directory that is named ~.",
        "cli/demo.py",
        "root = app.settings.root  # with a home directory for ~",
        'root = app.global_options.get("root")',
    ),
    Bug(
        "a-demo-of-an-unnamed-project",
        "The commands that a demo prints do not find what it has made in another project.",
        "cli/demo.py",
        'if "project" in app.global_options:',
        "if False:",
    ),
    Bug(
        "a-demo-beside-an-endpoint",
        "The commands that a demo prints are refused where the environment names a server.",
        "cli/demo.py",
        "for name in others if app.environment.get(name)]",
        "for name in others if name in ()]",
    ),
    Bug(
        "leased-though-the-disk-is-full",
        "A pull keeps messages whose ack ids a full disk did not take.",
        "cli/pull.py",
        "except (BrokenPipeError, KeyboardInterrupt):\n        puller.held.clear()",
        "except BaseException:\n        puller.held.clear()",
    ),
    Bug(
        "leased-for-a-reader-that-is-gone",
        "A pull keeps messages whose ack ids nobody reads any more.",
        "cli/pull.py",
        "app.check_all(records, PULL_FORMAT)\n    check_reader()\n    try:",
        "app.check_all(records, PULL_FORMAT)\n    try:",
    ),
    Bug(
        "what-cannot-be-read-is-gone",
        "doctor says that a dead-letter topic does not exist where it cannot be read.",
        "cli/checks.py",
        "        except NotFound:\n            yield Finding(",
        "        except PubSubError:\n            yield Finding(",
    ),
    Bug(
        "watch-without-the-usual-format",
        "watch does not take the format of the settings file.",
        "cli/watch.py",
        "if not app.settings.format:",
        'if not app.global_options.get("format"):',
    ),
    Bug(
        "doctor-without-the-usual-format",
        "doctor does not take the format of the settings file.",
        "cli/doctor.py",
        "if app.settings.format:",
        'if app.global_options.get("format"):',
    ),
    Bug(
        "maintain-without-the-usual-format",
        "maintain does not take the format of the settings file.",
        "cli/maintain.py",
        "if app.settings.format:",
        'if app.global_options.get("format"):',
    ),
    Bug(
        "published-and-an-error",
        "A publish whose id could not be printed does not say that it has published.",
        "cli/publish.py",
        '(f"{error}; the message was published as {ids[0]}")',
        "(str(error))",
    ),
)
