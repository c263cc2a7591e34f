"""Errors as gRPC tells them: the canonical code, a message, and details that clients parse."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc import error_details_pb2, status_pb2

from pubsub_delta.errors import PubSubError
from pubsub_delta.server.protocol import grpc
from pubsub_delta.server.reasons import INVALID_ACK_ID

logger = logging.getLogger("pubsub_delta.server")

DOMAIN = "pubsub.googleapis.com"
"""Pub/Sub's own: clients look for it."""
ACK_ID_FAILURE = "EXACTLY_ONCE_ACKID_FAILURE"

DETAILS = "grpc-status-details-bin"
"""The metadata in which gRPC sends a google.rpc.Status."""


class AckIdFailure(PubSubError):
    """Some ack ids of a request failed on a subscription with exactly-once delivery.

    Clients read from the details which ids failed, and why. Where others of the same request
    succeeded, the code is one at which clients try those again, and that succeeds at once: their
    success cannot be told beside an error.
    """

    def __init__(self, failures: Mapping[str, str], *, of: int) -> None:
        super().__init__(
            f"{len(failures)} of {of} ack ids failed; their leases are over, they were "
            "acknowledged already, or they are not of this subscription"
        )
        self.failures = dict(failures)
        permanent = all(reason == INVALID_ACK_ID for reason in failures.values())
        whole = permanent and len(failures) == of
        self.code = "FAILED_PRECONDITION" if whole else "ABORTED"  # type: ignore[misc]


class Unavailable(PubSubError):
    """The server is about to end; another one, or the same one later, will answer."""

    code = "UNAVAILABLE"


class Unauthenticated(PubSubError):
    """The request carries no valid credentials."""

    code = "UNAUTHENTICATED"


def code_of(error: BaseException) -> str:
    """Return the canonical code of an error; INTERNAL if nobody meant it."""
    return error.code if isinstance(error, PubSubError) else "INTERNAL"


def status_of(error: BaseException) -> Any:
    """Return an error as a google.rpc.Status, with an ErrorInfo."""
    code = code_of(error)
    message = str(error) if isinstance(error, PubSubError) else _unexpected(error)
    info = error_details_pb2.ErrorInfo(reason=code, domain=DOMAIN)
    if isinstance(error, AckIdFailure):
        info.reason = ACK_ID_FAILURE
        info.metadata.update(error.failures)
    detail = AnyMessage()
    detail.Pack(info)
    number = getattr(grpc.StatusCode, code).value[0]
    return status_pb2.Status(code=number, message=message, details=[detail])


async def abort(context: Any, error: BaseException) -> None:
    """End a call with an error."""
    if not isinstance(error, PubSubError):
        logger.error("a request failed unexpectedly", exc_info=error)
    status = status_of(error)
    await context.abort(
        getattr(grpc.StatusCode, code_of(error)),
        status.message,
        trailing_metadata=((DETAILS, status.SerializeToString()),),
    )


def _unexpected(error: BaseException) -> str:
    first = next(iter(str(error).splitlines()), "")
    return f"{type(error).__name__}: {first}"[:500]
