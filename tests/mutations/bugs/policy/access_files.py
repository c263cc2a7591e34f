"""Seeded bugs of ``policy/access_files.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_access_files.py",
    "tests/unit/test_whole_access_policies.py",
)

BUGS = (
    Bug(
        "condition-in-a-file-passed-over",
        "A condition in a policy file is refused as an unknown name, and not by what it is.",
        'if isinstance(given, Mapping) and "condition" in given:',
        'if isinstance(given, Mapping) and "conditions" in given:',
    ),
    Bug(
        "unknown-names-in-a-file-pass",
        "A misspelt name in a policy file, such as expired, says nothing.",
        "if missing or (accepted and unknown):",
        "if missing:",
    ),
    Bug(
        "a-digest-in-capitals-is-refused",
        "A policy file with a SHA-256 in capital letters is refused.",
        'digest = _text(fields["sha256"], f"{where}.sha256").lower()',
        'digest = _text(fields["sha256"], f"{where}.sha256")',
    ),
    Bug(
        "unknown-names-beside-needed-ones",
        "A binding of the policy file with an unknown name is accepted.",
        "if missing or (accepted and unknown):",
        "if missing or (optional and unknown):",
    ),
    Bug(
        "token-of-two-members",
        "Whoever has a token that a policy file has for two members is the later one.",
        "if each.member != tokens[earlier].member:",
        "if False:",
    ),
    Bug(
        "tokens-never-expire",
        "A token of a policy file is valid for ever, whatever the file tells.",
        'None if expires is None else read_time(expires, f"{where}.expires"),',
        "None,",
    ),
    Bug(
        "agent-of-the-file-is-ignored",
        "Dead letters are forwarded as the usual service agent, whatever the file tells.",
        "        service_agent=agent,\n",
        "",
    ),
)
