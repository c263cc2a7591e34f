"""Seeded bugs of ``cli/signals.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_signals.py",
    "tests/unit/test_cli_pull_follow.py",
    "tests/unit/test_command_transcripts.py",
)

BUGS = (
    Bug(
        "hangup-keeps-what-a-pull-has-leased",
        "What a pull has leased waits for ten minutes when its terminal ends.",
        'for n in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr',
        'for n in ("SIGINT", "SIGTERM") if hasattr',
    ),
    Bug(
        "signal-cuts-a-commit",
        "A signal that comes while a pull leases messages leaves them leased for ten minutes.",
        "        if self._has_come and (is_impatient or not self._steps):\n",
        "        if self._has_come:\n",
    ),
    Bug(
        "terminated-tail-keeps-its-leases",
        "A pull with --follow does not hear what ends it.",
        "signal.signal(each, self._come)",
        "signal.signal(each, signal.SIG_IGN)",
    ),
    Bug(
        "sigterm-for-the-next-command",
        "After pull --follow in a shell, SIGTERM raises KeyboardInterrupt.",
        "                signal.signal(each, handler)\n",
        "                pass\n",
    ),
)
