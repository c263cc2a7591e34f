"""Seeded bugs of ``server/iam_service.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_iam.py",
    "tests/unit/test_server_access.py",
)

BUGS = (
    Bug(
        "wildcard-tells-what-exists",
        "TestIamPermissions refuses a wildcard only on what exists.",
        "        has = granted(name.collection, request.permissions)  # first: a refusal reveals "
        "nothing\n",
        "        has = [each for each in request.permissions if '*' not in each]\n",
    ),
    Bug(
        "mask-of-etag-replaces-bindings",
        "A change of a policy whose mask names no bindings replaces them.",
        'set_it = partial(iam.set_policy, with_bindings="bindings" in named)',
        "set_it = partial(iam.set_policy, with_bindings=True)",
    ),
    Bug(
        "condition-location-lost",
        "The location of a condition is lost.",
        "Condition(message.expression, message.title, message.description, message.location)",
        'Condition(message.expression, message.title, message.description, "")',
    ),
    Bug(
        "permissions-of-another-field",
        "The error of a permission check names a field that the request has not.",
        'resource_name(request.resource, "resource")\n        has =',
        'resource_name(request.resource, "name")\n        has =',
    ),
)
