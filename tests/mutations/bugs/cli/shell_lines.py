"""Seeded bugs of ``cli/shell_lines.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_transforms.py",
    "tests/unit/test_shell.py",
)

BUGS = (
    Bug(
        "exit-forgets-failures",
        "A shell that is left by exit tells of no failed line.",
        "        except EOFError:\n            pass\n        return int(failed)",
        "        except EOFError:\n            return 0\n        return int(failed)",
    ),
    Bug(
        "a-text-of-a-backslash-goes-on",
        "A line of the shell that ends in an escaped backslash takes the next command.",
        'goes_on = (len(line) - len(line.rstrip("\\\\"))) % 2 == 1',
        'goes_on = line.endswith("\\\\")',
    ),
    Bug(
        "a-blank-where-a-line-goes-on",
        "A blank is put where a line of the shell goes on.",
        "begun.append(line[:-1] if goes_on else line)",
        'begun.append(f"{line[:-1]} " if goes_on else line)',
    ),
)
