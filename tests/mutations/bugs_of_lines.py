"""Bugs of messages that come from a file or a pipe, a line each."""

from __future__ import annotations

from tests.mutations.bug import Bug

_LINES = "cli/message_lines.py"
_PUBLISH = "cli/publish.py"

BUGS_OF_LINES = (
    Bug(
        "bad-line-left-out",
        "A line that is no message is left out without a word.",
        _LINES,
        "                wrong.add(record.place, str(error))\n",
        "                pass\n",
    ),
    Bug(
        "line-without-its-blanks",
        "The blanks around the text of a line are not published.",
        _LINES,
        'line.removesuffix(b"\\r\\n" if line.endswith(b"\\r\\n") else b"\\n")',
        "line.strip()",
    ),
    Bug(
        "lines-are-counted-from-zero",
        "A bad line is named by the number of the line before it.",
        _LINES,
        "enumerate(lines, start=1)",
        "enumerate(lines)",
    ),
    Bug(
        "blank-line-is-no-message",
        "A blank line of a text is left out, where each line is a message.",
        _LINES,
        "return self.kind == JSONL and not line.strip()",
        "return not line.strip()",
    ),
    Bug(
        "batch-of-any-size",
        "A batch of lines has more bytes than a request may have.",
        _LINES,
        "size + size_of(message) > MOST_BYTES",
        "size > MOST_BYTES",
    ),
    Bug(
        "options-before-the-object",
        "An attribute of the command line goes before that of an object.",
        _LINES,
        "{**self.attributes, **attributes}",
        "{**attributes, **self.attributes}",
    ),
    Bug(
        "the-last-of-two",
        "Of two fields of one name the first is left out without a word.",
        _LINES,
        "object_pairs_hook=unique_members",
        "object_pairs_hook=dict",
    ),
    Bug(
        "a-pipe-read-twice",
        "A pipe is read to its end before it is published, and then has nothing.",
        _PUBLISH,
        "if bad is None and Path(source).is_file():",
        "if bad is None and source != STANDARD_INPUT:",
    ),
    Bug(
        "too-many-in-a-request",
        "A server is sent more messages at once than it takes.",
        _PUBLISH,
        "if app.settings.endpoint is None else MAX_REQUEST",
        "if app.settings.endpoint is None else MOST_MESSAGES",
    ),
    Bug(
        "byte-order-mark-is-published",
        "The first message of a text of Windows begins with a byte order mark.",
        "cli/message_lines.py",
        "        text = text.removeprefix(BOM.encode()) if number == 1 else text\n",
        "",
    ),
    Bug(
        "byte-order-mark-begins-a-command",
        "The first command of a file of Windows is not known.",
        "cli/shell.py",
        "return line.removeprefix(BOM)",
        "return line",
    ),
    Bug(
        "pull-that-shows-nothing-keeps-its-messages",
        "Messages of a pull whose format is wrong are leased by nobody who has their ack ids.",
        "cli/pull.py",
        "    app.check_all(records, PULL_FORMAT)\n    check_reader()\n    try:",
        "    puller.held.clear()\n    try:",
    ),
    Bug(
        "file-of-bad-records-is-not-named",
        "If bad records cannot be written, it is told that the file of messages cannot be read.",
        "cli/publish.py",
        "        except OSError as error:\n",
        "        except EOFError as error:\n",
    ),
)
