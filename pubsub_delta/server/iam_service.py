"""google.iam.v1.IAMPolicy on a store; policies are enforced with a policy file only."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

from google.iam.v1 import iam_policy_pb2, policy_pb2

from pubsub_delta.errors import InvalidArgument, NotFound, Unimplemented
from pubsub_delta.names import resource_name
from pubsub_delta.operations import iam
from pubsub_delta.policy.iam import Binding, Condition, IamPolicy, check_requested, granted
from pubsub_delta.server.authorization import Authorizer
from pubsub_delta.server.hub import Hub

_CHANGEABLE = {"bindings", "etag", "version"}


class IamService:
    """The policies of topics, subscriptions and snapshots."""

    def __init__(
        self, hub: Hub, now: Callable[[], datetime], access: Authorizer | None = None
    ) -> None:
        self._backend = hub.backend
        self._now = now
        self._access = access

    async def get_iam_policy(self, request: Any, _: Any) -> Any:
        """Return the policy of a resource."""
        name = resource_name(request.resource, "resource")
        found = await self._do(iam.get_policy, name)
        check_requested(found, request.options.requested_policy_version)
        return _message(found)

    async def set_iam_policy(self, request: Any, _: Any) -> Any:
        """Replace the policy of a resource."""
        name = resource_name(request.resource, "resource")
        named = set(request.update_mask.paths) or {"bindings", "etag"}
        if not named <= _CHANGEABLE:
            raise InvalidArgument(
                f"update_mask: {', '.join(sorted(named))}; bindings, etag and version are accepted"
            )
        new = _policy(request.policy)
        if self._access is not None:
            self._access.check_stored(new)
        set_it = partial(iam.set_policy, with_bindings="bindings" in named)
        return _message(await self._do(set_it, name, new))

    async def test_iam_permissions(self, request: Any, context: Any) -> Any:
        """Return the permissions that the caller has; without a policy file, all of them.

        Google: a resource that does not exist has no permissions, without an error.
        """
        name = resource_name(request.resource, "resource")
        has = granted(name.collection, request.permissions)  # first: a refusal reveals nothing
        try:
            await self._do(iam.get_policy, name)
        except NotFound:
            return iam_policy_pb2.TestIamPermissionsResponse()
        if self._access is not None:
            has = await self._access.granted(context, str(name), has)
        return iam_policy_pb2.TestIamPermissionsResponse(permissions=has)

    async def _do(self, work: Callable[..., Any], name: Any, *given: Any) -> Any:
        tables = self._backend.administration.tables
        return await self._backend.administer(work, tables, name, self._now(), *given)


def _policy(message: Any) -> IamPolicy:
    if message.audit_configs:
        raise Unimplemented("policy.audit_configs: nothing is audited here; leave it out")
    bindings = tuple(
        Binding(
            each.role,
            tuple(each.members),
            _condition(each.condition) if each.HasField("condition") else None,
        )
        for each in message.bindings
    )
    return IamPolicy(bindings, message.version, message.etag.hex())


def _condition(message: Any) -> Condition:
    return Condition(message.expression, message.title, message.description, message.location)


def _message(policy: IamPolicy) -> Any:
    made = policy_pb2.Policy(version=policy.version, etag=bytes.fromhex(policy.etag))
    for each in policy.bindings:
        binding = made.bindings.add(role=each.role, members=each.members)
        if each.condition is not None:
            for field in ("expression", "title", "description", "location"):
                setattr(binding.condition, field, getattr(each.condition, field))
    return made
