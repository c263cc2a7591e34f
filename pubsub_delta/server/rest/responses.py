"""HTTP responses: JSON, documents, and errors as Google's REST APIs write them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pubsub_delta.errors import PubSubError
from pubsub_delta.server.rest import transcoding
from pubsub_delta.server.status import code_of, status_of

_JSON = "application/json; charset=UTF-8"
_KEPT = 3_600
"""Seconds that a document may be cached; a new key is used a day after it is published."""


@dataclass(frozen=True)
class RequestHead:
    """The request line and the headers; header names are in lower case."""

    verb: str
    path: str
    query: str
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Response:
    """An HTTP response."""

    status: int
    body: bytes
    content_type: str = _JSON
    headers: Mapping[str, str] = field(default_factory=dict)


OK = Response(200, b"Ok\n", "text/plain; charset=UTF-8")
"""The response to ``GET /``, as of Google's emulator."""


def json_response(value: Mapping[str, Any], *, pretty: bool = True) -> Response:
    """Return a successful response."""
    return Response(200, transcoding.text_of(value, pretty=pretty))


def document_response(value: Mapping[str, Any]) -> Response:
    """Return the response with a public document, which may be cached."""
    kept = {"Cache-Control": f"public, max-age={_KEPT}"}
    return Response(200, transcoding.text_of(value, pretty=True), headers=kept)


def status_response(status: Any, code: str, *, pretty: bool = True) -> Response:
    """Return the response for a google.rpc.Status with a canonical code."""
    body = transcoding.text_of(transcoding.error_of(status, code), pretty=pretty)
    headers = {"WWW-Authenticate": "Bearer"} if code == "UNAUTHENTICATED" else {}
    return Response(transcoding.HTTP_CODES[code], body, headers=headers)


def error_response(error: PubSubError, *, pretty: bool = True) -> Response:
    """Return the response for an error."""
    return status_response(status_of(error), code_of(error), pretty=pretty)
