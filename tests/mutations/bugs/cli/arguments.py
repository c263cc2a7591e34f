"""Seeded bugs of ``cli/arguments.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_arguments.py",
    "tests/unit/test_cli_listings.py",
    "tests/unit/test_cli_help.py",
    "tests/unit/test_command_transcripts.py",
    "tests/unit/test_cli_maintain.py",
)

BUGS = (
    Bug(
        "pair-given-twice",
        "On the command line the last of two values of a key is taken, and the first forgotten.",
        "if not equals or not key or key in pairs:",
        "if not equals or not key:",
    ),
    Bug(
        "labels-removed-before-they-are-set",
        "A label that one command removes and sets stays, which gcloud removes.",
        "    changed = {**({} if clear else now), **update}\n"
        "    return {key: value for key, value in changed.items() if key not in set(remove)}\n",
        "    kept = {} if clear else {key: now[key] for key in now if key not in set(remove)}\n"
        "    return {**kept, **update}\n",
    ),
    Bug(
        "wrong-sort-key-is-noticed-late",
        "A sort key that cannot be read ends in an error after the listing was made.",
        "        _checked(self, lambda: sort_keys(keys), param, ctx)\n",
        "",
    ),
    Bug(
        "proposed-though-given",
        "A shell proposes the names that a command line has already.",
        "isinstance(given, (tuple, list)) else set()",
        "isinstance(given, list) else set()",
    ),
    Bug(
        "switches-without-a-description",
        "The help of a command tells not what its switches do.",
        'self.help or ""',
        'self.help and ""',
    ),
)
