"""The REST gateway: answers requests in JSON by calls to the server's own gRPC.

So REST requests pass the same checks, and run the same methods, as calls of gRPC clients.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

from google.rpc import status_pb2

from pubsub_delta.errors import InvalidArgument, NotFound, PubSubError, Unavailable, shortened
from pubsub_delta.server.counters import Counters
from pubsub_delta.server.grpc_services import grpc
from pubsub_delta.server.rest import bindings, overrides, parameters, transcoding
from pubsub_delta.server.rest.bindings import Binding
from pubsub_delta.server.rest.parameters import Parameters
from pubsub_delta.server.rest.responses import (
    OK,
    RequestHead,
    Response,
    document_response,
    error_response,
    json_response,
    status_response,
)
from pubsub_delta.server.rest.selection import Selection, selected, selection
from pubsub_delta.server.status import DETAILS, PermissionDenied, code_of, status_of
from pubsub_delta.server.tokens import Tokens

logger = logging.getLogger("pubsub_delta.server")

T = TypeVar("T")

_PASSED_ON = ("authorization", "traceparent", "tracestate", "x-goog-request-params")
"""Headers that are sent as metadata of the call."""
_LARGE = 256 * 1024
"""Bytes; larger JSON is parsed and written in a thread, so that the event loop goes on."""
_LONGEST_WAIT = 3600.0
"""The largest timeout that a client may ask for, in seconds."""


class Gateway:
    """Answers HTTP requests by gRPC calls to the server itself.

    Args:
        channel: the internal channel.
        counters: counts requests that are not valid.
        tokens: checks the token before a body is read; None if the server has no tokens.
        documents: returns the public document at a path, or None; it may wait for the disk.
        local_names_only: whether the header Host must name this machine. Without a certificate
            another name may be DNS rebinding.

    A server without tokens refuses requests of web pages: any page can make a browser send them.
    """

    def __init__(
        self,
        channel: Any,
        counters: Counters,
        tokens: Tokens | None,
        documents: Callable[[str], Mapping[str, Any] | None] = lambda _: None,
        *,
        local_names_only: bool,
    ) -> None:
        self._documents = documents
        self._channel = channel
        self._counters = counters
        self._tokens = tokens
        self._local_names_only = local_names_only

    def refusal(self, head: RequestHead) -> Response | None:
        """Return the response to a request that is refused before its body is read, or None."""
        head = overrides.meant(head)
        try:
            if self._tokens is None:
                _check_sender(head, local_names_only=self._local_names_only)
            if _is_root(head) or _is_document(head):
                return None
            if self._tokens is not None:
                options = parameters.parsed(head.query)
                self._tokens.authenticate(_authorization(head, options))
            if bindings.found(head.verb, head.path) is None:
                raise _no_method(head)
        except PubSubError as error:
            return error_response(error)
        return None

    async def answer(self, head: RequestHead, body: bytes) -> Response:
        """Answer a request; cancelling the coroutine cancels the call."""
        head = overrides.meant(head)
        if _is_root(head):
            return OK
        try:
            if _is_document(head):
                return await self._document(head)
            return await self._called(head, body)
        except Exception as error:
            logger.error("%s %s failed unexpectedly", head.verb, head.path, exc_info=error)
            return status_response(status_of(error), code_of(error))

    async def _document(self, head: RequestHead) -> Response:
        try:
            found = await asyncio.to_thread(self._documents, head.path)
        except PubSubError as error:
            return error_response(error)
        return error_response(_no_method(head)) if found is None else document_response(found)

    async def _called(self, head: RequestHead, body: bytes) -> Response:
        bound = bindings.found(head.verb, head.path)
        if bound is None:
            return error_response(_no_method(head))
        binding, variables = bound
        pretty = True
        try:
            head, body = overrides.with_query(head, body)
            options = parameters.parsed(head.query)
            pretty = options.pretty
            _check_content(head, body)
            request = await _in_thread_if_large(
                len(body),
                lambda: transcoding.request_of(binding, variables, options.fields, body),
            )
            call = self._channel.unary_unary(
                f"/{binding.service}/{binding.name}",
                request_serializer=binding.method.request.SerializeToString,
                response_deserializer=binding.method.response.FromString,
            )
            metadata, patience = _metadata(head, options), _patience(head)
            wanted = _wanted(binding, options)
        except PubSubError as error:
            self._counters.requests[binding.name, code_of(error)] += 1
            logger.info("%s: %s: %s", binding.name, code_of(error), error)
            return error_response(error, pretty=pretty)
        try:
            message = await call(request, metadata=metadata, timeout=patience)
        except grpc.aio.AioRpcError as error:
            return _failed(error, pretty=pretty)
        return await _in_thread_if_large(
            message.ByteSize(), lambda: _succeeded(message, options, wanted)
        )


def _wanted(binding: Binding, options: Parameters) -> Selection:
    return selection(options.wanted, binding.method.response.DESCRIPTOR) if options.wanted else {}


def _succeeded(message: Any, options: Parameters, wanted: Selection) -> Response:
    written = transcoding.response_of(message, enums_as_numbers=options.enums_as_numbers)
    return json_response(selected(written, wanted), pretty=options.pretty)


async def _in_thread_if_large(size: int, work: Callable[[], T]) -> T:
    """Run work on ``size`` bytes, in a thread if that is more than ``_LARGE``."""
    return await asyncio.to_thread(work) if size > _LARGE else work()


def _failed(error: Any, *, pretty: bool) -> Response:
    """Return the response of a call that failed, with the details of its error."""
    code = error.code()
    pairs = iter(error.trailing_metadata() or ())  # the keys of an older Metadata are pairs, too
    details = dict(pairs).get(DETAILS)
    if details is not None:
        return status_response(status_pb2.Status.FromString(details), code.name, pretty=pretty)
    if code == grpc.StatusCode.UNAVAILABLE:
        ending = Unavailable("the server is shutting down; try again later")
        return error_response(ending, pretty=pretty)
    status = status_pb2.Status(code=code.value[0], message=error.details() or code.value[1])
    return status_response(status, code.name, pretty=pretty)


def _is_root(head: RequestHead) -> bool:
    return head.path == "/" and head.verb in ("GET", "HEAD")


def _is_document(head: RequestHead) -> bool:
    return head.path.startswith("/.well-known/") and head.verb in ("GET", "HEAD")


def _authorization(head: RequestHead, options: Parameters) -> str:
    return f"Bearer {options.token}" if options.token else head.headers.get("authorization", "")


def _metadata(head: RequestHead, options: Parameters) -> tuple[tuple[str, str], ...]:
    headers = dict(head.headers)
    headers["authorization"] = _authorization(head, options)
    return tuple(
        (name, headers[name])
        for name in _PASSED_ON
        if headers.get(name) and headers[name].isascii() and headers[name].isprintable()
    )


def _patience(head: RequestHead) -> float | None:
    """Return the timeout in Google's header X-Server-Timeout, in seconds."""
    text = head.headers.get("x-server-timeout")
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _LONGEST_WAIT:
        raise InvalidArgument(
            f"X-Server-Timeout: {shortened(text, 60)!r}; seconds up to {_LONGEST_WAIT:.0f} are "
            "accepted"
        )
    return seconds


