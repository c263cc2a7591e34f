"""Errors as gRPC tells them: the canonical code, a message, and details that clients parse.

They travel as metadata, of which clients take 8 KiB: a client that is sent more is told
RESOURCE_EXHAUSTED by its own gRPC, and nothing of what the server said. So a reply is cut to fit.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc import error_details_pb2, status_pb2

from pubsub_delta.errors import InvalidArgument, PubSubError, shortened
from pubsub_delta.server.protocol import grpc
from pubsub_delta.server.reasons import INVALID_ACK_ID, SUCCEEDED

logger = logging.getLogger("pubsub_delta.server")

DOMAIN = "pubsub.googleapis.com"
"""Pub/Sub's own: clients look for it."""
ACK_ID_FAILURE = "EXACTLY_ONCE_ACKID_FAILURE"

DETAILS = "grpc-status-details-bin"
"""The metadata in which gRPC sends a google.rpc.Status."""

LONGEST_ACK_ID = 1_000
"""Bytes of what may be an ack id: so much can always be named in a reply."""
_MESSAGE_BYTES = 2_400
"""Of an error's message as gRPC writes it; it is sent twice, the second time in the details."""
_NAMES_BYTES = 5_000
"""Of the ack ids that are named in the details, with their reasons. A third is added to the details
on their way, as they are written in base64."""
_AROUND_A_NAME = 10
"""Bytes that protobuf needs for an entry of a map, besides its key and its value."""


class AckIdFailure(PubSubError):
    """Some ack ids of a request failed on a subscription with exactly-once delivery.

    ``named``: the ids that the details of the reply name, with a reason; there is not room for
    many. Of an id that is not named clients think by the code: at ABORTED they try it again, at
    INVALID_ARGUMENT it has failed. (So do Google's libraries for Python, Go and Node.js. The one
    for Java goes by the names alone.) They know no way to tell a success beside a failure: an id
    that succeeded must be tried again, and succeeds at once. So no failure may be taken for a
    success, and as few ids as possible are tried again:

    - All failed for good: INVALID_ARGUMENT, whether all are named or not.
    - Some failed for good, and all ids can be named: they are. INVALID_ARGUMENT.
    - What failed for good can be named: it is named. ABORTED, and the others are tried again.
    - It cannot, but all others can: they are named, as to be tried again. INVALID_ARGUMENT.
    - Nothing failed for good: ABORTED.
    - Neither: ABORTED. Of what failed as much is named as there is room for, and the rest is tried
      again, until one of the above holds.

    Args:
        failures: the ids that failed, and why.
        of: all ids of the request.
    """

    def __init__(self, failures: Mapping[str, str], *, of: Iterable[str]) -> None:
        asked = dict.fromkeys([*of, *failures])
        super().__init__(
            f"{len(failures)} of {len(asked)} ack ids failed; their leases are over, they were "
            "acknowledged already, or they are not of this subscription"
        )
        lost = {each: why for each, why in failures.items() if why == INVALID_ACK_ID}
        again = {each: failures.get(each, SUCCEEDED) for each in asked if each not in lost}
        if lost and (not again or _fits({**again, **lost}) or (_fits(again) and not _fits(lost))):
            self.code = "INVALID_ARGUMENT"  # type: ignore[misc]
            self.named = _fitting({**again, **lost})
        else:
            self.code = "ABORTED"  # type: ignore[misc]
            self.named = _fitting({**lost, **failures})


class Unavailable(PubSubError):
    """The server is about to end; another one, or the same one later, will answer."""

    code = "UNAVAILABLE"


class Unauthenticated(PubSubError):
    """The request carries no valid credentials."""

    code = "UNAUTHENTICATED"


class PermissionDenied(PubSubError):
    """Who sends the request may not."""

    code = "PERMISSION_DENIED"


def check_lengths(ack_ids: Iterable[str]) -> None:
    """Refuse what is much longer than an ack id: no reply could name it."""
    for each in ack_ids:
        size = len(each.encode())
        if size > LONGEST_ACK_ID:
            raise InvalidArgument(
                f"ack_ids: {shortened(repr(each), 100)} of {size:,} bytes is no ack id; the ack_id "
                "of a message that was delivered is accepted"
            )


def code_of(error: BaseException) -> str:
    """Return the canonical code of an error; INTERNAL if nobody meant it."""
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


_UNEXPECTED = "the server failed unexpectedly; its log says how"


def _sendable(message: str) -> str:
    """Return a message that is UTF-8, and short as gRPC writes it: most bytes as %XX."""
    text = message.encode("utf-8", "backslashreplace").decode()
    most = len(text)
    while len(quote(text, safe=_AS_THEY_ARE)) > _MESSAGE_BYTES:
        most = most * 3 // 4
        text = shortened(text, most)
    return text


_AS_THEY_ARE = "".join(map(chr, range(0x20, 0x7F))).replace("%", "")


def _size(names: Mapping[str, str]) -> int:
    return sum(len(each.encode()) + len(why) + _AROUND_A_NAME for each, why in names.items())


def _fits(names: Mapping[str, str]) -> bool:
    return _size(names) <= _NAMES_BYTES


def _fitting(names: Mapping[str, str]) -> dict[str, str]:
    """Return the first of some names, as many as there is room for."""
    found: dict[str, str] = {}
    room = _NAMES_BYTES
    for each, reason in names.items():
        room -= _size({each: reason})
        if room < 0:
            break
        found[each] = reason
    return found
