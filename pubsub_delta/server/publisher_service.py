"""google.pubsub.v1.Publisher on a store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from itertools import accumulate
from typing import Any

from google.protobuf.empty_pb2 import Empty

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.names import topic_name
from pubsub_delta.policy.messages import as_message, size_of
from pubsub_delta.resources import Page, Topic
from pubsub_delta.server import partial_updates, update_masks, wire
from pubsub_delta.server.grpc_services import message_class
from pubsub_delta.server.hub import Hub
from pubsub_delta.tables.store import detached

MOST_MESSAGES = 1000
"""The most messages in one publish request (Pub/Sub's limit)."""
MOST_BYTES = 10_000_000
"""The most bytes of one publish request: data, attributes and ordering keys (Pub/Sub's limit)."""
MOST_LISTED = 1000
MOST_LISTED_BYTES = 3_000_000
"""The most entries of one page of a listing, and their bytes: clients accept responses of 4 MiB."""

_Published = message_class("PublishResponse")
_Topics = message_class("ListTopicsResponse")
_Subscriptions = message_class("ListTopicSubscriptionsResponse")
_Snapshots = message_class("ListTopicSnapshotsResponse")
_Detached = message_class("DetachSubscriptionResponse")


class PublisherService:
    """Topics, and publishing to them."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._admin = hub.backend.administration
        self._do = hub.backend.administer

    async def create_topic(self, request: Any, _: Any) -> Any:
        """Create a topic."""
        name, fields = wire.full_name(request.name, "topic", "name"), wire.topic_fields(request)
        return wire.topic_message(await self._do(self._admin.create_topic, name, **fields))

    async def get_topic(self, request: Any, _: Any) -> Any:
        """Return a topic."""
        name = wire.full_name(request.topic, "topic")
        return wire.topic_message(await self._do(self._admin.get_topic, name))

    async def update_topic(self, request: Any, _: Any) -> Any:
        """Change the fields of a topic that the mask names."""
        name = wire.full_name(request.topic.name, "topic", "topic.name")

        async def write(stored: Topic, unchanged: Topic | None) -> Any:
            present = wire.topic_message(stored)
            fields = update_masks.changed_fields(
                request.topic, request.update_mask, present, wire.TOPIC_FIELDS
            )
            update = partial(self._admin.update_topic, name, if_unchanged=unchanged, **fields)
            return wire.topic_message(await self._do(update))

        read = partial(self._do, self._admin.get_topic, name)
        return await partial_updates.update(request.update_mask, read, write)

    async def delete_topic(self, request: Any, _: Any) -> Any:
        """Delete a topic."""
        name = wire.full_name(request.topic, "topic")
        await self._do(self._admin.delete_topic, name)
        return Empty()

    async def list_topics(self, request: Any, _: Any) -> Any:
        """List the topics of a project."""
        project = wire.project_of(request.project)
        fetch = partial(self._do, self._admin.list_topics, project=project)
        topics, token = await listed(fetch, wire.topic_message, request)
        return _Topics(topics=topics, next_page_token=token)

    async def list_topic_subscriptions(self, request: Any, _: Any) -> Any:
        """List the names of the subscriptions of a topic."""
        topic = wire.full_name(request.topic, "topic")
        page = await self._do(self._admin.list_topic_subscriptions, topic, **paging(request))
        return _Subscriptions(subscriptions=page, next_page_token=page.next_page_token)

    async def list_topic_snapshots(self, request: Any, _: Any) -> Any:
        """List the names of the snapshots of a topic."""
        topic = wire.full_name(request.topic, "topic")
        page = await self._do(self._admin.list_topic_snapshots, topic, **paging(request))
        return _Snapshots(snapshots=page, next_page_token=page.next_page_token)

    async def detach_subscription(self, request: Any, _: Any) -> Any:
        """Detach a subscription from its topic."""
        name = wire.full_name(request.subscription, "subscription")
        await self._do(self._admin.detach_subscription, name)
        dispatcher = self._hub.running(name)
        if dispatcher is not None:
            dispatcher.close(detached(name))
        return _Detached()

    async def publish(self, request: Any, _: Any) -> Any:
        """Publish messages; the response comes when they are committed."""
        count = len(request.messages)
        if not 1 <= count <= MOST_MESSAGES:
            raise InvalidArgument(
                f"messages: {count} of them in a request; 1 to {MOST_MESSAGES} are accepted"
            )
        topic = str(topic_name(wire.full_name(request.topic, "topic"), ""))
        messages = [
            as_message(message, index)
            for index, message in enumerate(wire.published_messages(request))
        ]
        size = sum(map(size_of, messages))
        if size > MOST_BYTES:
            raise InvalidArgument(
                f"messages: {size:,} bytes in a request; up to {MOST_BYTES:,} bytes of data, "
                "attributes and ordering keys are accepted"
            )
        ids = await self._hub.publish(topic, messages, size)
        return _Published(message_ids=ids)


def paging(request: Any) -> dict[str, Any]:
    """Return the requested page: its size, at most 1,000, and its token."""
    if request.page_size < 0:
        raise InvalidArgument(
            f"page_size: {request.page_size}; 0 (the default) or more is accepted"
        )
    size = min(request.page_size or MOST_LISTED, MOST_LISTED)
    return {"page_size": size, "page_token": request.page_token}


async def listed(
    fetch: Callable[..., Awaitable[Page[Any]]], shown: Callable[[Any], Any], request: Any
) -> tuple[list[Any], str]:
    """Return the requested page as protobuf messages, and the token of the next page.

    It ends earlier than was asked for, before ``MOST_LISTED_BYTES``, as a page may (AIP-158).

    Args:
        fetch: returns a page, given ``page_size`` and ``page_token``.
        shown: returns the message of an entry.
        request: the request, with the fields of a listing.
    """
    wanted = paging(request)
    page = await fetch(**wanted)
    messages = [shown(each) for each in page]
    sizes = accumulate(message.ByteSize() for message in messages)
    fitting = max(1, sum(size <= MOST_LISTED_BYTES for size in sizes))
    if fitting < len(page):
        page = await fetch(page_size=fitting, page_token=request.page_token)
        messages = [shown(each) for each in page]
    return messages, page.next_page_token
