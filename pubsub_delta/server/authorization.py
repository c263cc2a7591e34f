"""Authorization: roles permit a caller, who is known by a token, to call a method.

The server checks a call before it looks for the resource, so the error does not reveal whether the
resource exists. It reads the policy file first, then the policies that are stored with resources.
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
from pubsub_delta.operations.administer import DeadLetterTopicInUse, dead_letter_topic_in_use
from pubsub_delta.policy.access import Caller, check_enforceable, is_granted
from pubsub_delta.policy.iam import Binding, IamPolicy
from pubsub_delta.policy.permissions import NeededPermission, needed_permissions
from pubsub_delta.resources import Subscription
from pubsub_delta.server.grpc_services import IAM_POLICY, PUBLISHER, SUBSCRIBER
from pubsub_delta.server.policy_files import PolicyFile
from pubsub_delta.server.status import PermissionDenied
from pubsub_delta.server.stored_policies import StoredPolicies
from pubsub_delta.tables.store import Tables

logger = logging.getLogger("pubsub_delta.server")

RELOAD_CHECK_SECONDS = 1.0
"""The time between two checks of the policy file for changes."""
STREAM_CHECK = 5.0
"""Seconds between two checks of an open stream."""

_CHANGE_POLICIES = frozenset(
    {
        f"{IAM_POLICY}/SetIamPolicy",
        *(f"{PUBLISHER}/{verb}Topic" for verb in ("Create", "Delete")),
        *(f"{SUBSCRIBER}/{verb}Subscription" for verb in ("Create", "Delete")),
        *(f"{SUBSCRIBER}/{verb}Snapshot" for verb in ("Create", "Delete")),
    }
)
"""A new resource has no policy, where the cache may have that of an earlier one of its name, which
another process has deleted or which has expired.
"""


class Authorizer:
    """Authenticates callers, and refuses calls that no role permits.

    Args:
        file: the policy file.
        stored: the policies that are stored with resources.
        subscription: returns a subscription by its name, or None; it may wait for the store.
        now: returns the time.
    """

    def __init__(
        self,
        file: PolicyFile,
        stored: StoredPolicies,
        subscription: Callable[[str], Subscription | None],
        now: Callable[[], datetime],
    ) -> None:
        self._file = file
        self._stored = stored
        self._subscription = subscription
        self._now = now
        self._stream_check = STREAM_CHECK
        self._cannot_forward: set[str] = set()

    # Authentication

    def authenticate(self, authorization: str | bytes) -> Caller:
        """Return the caller that sent an ``authorization``; Unauthenticated if it is not valid."""
        return self._file.loaded.authenticator.authenticate(authorization, self._now())

    # Authorization

    async def check(self, method: str, request: Any, context: Any) -> None:
        """Raise PermissionDenied unless the caller has the permissions that a request needs."""
        await self._check(
            self.authenticate(_authorization(context)), needed_permissions(method, request)
        )

    async def checked(self, method: str, requests: Any, context: Any) -> AsyncIterator[Any]:
        """Yield the requests of a stream while its caller has the permissions for it.

        The first request is checked before it is yielded. After that the token and its permissions
        are checked every ``STREAM_CHECK`` seconds against the current policy. A token that expires
        meanwhile does not end the stream.
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
                    caller = self._file.loaded.authenticator.authenticate(authorization, opened)
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
        """Return those of some permissions that the caller has on a resource."""
        caller = self.authenticate(_authorization(context))
        return [each for each in permissions if await self._has(caller, each, resource)]

    async def named_to(self, context: Any, error: DeadLetterTopicInUse) -> DeadLetterTopicInUse:
        """Return an error that names only the subscriptions that its caller may get."""
        get = ["pubsub.subscriptions.get"]
        seen = [each for each in error.users if await self.granted(context, each, get)]
        return dead_letter_topic_in_use(error.topic, seen, len(error.users) - len(seen))

    def check_stored(self, policy: IamPolicy) -> None:
        """Raise InvalidArgument for a policy with a binding that would grant nothing."""
        check_enforceable(self._file.loaded.policy, policy)

    def done(self, method: str) -> None:
        """Drop the cached policies after a method that changes what they are."""
        if method in _CHANGE_POLICIES:
            self._stored.forget()

    async def _check(self, caller: Caller, needed: Sequence[NeededPermission]) -> None:
        for each in needed:
            resource = await self._resource(each)
            if resource and not await self._has(caller, each.permission, resource):
                logger.info("%s lacks %s on %s", caller.member, each.permission, resource)
                raise PermissionDenied("User not authorized to perform this action.")

    async def _resource(self, needed: NeededPermission) -> str | None:
        """Return the resource that a permission is needed on; None if no permission is needed."""
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
        bindings = self._stored.cached()
        if bindings is None:
            bindings = await asyncio.to_thread(self._stored.current)
        return is_granted(policy, caller, permission, resource, lambda of: bindings.get(of, ()))

    # Dead letters

    def may_forward(self, subscription: Subscription) -> bool:
        """Return whether the server may forward a subscription's dead letters; can read the store.

        Pub/Sub: its service account needs the permissions to publish to the dead-letter topic and
        to acknowledge messages of the subscription. Without them Pub/Sub forwards no messages, and
        counts no delivery attempts.
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
                        "%s: dead letters are not forwarded, and delivery attempts not counted: %s "
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
            await asyncio.sleep(RELOAD_CHECK_SECONDS)
            try:
                await asyncio.to_thread(self._file.reload_if_changed)
            except Exception:
                logger.exception("the policy file could not be checked for changes")

    async def reload(self) -> None:
        """Read the policy file again, even if it seems unchanged."""
        await asyncio.to_thread(self._file.reload)


def _authorization(context: Any) -> str | bytes:
    found: str | bytes = dict(context.invocation_metadata() or ()).get("authorization", "")
    return found


class _Store:
    """Reads policies and subscriptions from a store, which is opened with the first read."""

    def __init__(self, tables: Callable[[], Tables], now: Callable[[], datetime]) -> None:
        self._tables = tables
        self._now = now

    def bindings(self) -> dict[str, tuple[Binding, ...]]:
        return iam.get_bindings(self._tables(), self._now())

    def subscription(self, name: str) -> Subscription | None:
        return self._tables().registry.subscription(name)


def store_authorizer(
    path: Path, tables: Callable[[], Tables], now: Callable[[], datetime]
) -> Authorizer:
    """Return the authorizer of a store by a policy file; InvalidArgument if the file is wrong."""
    store = _Store(tables, now)
    return Authorizer(PolicyFile(path), StoredPolicies(store.bindings), store.subscription, now)


def may_forward(access: Authorizer | None) -> Callable[[Subscription], bool]:
    """Return the check whether dead letters of a subscription may be forwarded."""
    return (lambda _: True) if access is None else access.may_forward


async def _next(iterator: Any) -> Any:
    return await anext(iterator, None)
