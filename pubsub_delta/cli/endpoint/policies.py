"""Changes IAM policies on a server."""

from __future__ import annotations

from typing import Any

from pubsub_delta.cli.endpoint.client import EndpointClient
from pubsub_delta.errors import Aborted

_ATTEMPTS = 5


def add_binding(server: EndpointClient, resource: str, member: str, role: str) -> Any:
    """Add a binding to the policy of a resource, and return the stored policy.

    After a concurrent change the policy is read again. Aborted after ``_ATTEMPTS`` such changes.
    """
    for attempt in range(_ATTEMPTS):
        options = {"requested_policy_version": 3}
        policy = server.call("GetIamPolicy", resource=resource, options=options)
        bindings = [each for each in policy.bindings if not each.HasField("condition")]
        found = next((each for each in bindings if each.role == role), None)
        if found is not None and member in found.members:
            return policy
        (policy.bindings.add(role=role) if found is None else found).members.append(member)
        try:
            return server.call("SetIamPolicy", resource=resource, policy=policy)
        except Aborted:
            if attempt == _ATTEMPTS - 1:
                raise
    return None
