"""The HTTP requests that push messages, and the status codes that acknowledge them."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pubsub_delta import __version__
from pubsub_delta.clock import UTC
from pubsub_delta.resources import PushConfig, ReceivedMessage

SUCCESSES = frozenset({"102", "200", "201", "202", "204"})
"""The status codes that acknowledge a message (Pub/Sub: any other is a nack)."""

_USER_AGENT = f"pubsub-delta/{__version__}"
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"[!-~](?:[ -~]*[!-~])?|")
_RESERVED = re.compile(
    r"x-goog-pubsub-.*|authorization|host|user-agent|connection|content-length|content-encoding|expect|"
    r"keep-alive|proxy(?:-.*)?|te|trailer|transfer-encoding|upgrade",
    re.IGNORECASE,
)
"""Headers that no attribute may set: those of the sender, the request and the connection.

They are matched with ``-`` for ``_``: many receivers (CGI, WSGI) read both as one header.
"""


@dataclass(frozen=True)
class PushRequest:
    """The headers and the body of a POST."""

    headers: list[tuple[str, str]]
    body: bytes


def push_request(
    config: PushConfig, subscription: str, received: ReceivedMessage, token: str | None = None
) -> PushRequest:
    """Return the request that pushes a message of a subscription.

    Pub/Sub: the body is JSON with the message. With ``no_wrapper`` it is the data alone, and
    ``write_metadata`` writes the metadata to headers. ``token``: the OIDC token, if there is one.
    """
    request = _bare_request(config, subscription, received)
    if token is None:
        return request
    headers = [*request.headers, ("Authorization", f"Bearer {token}")]
    return PushRequest(headers, request.body)


def _bare_request(config: PushConfig, subscription: str, received: ReceivedMessage) -> PushRequest:
    if config.no_wrapper is None:
        body = json.dumps(_wrapped(subscription, received), separators=(",", ":")).encode()
        return PushRequest(_headers(("Content-Type", "application/json")), body)
    if not config.no_wrapper.write_metadata:
        return PushRequest(_headers(("Content-Type", "application/octet-stream")), received.data)
    metadata = _metadata(subscription, received)
    if not any(name.lower() == "content-type" for name, _ in metadata):
        metadata.append(("Content-Type", "application/octet-stream"))
    return PushRequest(_headers(*metadata), received.data)


def _headers(*more: tuple[str, str]) -> list[tuple[str, str]]:
    return [("User-Agent", _USER_AGENT), *more]


def _wrapped(subscription: str, received: ReceivedMessage) -> dict[str, Any]:
    """Return a message as Google's JSON; empty fields are left out."""
    time = _time_text(received.publish_time)
    message: dict[str, Any] = {
        "data": base64.b64encode(received.data).decode("ascii"),
        "attributes": dict(received.attributes),
        "messageId": received.message_id,
        "message_id": received.message_id,
        "publishTime": time,
        "publish_time": time,
        "orderingKey": received.ordering_key,
    }
    payload: dict[str, Any] = {
        "message": {name: value for name, value in message.items() if value},
        "subscription": subscription,
    }
    if received.delivery_attempt is not None:
        payload["deliveryAttempt"] = received.delivery_attempt
    return payload


def _metadata(subscription: str, received: ReceivedMessage) -> list[tuple[str, str]]:
    """Return the metadata of a message as headers, and the attributes that can be headers."""
    payload = {
        "x-goog-pubsub-subscription-name": subscription,
        "x-goog-pubsub-message-id": received.message_id,
        "x-goog-pubsub-publish-time": _time_text(received.publish_time),
        "x-goog-pubsub-ordering-key": received.ordering_key,
    }
    if received.delivery_attempt is not None:
        payload["x-goog-pubsub-delivery-attempt"] = str(received.delivery_attempt)
    attributes = received.attributes.items()
    free = [
        (name, value)
        for name, value in attributes
        if not _RESERVED.fullmatch(name.replace("_", "-"))
    ]
    found = [(name, value) for name, value in payload.items() if value] + free
    return [each for each in found if _NAME.fullmatch(each[0]) and _VALUE.fullmatch(each[1])]


def _time_text(time: datetime) -> str:
    """Return a time in RFC 3339, in UTC, with as many digits as Google writes.

    >>> _time_text(datetime(2026, 1, 1, 0, 0, 0, 250_000, UTC))
    '2026-01-01T00:00:00.250Z'
    """
    digits = "microseconds" if time.microsecond % 1000 else "milliseconds"
    return time.astimezone(UTC).isoformat(timespec=digits).replace("+00:00", "Z")
