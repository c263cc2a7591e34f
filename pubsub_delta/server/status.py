"""Errors as google.rpc.Status: the canonical code, a message, and details that clients parse.

gRPC sends them as metadata, and clients accept 8 KiB of it. With more, the client's gRPC reports
RESOURCE_EXHAUSTED and drops the error of the server. So messages and details are shortened.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc import error_details_pb2, status_pb2

from pubsub_delta.errors import InvalidArgument, PubSubError, Unavailable, as_utf8, shortened
from pubsub_delta.server.ack_failures import INVALID_ACK_ID, OF_OTHERS
from pubsub_delta.server.grpc_services import grpc
from pubsub_delta.tables.lanes.storage_errors import StorageRefused

logger = logging.getLogger("pubsub_delta.server")

DOMAIN = "pubsub.googleapis.com"
"""Pub/Sub's domain, which clients check."""
ACK_ID_FAILURE = "EXACTLY_ONCE_ACKID_FAILURE"

DETAILS = "grpc-status-details-bin"
"""The metadata key of the google.rpc.Status."""

LONGEST_ACK_ID = 1_000
"""Bytes; a longer text is not an ack ID, and might not fit in the details."""
_MESSAGE_BYTES = 2_400
"""The limit of a percent-encoded message; gRPC sends it twice, once in the details."""
_NAMES_BYTES = 5_000
"""The limit of ack IDs and reasons in the details; base64 makes them a third larger."""
_AROUND_A_NAME = 10
"""Bytes of protobuf around the key and the value of a map entry."""


class AckIdFailure(PubSubError):
    """Some ack ids of a request failed on a subscription with exactly-once delivery.

    ``named``: the ids that the details of the response name, with a reason; there is not room for
    many. For an id that is not named clients use the code: after ABORTED they try it again, after
    INVALID_ARGUMENT it has failed. (Google's libraries for Python, Go and Node.js do so. The one
    for Java uses the names alone.) The protocol cannot report a success beside a failure: clients
    must try again what succeeded, or was not written as others failed. So that no failure is taken
    for a success, and clients repeat as few ids as possible:

    - All failed permanently: INVALID_ARGUMENT, whether all are named or not.
    - Some failed permanently, and there is room for all ids: all are named. INVALID_ARGUMENT.
    - There is room for the permanent failures: they are named. ABORTED; clients repeat the others.
    - There is room only for all others: they are named, to be repeated. INVALID_ARGUMENT.
    - Nothing failed permanently: ABORTED.
    - Neither: ABORTED. As many failures are named as there is room for. Clients repeat the rest,
    until one of the above cases holds.

    Args:
        failures: the ids that failed, and why.
        of: all ids of the request.
    """

    def __init__(self, failures: Mapping[str, str], *, of: Iterable[str]) -> None:
        asked = dict.fromkeys([*of, *failures])
        count = sum(why != OF_OTHERS for why in failures.values())
        super().__init__(
            f"{count} of {len(asked)} ack ids failed; their leases are over, they were "
            "acknowledged already, or they are not of this subscription"
        )
        lost = {each: why for each, why in failures.items() if why == INVALID_ACK_ID}
        again = {each: failures.get(each, OF_OTHERS) for each in asked if each not in lost}
        if lost and (not again or _fits({**again, **lost}) or (_fits(again) and not _fits(lost))):
            self.code = "INVALID_ARGUMENT"  # type: ignore[misc]
            self.named = _fitting({**again, **lost})
        else:
            self.code = "ABORTED"  # type: ignore[misc]
            self.named = _fitting({**lost, **failures})


class Unauthenticated(PubSubError):
    """The request carries no valid credentials."""

    code = "UNAUTHENTICATED"


class PermissionDenied(PubSubError):
    """The caller lacks a permission for the request."""

    code = "PERMISSION_DENIED"


def check_lengths(ack_ids: Iterable[str]) -> None:
    """Raise InvalidArgument for a text that is too long to be an ack ID."""
    for each in ack_ids:
        size = len(each.encode())
        if size > LONGEST_ACK_ID:
            raise InvalidArgument(
                f"ack_ids: {shortened(repr(each), 100)} of {size:,} bytes is not an ack id; the "
                "ack_id of a delivered message is accepted"
            )


def code_of(error: BaseException) -> str:
    """Return the canonical code of an error; INTERNAL for an unexpected error.

    A storage that refuses the server is UNAVAILABLE for its clients: they can do nothing about it,
    and their libraries try again.
    """
    if isinstance(error, StorageRefused):
        return Unavailable.code
    return error.code if isinstance(error, PubSubError) else "INTERNAL"


def status_of(error: BaseException) -> Any:
    """Return an error as a google.rpc.Status, with an ErrorInfo."""
    code = code_of(error)
    message = str(error) if isinstance(error, PubSubError) else _UNEXPECTED
    info = error_details_pb2.ErrorInfo(reason=code, domain=DOMAIN)
    if isinstance(error, AckIdFailure):
        info.reason = ACK_ID_FAILURE
        info.metadata.update(error.named)
    detail = AnyMessage()
    detail.Pack(info)
    number = getattr(grpc.StatusCode, code).value[0]
    return status_pb2.Status(code=number, message=_sendable(message), details=[detail])


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


_UNEXPECTED = "the server failed unexpectedly; its log has the traceback"


def _sendable(message: str) -> str:
    """Return a message in UTF-8 whose percent-encoding fits in ``_MESSAGE_BYTES``."""
    text = as_utf8(message)
    most = len(text)
    while len(quote(text, safe=_AS_THEY_ARE)) > _MESSAGE_BYTES:
        most = most * 3 // 4
        text = shortened(text, most)
    return text


_AS_THEY_ARE = "".join(map(chr, range(0x20, 0x7F))).replace("%", "")


def _size(names: Mapping[str, str]) -> int:
    return sum(len(each.encode()) + len(why) + _AROUND_A_NAME for each, why in names.items())


def can_name_all(ack_ids: Iterable[str]) -> bool:
    """Return whether an error can name all ids of a call, whatever becomes of each."""
    return _fits(dict.fromkeys(ack_ids, INVALID_ACK_ID))


def _fits(names: Mapping[str, str]) -> bool:
    return _size(names) <= _NAMES_BYTES


def _fitting(names: Mapping[str, str]) -> dict[str, str]:
    """Return the first names, as many as fit in ``_NAMES_BYTES``."""
    found: dict[str, str] = {}
    room = _NAMES_BYTES
    for each, reason in names.items():
        room -= _size({each: reason})
        if room < 0:
            break
        found[each] = reason
    return found
