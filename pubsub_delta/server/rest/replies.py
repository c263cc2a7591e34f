"""Replies: what is sent back for a request, errors as Google's REST interfaces write them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pubsub_delta.errors import PubSubError
from pubsub_delta.server.rest import transcoding
from pubsub_delta.server.status import code_of, status_of

_JSON = "application/json; charset=UTF-8"
_KEPT = 3_600
"""Seconds for which a document is kept; a key that it names signs a day later."""


@dataclass(frozen=True)
class Head:
    """The beginning of a request: its line and its headers, with names in lower case."""

    verb: str
    path: str
    query: str
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Reply:
    """A status, headers and a body."""

    status: int
    body: bytes
    content_type: str = _JSON
    headers: Mapping[str, str] = field(default_factory=dict)


OK = Reply(200, b"Ok\n", "text/plain; charset=UTF-8")
"""What ``GET /`` is answered, as by Google's emulator."""


def json_reply(value: Mapping[str, Any], *, pretty: bool = True) -> Reply:
    """Return a reply that went well."""
    return Reply(200, transcoding.text_of(value, pretty=pretty))


def document_reply(value: Mapping[str, Any]) -> Reply:
    """Return a document that is for everybody, and that may be kept for a while."""
    kept = {"Cache-Control": f"public, max-age={_KEPT}"}
    return Reply(200, transcoding.text_of(value, pretty=True), headers=kept)


def status_reply(status: Any, code: str, *, pretty: bool = True) -> Reply:
    """Return the reply of a google.rpc.Status with a canonical code."""
    body = transcoding.text_of(transcoding.error_of(status, code), pretty=pretty)
    headers = {"WWW-Authenticate": "Bearer"} if code == "UNAUTHENTICATED" else {}
    return Reply(transcoding.HTTP_CODES[code], body, headers=headers)


def error_reply(error: PubSubError, *, pretty: bool = True) -> Reply:
    """Return the reply of an error."""
    return status_reply(status_of(error), code_of(error), pretty=pretty)
