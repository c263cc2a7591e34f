"""Seeded bugs of ``cli/application.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_deletions.py",
    "tests/unit/test_cli_formats.py",
    "tests/unit/test_cli_arguments.py",
    "tests/unit/test_cli_pull.py",
    "tests/unit/test_cli_streams.py",
    "tests/unit/test_cli_listings.py",
    "tests/unit/test_command_transcripts.py",
    "tests/unit/test_cli_changed.py",
)

BUGS = (
    Bug(
        "full-log-fails-what-was-done",
        "A command that cannot print its status is told as failed, and is repeated.",
        "with suppress(OSError):  # where",
        "with suppress(KeyError):  # where",
    ),
    Bug(
        "full-disk-is-unexpected",
        "A disk that is full is told as an unexpected failure of the program.",
        "        with writing_stdout():\n            click.echo(shown,",
        "        with nullcontext():\n            click.echo(shown,",
    ),
    Bug(
        "data-steers-a-terminal",
        "Control characters of a message reach the terminal.",
        "shown = for_terminal(text) if sys.stdout.isatty() else text",
        "shown = text",
    ),
    Bug(
        "data-loses-escape-sequences",
        "Of data that a program reads the escape sequences are missing.",
        "click.echo(shown, nl=False, color=True)",
        "click.echo(shown, nl=False)",
    ),
    Bug(
        "scripts-are-asked",
        "A script is asked before something is deleted, and so deletes nothing.",
        "if self.settings.quiet or not sys.stdin.isatty():",
        "if self.settings.quiet:",
    ),
    Bug(
        "acked-before-it-is-encoded",
        "A message with letters that the output has not is acknowledged, and never shown.",
        'text.encode(sys.stdout.encoding or "utf-8", sys.stdout.errors or "strict")',
        'text.encode("utf-8", "replace")',
    ),
    Bug(
        "enter-alone-deletes",
        "Who only presses Enter at the question on a terminal has deleted a topic.",
        'click.confirm("Do you want to continue", default=False, err=True)',
        'click.confirm("Do you want to continue", default=True, err=True)',
    ),
    Bug(
        "zone-of-the-machine-for-times",
        "A time without a zone is one of this machine, whatever the options say.",
        'parse_time(text, self._clock.now(), "time", self.zone)',
        'parse_time(text, self._clock.now(), "time")',
    ),
    Bug(
        "created-beside-failures-is-not-printed",
        "Of several resources that are created nothing is printed in the format that is asked for.",
        "                done += [result] if result is not None else []",
        "                done = [result] if result is not None else []",
    ),
)
