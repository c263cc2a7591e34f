"""Calls: what every method of every service does around its own work."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from pubsub_delta.errors import InvalidArgument, ResourceExhausted
from pubsub_delta.server.access import Access
from pubsub_delta.server.counters import Counters
from pubsub_delta.server.protocol import SERVICES, Unreadable
from pubsub_delta.server.status import abort, code_of
from pubsub_delta.server.tracing import Tracing

logger = logging.getLogger("pubsub_delta.server")

Unary = Callable[[Any, Any], Awaitable[Any]]
Streaming = Callable[[Any, Any], AsyncIterator[Any]]

MOST_STREAMS = 1_000
"""Open at a time."""

_WORD = re.compile(r"(?<!^)(?=[A-Z])")


def behaviours(
    service: str,
    of: object,
    counters: Counters,
    access: Access | None = None,
    tracing: Tracing | None = None,
) -> dict[str, Any]:
    """Return the methods of a service by name: ``CreateTopic`` is ``of.create_topic``.

    ``access``: refuses what a caller may not; None where everybody may everything.
    ``tracing``: makes calls a part of the traces of their clients.
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


def _permitted(method: str, work: Unary, access: Access) -> Unary:
    """Return a method that does nothing for who may not call it."""

    async def answer(request: Any, context: Any) -> Any:
        await access.check(method, request, context)
        try:
            return await work(request, context)
        finally:  # what failed may have been written all the same
            access.done(method)

    return answer


def _permitted_stream(method: str, work: Streaming, access: Access) -> Streaming:
    """Return a method that ends when its caller may not call it any more."""

    async def answer(requests: Any, context: Any) -> AsyncIterator[Any]:
        async for response in work(access.checked(method, requests, context), context):
            yield response

    return answer


def _traced(service: str, name: str, work: Unary, tracing: Tracing | None) -> Unary:
    """Return the work of a call as a part of the trace of its client."""
    if tracing is None:
        return work

    async def traced(request: Any, context: Any) -> Any:
        with tracing.call(service, name, context):
            return await work(request, context)

    return traced


def _unary(name: str, work: Unary, counters: Counters) -> Unary:
    async def answer(request: Any, context: Any) -> Any:
        try:
            response = await work(_readable(request), context)
        except asyncio.CancelledError:
            counters.requests[name, "CANCELLED"] += 1
            raise
        except Exception as error:
            await _refuse(name, error, context, counters)
        else:
            counters.requests[name, "OK"] += 1
            return response

    return answer


def _streaming(name: str, work: Streaming, counters: Counters) -> Streaming:
    async def answer(requests: Any, context: Any) -> AsyncIterator[Any]:
        counters.open_streams += 1
        try:
            if counters.open_streams > MOST_STREAMS:
                raise ResourceExhausted(
                    f"{MOST_STREAMS:,} streams are open, as many as there may be; another one can "
                    "be opened when one of them ends"
                )
            async for response in work(_all_readable(requests), context):
                yield response
        except asyncio.CancelledError:
            counters.requests[name, "CANCELLED"] += 1
            raise
        except Exception as error:
            await _refuse(name, error, context, counters)
        else:
            counters.requests[name, "OK"] += 1
        finally:
            counters.open_streams -= 1

    return answer


def _readable(request: Any) -> Any:
    if isinstance(request, Unreadable):
        raise InvalidArgument(request.why)
    return request


async def _all_readable(requests: Any) -> AsyncIterator[Any]:
    async for request in requests:
        yield _readable(request)


async def _refuse(name: str, error: Exception, context: Any, counters: Counters) -> None:
    code = code_of(error)
    counters.requests[name, code] += 1
    logger.info("%s: %s: %s", name, code, error, extra={"method": name, "code": code})
    await abort(context, error)
