"""Transcodes HTTP requests to protobuf messages, and responses to JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf import json_format

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.server.rest import parameters, payload
from pubsub_delta.server.rest.bindings import Binding

HTTP_CODES = {
    "OK": 200,
    "CANCELLED": 499,
    "UNKNOWN": 500,
    "INVALID_ARGUMENT": 400,
    "DEADLINE_EXCEEDED": 504,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "PERMISSION_DENIED": 403,
    "RESOURCE_EXHAUSTED": 429,
    "FAILED_PRECONDITION": 400,
    "ABORTED": 409,
    "OUT_OF_RANGE": 400,
    "UNIMPLEMENTED": 501,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    "DATA_LOSS": 500,
    "UNAUTHENTICATED": 401,
}
"""The HTTP status of each canonical code (google/rpc/code.proto)."""


def request_of(
    binding: Binding,
    variables: Mapping[str, str],
    fields: Mapping[str, Sequence[str]],
    body: bytes,
) -> Any:
    """Return the request message of an HTTP request.

    google.api.http: variables of the path override the body and the query. Pub/Sub: the query may
    give fields even if the body is the whole message, as in ``?updateMask=labels``.
    """
    message = binding.method.request()
    _read_body(binding, payload.loaded(body), message)
    if fields:
        named = binding.method.request()
        payload.read(parameters.as_json(fields, message.DESCRIPTOR), named)
        message.MergeFrom(named)
    for path, value in variables.items():
        *parents, last = path.split(".")
        inside = message
        for parent in parents:
            inside = getattr(inside, parent)
        setattr(inside, last, value)
    return message


def _read_body(binding: Binding, value: Any, message: Any) -> None:
    if binding.body == "*":
        if value is not None:
            payload.read(value, message)
    elif binding.body:
        payload.read({binding.body: {} if value is None else value}, message)
    elif value not in (None, {}):
        raise InvalidArgument(f"body: {binding.name} takes no body; give its fields in the query")


def response_of(message: Any, *, enums_as_numbers: bool) -> dict[str, Any]:
    """Return a message as JSON, with names in camelCase and without empty fields."""
    written: dict[str, Any] = json_format.MessageToDict(
        message, use_integers_for_enums=enums_as_numbers
    )
    return written


def error_of(status: Any, code: str) -> dict[str, Any]:
    """Return a google.rpc.Status as Google's REST APIs write it."""
    error = {
        "code": HTTP_CODES[code],
        "message": status.message,
        "status": code,
        "details": [json_format.MessageToDict(each) for each in status.details],
    }
    return {"error": {name: value for name, value in error.items() if value not in ("", [])}}


def text_of(value: Mapping[str, Any], *, pretty: bool) -> bytes:
    """Write JSON, indented or compact."""
    if pretty:
        return json.dumps(value, indent=2, ensure_ascii=False).encode() + b"\n"
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
