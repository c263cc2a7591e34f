"""Seeded bugs of ``policy/access.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_access.py",
    "tests/unit/test_server_access_changes.py",
)

BUGS = (
    Bug(
        "project-without-its-resources",
        "What is bound to a project does not hold on its resources.",
        "    if project != resource:\n        yield project\n",
        "",
    ),
    Bug(
        "condition-taken-for-met",
        "A binding with a condition grants, whatever the condition says.",
        "binding.condition is None\n            and permission",
        "permission",
    ),
    Bug(
        "domain-has-service-accounts",
        "Service accounts are among the members of a domain.",
        'if kind == "user" and "@" in name:',
        'if "@" in name:',
    ),
    Bug(
        "addresses-by-their-case",
        "A member is not known by an address in upper case.",
        'return f"{kind}:{name.translate(_LOWER)}" if colon',
        'return f"{kind}:{name}" if colon',
    ),
    Bug(
        "kelvin-is-a-k",
        "Who has a Kelvin sign in the address is taken for who has a k there.",
        "name.translate(_LOWER)",
        "name.lower()",
    ),
    Bug(
        "conditional-policy-stored",
        "SetIamPolicy stores bindings whose conditions nobody evaluates.",
        "        if binding.condition is not None:\n            raise Unimplemented(",
        "        if binding.condition is ...:\n            raise Unimplemented(",
    ),
    Bug(
        "service-accounts-of-a-domain",
        "A service account has what is granted to the people of its domain.",
        'if kind == "user" and "@" in name:',
        'if "@" in name:',
    ),
    Bug(
        "a-group-with-a-capital",
        "Who is written with a capital letter among the members of a group has none of its roles.",
        "if name in map(plain, has)",
        "if name in has",
    ),
)