def _check_content(head: RequestHead, body: bytes) -> None:
    kind = head.headers.get("content-type", "")
    if body.strip() and kind.partition(";")[0].strip().lower() != "application/json":
        raise InvalidArgument(
            f"Content-Type: {shortened(kind, 60)!r}; application/json is accepted"
        )


def _check_sender(head: RequestHead, *, local_names_only: bool) -> None:
    """Raise PermissionDenied for a request that a web page sent by a browser.

    Headers of the browser show it. In DNS rebinding they do not, but the header Host does.
    """
    headers: Mapping[str, str] = head.headers
    site = headers.get("sec-fetch-site", "none")
    if "origin" in headers or site not in ("none", "same-origin"):
        raise PermissionDenied(
            "a server without a token refuses requests of web pages; start it with a token, or "
            "call it from a program"
        )
    host = headers.get("host", "")
    if local_names_only and host and not _is_this_machine(host):
        raise PermissionDenied(
            f"Host: {shortened(host, 60)!r}; a server without a token and TLS accepts localhost "
            "and loopback addresses"
        )


def _is_this_machine(host: str) -> bool:
    """Return whether a Host header names this machine.

    >>> _is_this_machine("localhost:8085"), _is_this_machine("[::1]:8085")
    (True, True)
    >>> _is_this_machine("attacker.example:8085"), _is_this_machine("localhost@attacker.example")
    (False, False)
    """
    if set(host) & set("/?#@\\ "):
        return False
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _no_method(head: RequestHead) -> NotFound:
    path = shortened(head.path, 200)
    if head.path.endswith(":streamingPull"):
        return NotFound(f"{path}: StreamingPull works by gRPC only; use :pull")
    others = bindings.verbs(head.path)
    accepted = f"{' and '.join(others)} {'is' if len(others) == 1 else 'are'} accepted"
    why = f"; {accepted} there" if others else ""
    return NotFound(f"no method of google.pubsub.v1 has {head.verb} {path}{why}")
