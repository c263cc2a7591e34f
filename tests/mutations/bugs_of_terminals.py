"""Bugs of what a terminal is shown, and of pulls that go on or go into files."""

from __future__ import annotations

from tests.mutations.bug import Bug

_PULL = "cli/pull.py"
_FILES = "cli/message_files.py"
_KEPT = "cli/completion_names.py"

BUGS_OF_TERMINALS = (
    Bug(
        "wait-is-over-at-once",
        "A pull with --wait waits for no message.",
        _PULL,
        "if batch.message_count or self._is_over(begun):",
        "if True:",
    ),
    Bug(
        "tail-acknowledges-before-it-prints",
        "A pull with --follow acknowledges messages and prints them then.",
        _PULL,
        "            app.print(written.text(records))\n"
        "            with puller.signals.put_off():\n"
        "                failed += puller.acknowledge(app.service)\n",
        "            with puller.signals.put_off():\n"
        "                failed += puller.acknowledge(app.service)\n"
        "                app.print(written.text(records))\n",
    ),
    Bug(
        "terminated-tail-keeps-its-leases",
        "A pull with --follow does not hear what ends it.",
        "cli/signals.py",
        "signal.signal(each, self._come)",
        "signal.signal(each, signal.SIG_IGN)",
    ),
    Bug(
        "acknowledged-before-it-is-in-the-file",
        "Messages of a file are acknowledged as they come.",
        _PULL,
        "        yield messages\n",
        "        batch.ack()\n        yield messages\n",
    ),
    Bug(
        "leases-end-while-a-file-is-written",
        "The leases of a file that takes long to write end before it is done.",
        _PULL,
        'if puller.app.read_time("now") - extended >= EXTEND_AFTER:',
        "if False:",
    ),
    Bug(
        "file-is-named-before-it-is-on-the-disk",
        "A file has its name, and its messages are acknowledged, while it is in memory only.",
        _FILES,
        "            os.fsync(stream.fileno())\n",
        "",
    ),
    Bug(
        "file-replaces-another",
        "A file that came meanwhile, and whose messages are acknowledged, is replaced.",
        _FILES,
        "        os.link(begun, path)\n",
        "        os.replace(begun, path)\n",
    ),
    Bug(
        "names-outlive-a-change",
        "A shell completes the names that a store had, though it has changed.",
        _KEPT,
        '"project": project, "entries": entries}',
        '"project": project, "entries": None}',
    ),
    Bug(
        "names-of-a-restless-store-are-kept",
        "Names are kept of a table that may change again within a tick of the clock.",
        _KEPT,
        "if found and entries and max(time for _, time in entries) < _nanos(now - SETTLED):",
        "if found and entries:",
    ),
    Bug(
        "help-opens-the-store",
        "The help of the demo loads what opens a store.",
        "cli/demo.py",
        "if TYPE_CHECKING:",
        "if not TYPE_CHECKING:",
    ),
    Bug(
        "commands-load-pandas",
        "Every command imports pandas, where it is installed.",
        "cli/session.py",
        "        without_pandas()\n        return PubSub(\n",
        "        return PubSub(\n",
    ),
    Bug(
        "colors-in-a-pipe",
        "A program that reads the output gets escape sequences.",
        "cli/colors.py",
        "return bool(stream.isatty()) and not plain",
        "return not plain",
    ),
    Bug(
        "no-color-is-not-heard",
        "NO_COLOR does not turn colors off.",
        "cli/colors.py",
        'environment.get("NO_COLOR") or ',
        "",
    ),
    Bug(
        "cells-are-cut-off",
        "A cell that does not fit the terminal loses its end.",
        "cli/column_widths.py",
        "            part = part[end:]\n",
        '            part = ""\n',
    ),
    Bug(
        "doctor-finds-everybody-well",
        "The exit code of doctor is 0 whatever it finds.",
        "cli/doctor.py",
        'if any(each.state == "problem" for each in found):',
        "if False:",
    ),
    Bug(
        "doctor-starts-spark-again",
        "Where Spark does not start, doctor tries it for each kind of resource.",
        "cli/doctor.py",
        "return not isinstance(error, (FailedPrecondition, Unavailable))",
        "return True",
    ),
    Bug(
        "doctor-overlooks-locks",
        "A lock that is held is none for doctor.",
        "cli/checks.py",
        "    except Timeout:\n        return True",
        "    except Timeout:\n        return False",
    ),
    Bug(
        "demo-fills-a-directory-that-is-used",
        "The demo makes its store among the files of a directory.",
        "cli/demo.py",
        "if directory.is_dir() and any(directory.iterdir()):",
        "if False:",
    ),
    Bug(
        "acked-before-it-is-formatted",
        "A message whose status is to be shown is acknowledged, though its format shows nothing.",
        _PULL,
        'app.check_all([{**each, "ackStatus": "SUCCESS"} for each in records], PULL_FORMAT)',
        "pass",
    ),
    Bug(
        "acked-without-a-reader",
        "A message whose status is to be shown is acknowledged, though nobody reads the output.",
        _PULL,
        "    check_reader()\n    app.check_all(",
        "    app.check_all(",
    ),
    Bug(
        "acked-before-it-is-encoded",
        "A message with letters that the output has not is acknowledged, and never shown.",
        "cli/application.py",
        'text.encode(sys.stdout.encoding or "utf-8", sys.stdout.errors or "strict")',
        'text.encode("utf-8", "replace")',
    ),
    Bug(
        "attribute-is-a-command-of-a-shell",
        "Who publishes gives an attribute a name that a shell runs which evaluates config[export].",
        "cli/documents.py",
        'yield _OF_NO_VARIABLE.sub("_", f"{prefix}{name}"),',
        'yield f"{prefix}{name}",',
    ),
    Bug(
        "help-in-another-encoding-is-a-traceback",
        "The help is a traceback where the encoding of standard output lacks one of its letters.",
        "jobs/unwritten.py",
        "    except UnicodeEncodeError as error:",
        "    except UnicodeDecodeError as error:",
    ),
    Bug(
        "watch-prints-past-the-options",
        "watch prints with --no-user-output-enabled, and a full disk is an unexpected error.",
        "cli/watch.py",
        "                app.print(text)\n",
        "                click.echo(text, nl=False)\n",
    ),
)
