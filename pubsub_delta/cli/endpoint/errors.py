"""Errors of a server and of the connection, as errors of the library."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from pubsub_delta.errors import (
    Aborted,
    AlreadyExists,
    DataLoss,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    PubSubError,
    ResourceExhausted,
    Unavailable,
    Unimplemented,
    Unknown,
)
from pubsub_delta.server.ack_failures import INVALID_ACK_ID, OF_OTHERS
from pubsub_delta.server.grpc_services import grpc
from pubsub_delta.server.status import (
    ACK_ID_FAILURE,
    DETAILS,
    PermissionDenied,
    Unauthenticated,
)

_CLASSES = (
    InvalidArgument,
    NotFound,
    AlreadyExists,
    FailedPrecondition,
    Aborted,
    ResourceExhausted,
    Unimplemented,
    DataLoss,
    Unknown,
    Unavailable,
    Unauthenticated,
    PermissionDenied,
)
_NOT_CONNECTED = ("failed to connect", "errors resolving", "DNS resolution failed")
"""How gRPC begins the error of a request that it could send to nobody."""
_BY_CODE: Mapping[str, type[PubSubError]] = {each.code: each for each in _CLASSES}


class StatusError(PubSubError):
    """An error with a canonical code that has no class."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code  # type: ignore[misc]


class AckIdsError(StatusError):
    """Some ack IDs of a request failed. ``reasons``: by ack ID.

    A server names as many ack IDs as fit in the error; the code holds for the others.
    """

    def __init__(self, code: str, message: str, reasons: Mapping[str, str]) -> None:
        super().__init__(code, message)
        self.reasons = dict(reasons)

    def invalid(self, ack_ids: Iterable[str]) -> set[str] | None:
        """Return the ack IDs of the request that failed permanently.

        The others can be sent again. None if no ack ID failed permanently for certain.
        """
        if not set(self.reasons.values()) <= {INVALID_ACK_ID, OF_OTHERS}:
            return None
        unnamed = INVALID_ACK_ID if self.code == InvalidArgument.code else OF_OTHERS
        why = {each: self.reasons.get(each, unnamed) for each in ack_ids}
        return {each for each, reason in why.items() if reason == INVALID_ACK_ID} or None


def error_of(error: Any, address: str, seconds: float) -> PubSubError:
    """Return the error of the library for a failed call, with the server's message.

    Args:
        error: the error of gRPC.
        address: the address of the server.
        seconds: the timeout of the call.
    """
    code, text = error.code(), " ".join((error.details() or "no reason was given").split())
    known_status = _status_of(error)
    if known_status is None and code == grpc.StatusCode.UNAVAILABLE:
        why = text.rpartition("last error: ")[2]
        if not text.startswith(_NOT_CONNECTED):
            return Unknown(
                f"endpoint: no response came from {address} ({why}); the server may have carried "
                "out the request: ask it, before the request is sent again"
            )
        return Unavailable(
            f"endpoint: no server can be reached at {address} ({why}); "
            "the address where `pubsub-delta serve` listens is accepted, with --endpoint-tls if it "
            "has a certificate"
        )
    if known_status is None and code == grpc.StatusCode.DEADLINE_EXCEEDED:
        return StatusError(
            code.name,
            f"endpoint: {address} did not respond within {seconds:g} seconds; the server may "
            "have carried out the request",
        )
    reasons = {} if known_status is None else _ack_ids_of(known_status)
    if reasons:
        return AckIdsError(code.name, text, reasons)
    made = _BY_CODE.get(code.name)
    return StatusError(code.name, text) if made is None else made(text)


def _status_of(error: Any) -> Any | None:
    """Return the google.rpc.Status of an error; None if the server sent none.

    One that cannot be read is empty: the code and the message of the error came apart from it.
    """
    sent = dict(error.trailing_metadata() or ()).get(DETAILS)
    try:
        return None if sent is None else status_pb2.Status.FromString(sent)
    except DecodeError:
        return status_pb2.Status()


def _ack_ids_of(status: Any) -> dict[str, str]:
    """Return the reasons of failed ack IDs in a google.rpc.Status."""
    info = error_details_pb2.ErrorInfo()
    with suppress(DecodeError):
        for detail in status.details:
            if detail.Unpack(info) and info.reason == ACK_ID_FAILURE:
                return dict(info.metadata)
    return {}
