"""Read and replace the IAM policy of a resource."""

from __future__ import annotations

from datetime import datetime

from pubsub_delta.errors import NotFound
from pubsub_delta.names import ResourceName
from pubsub_delta.policy.iam import Binding, IamPolicy, check_policy, replaced
from pubsub_delta.tables.store import Tables


def get_policy(tables: Tables, name: ResourceName, now: datetime) -> IamPolicy:
    """Return the policy of a resource; a policy without bindings if none was set."""
    found = tables.registry.iam_policies.read(name, now)
    if found is None:
        raise NotFound(f"{name} does not exist; create it first")
    return found


def get_bindings(tables: Tables, now: datetime) -> dict[str, tuple[Binding, ...]]:
    """Return the bindings of every resource that has a policy, by its name."""
    return {name: each.bindings for name, each in tables.registry.iam_policies.all(now).items()}


def set_policy(
    tables: Tables, name: ResourceName, now: datetime, new: IamPolicy, *, with_bindings: bool = True
) -> IamPolicy:
    """Replace the policy of a resource, if its etag is ``new.etag`` or that is empty."""
    checked = check_policy(new)
    written = checked

    def decide(stored: IamPolicy) -> IamPolicy:
        nonlocal written
        written = replaced(stored, checked, tables.new_id(), with_bindings=with_bindings)
        return written

    if not tables.registry.iam_policies.change(name, now, decide):
        raise NotFound(f"{name} does not exist; create it first")
    return written
