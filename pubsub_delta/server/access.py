"""Access: who calls is known by a token, and may do what roles permit.

What is refused is refused before anything is looked for, in the same words whether it is there or
not. The policy file is asked first; only what it does not grant is looked for in the policies that
are stored with resources.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from pubsub_delta.clock import uptime
from pubsub_delta.names import DELETED_TOPIC
from pubsub_delta.operations import iam
from pubsub_delta.policy.access import Caller, check_enforceable, is_granted
from pubsub_delta.policy.iam import Binding, IamPolicy
from pubsub_delta.policy.permissions import NeededPermission, needed_permissions
from pubsub_delta.resources import Subscription
from pubsub_delta.server.policy_files import PolicyFile
from pubsub_delta.server.protocol import IAM_POLICY, PUBLISHER, SUBSCRIBER
from pubsub_delta.server.status import PermissionDenied
from pubsub_delta.server.stored_policies import StoredPolicies
from pubsub_delta.tables.store import Tables

logger = logging.getLogger("pubsub_delta.server")

LOOK = 1.0
"""Seconds from one look at the policy file to the next."""
STREAM_CHECK = 5.0
"""Seconds from one check of an open stream to the next."""

_CHANGE_POLICIES = frozenset(
    {
        f"{IAM_POLICY}/SetIamPolicy",
        f"{PUBLISHER}/DeleteTopic",
        f"{SUBSCRIBER}/DeleteSubscription",
        f"{SUBSCRIBER}/DeleteSnapshot",
    }
)


class Access:
    """Tells who calls, and refuses what they may not.

    Args:
        file: the policy file.
        stored: the bindings that are stored with resources.
        subscription: finds a subscription by its name, or None. It may wait for the store.
        now: what tells the time.
        stream_check: seconds from one check of an open stream to the next.
    """

    def __init__(
        self,
        file: PolicyFile,
        stored: StoredPolicies,
        subscription: Callable[[str], Subscription | None],
        now: Callable[[], datetime],
        stream_check: float = STREAM_CHECK,
    ) -> None:
        self._file = file
        self._stored = stored
        self._subscription = subscription
        self._now = now
        self._stream_check = stream_check
        self._cannot_forward: set[str] = set()

    # Who calls

    def authenticate(self, authorization: str | bytes) -> Caller:
        """Return whose an ``authorization`` is; Unauthenticated if it is nobody's."""
        return self._file.loaded.callers.of(authorization, self._now())

    # What they may do

    async def check(self, method: str, request: Any, context: Any) -> None:
        """Raise PermissionDenied unless the caller has what a method needs for a request."""
        await self._check(
            self.authenticate(_authorization(context)), needed_permissions(method, request)
        )

    async def checked(self, method: str, requests: Any, context: Any) -> AsyncIterator[Any]:
        """Yield the requests of a stream, as long as its caller has what it needs.

        The first request is checked before it is given on. Then it is looked at every few seconds
        whether the token is still known, and permits as much, by the policy of that time. A token
        that has expired meanwhile ends no stream.
        """
        authorization, opened = _authorization(context), self._now()
        needed: list[NeededPermission] = []
        iterator = aiter(requests)
        coming = asyncio.ensure_future(_next(iterator))
        due = uptime()
        try:
            while True:
                await asyncio.wait({coming}, timeout=due - uptime() if needed else None)
                if not needed:
                    first = coming.result()
                    needed = [] if first is None else needed_permissions(method, first)
                if needed and uptime() >= due:
                    caller = self._file.loaded.callers.of(authorization, opened)
                    await self._check(caller, needed)
                    due = uptime() + self._stream_check
                if coming.done():
                    request = coming.result()
                    if request is None:
                        return
                    coming = asyncio.ensure_future(_next(iterator))
                    yield request
        finally:
            coming.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await coming

    async def granted(self, context: Any, resource: str, permissions: Iterable[str]) -> list[str]:
        """Return which of some permissions the caller has on a resource."""
        caller = self.authenticate(_authorization(context))
        return [each for each in permissions if await self._has(caller, each, resource)]

    def check_stored(self, policy: IamPolicy) -> None:
        """Refuse to store a policy with bindings that would grant nothing."""
        check_enforceable(self._file.loaded.policy, policy)

    def done(self, method: str) -> None:
        """Look at the stored policies again after a method that may have changed one."""
        if method in _CHANGE_POLICIES:
            self._stored.forget()

    async def _check(self, caller: Caller, needed: Sequence[NeededPermission]) -> None:
        for each in needed:
            resource = await self._resource(each)
            if resource and not await self._has(caller, each.permission, resource):
                logger.info("%s lacks %s on %s", caller.member, each.permission, resource)
                raise PermissionDenied("User not authorized to perform this action.")

    async def _resource(self, needed: NeededPermission) -> str | None:
        """Return on what a permission is needed; None where it is not needed after all."""
        name = needed.topic_of or needed.account_of
        if not name:
            return needed.resource
        found = await asyncio.to_thread(self._subscription, name)
        if needed.account_of:
            token = found and found.push_config and found.push_config.oidc_token
            return (
                f"{needed.resource}/serviceAccounts/{token.service_account_email}"
                if token
                else None
            )
        return needed.resource if found is None or found.topic == DELETED_TOPIC else found.topic

    async def _has(self, caller: Caller, permission: str, resource: str) -> bool:
        policy = self._file.loaded.policy
        if is_granted(policy, caller, permission, resource):
            return True
        bindings = self._stored.known()
        if bindings is None:
            bindings = await asyncio.to_thread(self._stored.current)
        return is_granted(policy, caller, permission, resource, lambda of: bindings.get(of, ()))

    # Dead letters

    def may_forward(self, subscription: Subscription) -> bool:
        """Tell whether dead letters of a subscription may be forwarded; it may wait for the store.

        Pub/Sub: its service account needs to publish to the dead-letter topic and to acknowledge
        to the subscription. Without that it forwards nothing, and counts no delivery attempts.
        """
        if subscription.dead_letter_policy is None:
            return True
        policy = self._file.loaded.policy
        forwarder = policy.forwarder(subscription.name.split("/")[1])
        topic = subscription.dead_letter_policy.dead_letter_topic
        needed = (
            ("pubsub.topics.publish", topic, "roles/pubsub.publisher"),
            ("pubsub.subscriptions.consume", subscription.name, "roles/pubsub.subscriber"),
        )
        for permission, resource, role in needed:
            if not is_granted(policy, forwarder, permission, resource, self._stored_on):
                if subscription.name not in self._cannot_forward:
                    self._cannot_forward.add(subscription.name)
                    logger.warning(
                        "%s: no dead letters are forwarded, and no delivery attempts counted: %s "
                        "needs %s on %s",
                        subscription.name,
                        forwarder.member,
                        role,
                        resource,
                    )
                return False
        self._cannot_forward.discard(subscription.name)
        return True

    def _stored_on(self, resource: str) -> Sequence[Binding]:
        return self._stored.current().get(resource, ())

    # The policy file

    async def watch(self) -> None:
        """Read the policy file again whenever it has changed."""
        while True:
            await asyncio.sleep(LOOK)
            try:
                await asyncio.to_thread(self._file.look)
            except Exception:
                logger.exception("the policy file could not be looked at")

    async def reload(self) -> None:
        """Read the policy file again, also where it looks unchanged."""
        await asyncio.to_thread(self._file.reload)


def _authorization(context: Any) -> str | bytes:
    found: str | bytes = dict(context.invocation_metadata() or ()).get("authorization", "")
    return found


class _Store:
    """What a store tells about who may do what; it is not opened before it is asked."""

    def __init__(self, tables: Callable[[], Tables], now: Callable[[], datetime]) -> None:
        self._tables = tables
        self._now = now

    def bindings(self) -> dict[str, tuple[Binding, ...]]:
        return iam.get_bindings(self._tables(), self._now())

    def subscription(self, name: str) -> Subscription | None:
        return self._tables().registry.subscription(name)


def store_access(path: Path, tables: Callable[[], Tables], now: Callable[[], datetime]) -> Access:
    """Return the access that a policy file gives to a store; InvalidArgument if it is wrong."""
    store = _Store(tables, now)
    return Access(PolicyFile(path), StoredPolicies(store.bindings), store.subscription, now)


def may_forward(access: Access | None) -> Callable[[Subscription], bool]:
    """Return what tells whether dead letters of a subscription may be forwarded."""
    return (lambda _: True) if access is None else access.may_forward


async def _next(iterator: Any) -> Any:
    return await anext(iterator, None)
