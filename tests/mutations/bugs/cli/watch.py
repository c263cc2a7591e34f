"""Seeded bugs of ``cli/watch.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_watch.py",
    "tests/unit/test_cli_streams.py",
    "tests/unit/test_cli_usual_format.py",
    "tests/unit/test_cli_help.py",
)

BUGS = (
    Bug(
        "tenth-of-a-second-is-too-short",
        "--interval=0.1s is refused, though the error accepts it.",
        "if interval < SHORTEST:",
        "if interval <= SHORTEST:",
    ),
    Bug(
        "watch-prints-past-the-options",
        "watch prints with --no-user-output-enabled, and a full disk is an unexpected error.",
        "                app.print(text)\n",
        "                click.echo(text, nl=False)\n",
    ),
    Bug(
        "acks-since-the-start",
        "watch shows the mean rate since a sample long ago: of each two the first is kept.",
        "        last = sample(app.store.metrics(name), time, last)\n",
        "        last = sample(app.store.metrics(name), time, first)\n",
    ),
    Bug(
        "watch-counts-one-more",
        "watch --count=6 prints seven samples.",
        "last, done = first, 1",
        "last, done = first, 0",
    ),
    Bug(
        "watch-without-the-usual-format",
        "watch does not take the format of the settings file.",
        "if not app.settings.format:",
        'if not app.global_options.get("format"):',
    ),
)
