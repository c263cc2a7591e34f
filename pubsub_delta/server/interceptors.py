"""Interceptors around every method: authorization, tracing, counters and errors."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from pubsub_delta.errors import InvalidArgument, ResourceExhausted
from pubsub_delta.operations.administer import DeadLetterTopicInUse
from pubsub_delta.server.authorization import Authorizer
from pubsub_delta.server.counters import Counters
from pubsub_delta.server.grpc_services import SERVICES, Unreadable
from pubsub_delta.server.status import abort, code_of
from pubsub_delta.server.tracing import Tracing

logger = logging.getLogger("pubsub_delta.server")

Unary = Callable[[Any, Any], Awaitable[Any]]
Streaming = Callable[[Any, Any], AsyncIterator[Any]]

MAX_STREAMS = 1_000
"""The largest number of open streams."""

_WORD = re.compile(r"(?<!^)(?=[A-Z])")


def wrapped_methods(
    service: str,
    of: object,
    counters: Counters,
    access: Authorizer | None = None,
    tracing: Tracing | None = None,
) -> dict[str, Any]:
    """Return the wrapped methods of a service by name: ``CreateTopic`` is ``of.create_topic``.

    Args:
        service: the full name of the service.
        of: the object with the methods.
        counters: counts the calls by their status code.
        access: checks the permissions of callers; None without access control.
        tracing: adds calls to the traces of their clients.
    """
    found: dict[str, Any] = {}
    for name, method in SERVICES[service].items():
        work = getattr(of, _WORD.sub("_", name).lower())
        if access is not None:
            permitted = _permitted_stream if method.streaming else _permitted
            work = permitted(f"{service}/{name}", work, access)
        if method.streaming:
            found[name] = _streaming(name, work, counters)
        else:
            found[name] = _unary(name, _traced(service, name, work, tracing), counters)
    return found


def _permitted(method: str, work: Unary, access: Authorizer) -> Unary:
    """Return a method that checks the permissions of its caller first."""

    async def answer(request: Any, context: Any) -> Any:
        await access.check(method, request, context)
        try:
            return await work(request, context)
        except DeadLetterTopicInUse as error:
            raise await access.named_to(context, error) from None
        finally:  # a call that failed may have written
            access.done(method)

    return answer


def _permitted_stream(method: str, work: Streaming, access: Authorizer) -> Streaming:
    """Return a stream that ends when its caller loses the permissions for it."""

    async def answer(requests: Any, context: Any) -> AsyncIterator[Any]:
        async for response in work(access.checked(method, requests, context), context):
            yield response

    return answer


def _traced(service: str, name: str, work: Unary, tracing: Tracing | None) -> Unary:
    """Return a method that runs in a span of its client's trace."""
    if tracing is None:
        return work

    async def traced(request: Any, context: Any) -> Any:
        with tracing.call(service, name, context):
            return await work(request, context)

    return traced


def _unary(name: str, work: Unary, counters: Counters) -> Unary:
    async def answer(request: Any, context: Any) -> Any:
        async with _counted(name, context, counters):
            return await work(_readable(request), context)

    return answer


def _streaming(name: str, work: Streaming, counters: Counters) -> Streaming:
    async def answer(requests: Any, context: Any) -> AsyncIterator[Any]:
        counters.open_streams += 1
        try:
            async with _counted(name, context, counters):
                if counters.open_streams > MAX_STREAMS:
                    raise ResourceExhausted(
                        f"{MAX_STREAMS:,} streams are open, and the server opens no more; try "
                        "again when one of them has ended"
                    )
                async for response in work(_all_readable(requests), context):
                    yield response
        finally:
            counters.open_streams -= 1

    return answer


@asynccontextmanager
async def _counted(name: str, context: Any, counters: Counters) -> AsyncIterator[None]:
    """Count a call by its status code, and end it with the error of the block."""
    try:
        yield
    except asyncio.CancelledError:
        counters.requests[name, "CANCELLED"] += 1
        raise
    except Exception as error:
        code = code_of(error)
        counters.requests[name, code] += 1
        logger.info("%s: %s: %s", name, code, error, extra={"method": name, "code": code})
        await abort(context, error)
    else:
        counters.requests[name, "OK"] += 1


def _readable(request: Any) -> Any:
    if isinstance(request, Unreadable):
        raise InvalidArgument(request.why)
    return request


async def _all_readable(requests: Any) -> AsyncIterator[Any]:
    async for request in requests:
        yield _readable(request)
