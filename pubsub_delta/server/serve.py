"""The server: combines its services, starts and stops."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from pubsub_delta.addresses import is_loopback
from pubsub_delta.server import grpc_services
from pubsub_delta.server.counters import Counters
from pubsub_delta.server.grpc_services import grpc, health
from pubsub_delta.server.hub import Backend, Hub
from pubsub_delta.server.iam_service import IamService
from pubsub_delta.server.interceptors import wrapped_methods
from pubsub_delta.server.internal_channel import InternalChannel
from pubsub_delta.server.lease_journals import LeaseJournals
from pubsub_delta.server.listening import listen, port_of
from pubsub_delta.server.memory import release_unused_always
from pubsub_delta.server.multiplexer import PortMultiplexer
from pubsub_delta.server.publisher_service import PublisherService
from pubsub_delta.server.push_keys import PushKeys
from pubsub_delta.server.push_tokens import PushTokens
from pubsub_delta.server.pushing import Pushers
from pubsub_delta.server.rest.connection import Connections
from pubsub_delta.server.rest.gateway import Gateway
from pubsub_delta.server.schema_service import SchemaService
from pubsub_delta.server.security import Security
from pubsub_delta.server.subscriber_service import SubscriberService
from pubsub_delta.server.table_writing import TableWriters
from pubsub_delta.server.timing import Timing
from pubsub_delta.server.tokens import TokenInterceptor, accepted_tokens
from pubsub_delta.server.tracing import Tracing

logger = logging.getLogger("pubsub_delta.server")

LARGEST_READ = 128 * 1024 * 1024
"""Bytes of a request that gRPC reads. More than ``LARGEST_REQUEST`` of ``grpc_services`` is refused
as INVALID_ARGUMENT; for more than this gRPC itself sends RESOURCE_EXHAUSTED, and clients retry."""
TAKE_OVER_SECONDS = 1.0
"""The time between two searches for servers that are gone."""
GRPC_SERVERS = 4
"""gRPC's servers, among which connections take turns.

Each accepts one call at a time, and needs Python's interpreter lock twice for that. While threads
of the store have the lock, calls would wait for each other, seconds under load.
"""
MOST_CALLS = 2_000
"""The most concurrent calls of one of them, streams included; gRPC ends others with
RESOURCE_EXHAUSTED."""
GRACE = 10.0
"""Seconds that open calls have at the end of the server."""

_OPTIONS = (
    ("grpc.max_receive_message_length", LARGEST_READ),
    ("grpc.max_send_message_length", -1),
    # Client libraries ping every 30 seconds or more, also without deliveries.
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 5_000),
    ("grpc.http2.max_ping_strikes", 0),
    ("grpc.so_reuseport", 0),
    # The server notices a client that is gone without closing its connection, and ends its streams.
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
)


@dataclass(frozen=True)
class ServerSettings:
    """The address, security and timing of a server.

    ``port``: 0 for a free one. ``push_keys``: the file of the keys that sign the tokens of push
    requests; None without keys. ``push_issuer``: the URL of the issuer in these tokens; None for
    the server's address.
    """

    host: str = "localhost"
    port: int = 8085
    security: Security = field(default_factory=Security)
    timing: Timing = field(default_factory=Timing)
    push_keys: Path | None = None
    push_issuer: str | None = None


class Server:
    """google.pubsub.v1 on a store. It runs in the event loop in which it is started."""

    def __init__(
        self,
        backend: Backend,
        now: Callable[[], datetime],
        settings: ServerSettings,
        counters: Counters,
        journals: LeaseJournals | None = None,
        tracing: Tracing | None = None,
    ) -> None:
        self._journals = journals or LeaseJournals(None, "")
        settings.security.check(settings.host)
        self._settings = settings
        self._hub = Hub(backend, counters, settings.timing, now, self._journals, tracing)
        keys = settings.push_keys
        self._tokens = None if keys is None else PushTokens(PushKeys(keys, now), "", now)
        self._pushers = Pushers(self._hub, now, self._tokens)
        self._writers = TableWriters(self._hub, settings.timing)
        self._access = access = settings.security.access
        tokens = accepted_tokens(settings.security)
        services = {
            grpc_services.PUBLISHER: PublisherService(self._hub),
            grpc_services.SUBSCRIBER: SubscriberService(
                self._hub, self._pushers, self._writers, access
            ),
            grpc_services.SCHEMA_SERVICE: SchemaService(self._hub),
            grpc_services.IAM_POLICY: IamService(self._hub, now, access),
        }
        self._health = health.aio.HealthServicer()
        handlers = tuple(
            grpc_services.handlers(name, wrapped_methods(name, service, counters, access, tracing))
            for name, service in services.items()
        )
        interceptors = [] if tokens is None else [TokenInterceptor(tokens)]
        self._servers = [self._grpc_server(handlers, interceptors) for _ in range(GRPC_SERVERS)]
        self._internal = InternalChannel()
        tls = settings.security.tls()
        gateway = Gateway(
            self._internal,
            counters,
            tokens,
            (lambda _: None) if self._tokens is None else self._tokens.document,
            local_names_only=tls is None and is_loopback(settings.host),
        )
        self._http = Connections(gateway, now)
        self._multiplexer = PortMultiplexer(self._internal.connect, self._http.converse, tls)

    @property
    def has_policy_file(self) -> bool:
        """Whether a policy file says who may do what."""
        return self._access is not None

    async def start(self, sockets: tuple[socket.socket, ...] = ()) -> int:
        """Start serving; return the port. FailedPrecondition if the address cannot be bound.

        ``sockets``: sockets that listen already; by default the server listens at the address of
        its settings.
        """
        sockets = sockets or listen(self._settings.host, self._settings.port)
        port = port_of(sockets)
        if self._tokens is not None:
            self._tokens.issuer = self._settings.push_issuer or self._address(port)
        self._internal.listen(self._servers)
        self._journals.begin()
        for each in self._servers:
            await each.start()
        self._internal.open()
        self._background = [
            asyncio.create_task(self._take_over(), name="take over"),
            asyncio.create_task(release_unused_always(), name="free memory"),
        ]
        if self._access is not None:
            self._background.append(asyncio.create_task(self._access.watch(), name="policy file"))
        self._pushers.start()
        self._writers.start()
        await self._set_health(grpc_services.SERVING)
        await self._multiplexer.start(sockets)
        return port

    async def stop(self) -> None:
        """Finish pending requests, give back leased messages, and end."""
        self._multiplexer.stop_listening()
        await self._health.enter_graceful_shutdown()
        ending = [
            asyncio.create_task(self._http.end(GRACE)),
            *(asyncio.create_task(each.stop(GRACE)) for each in self._servers),
        ]
        for each in self._background:
            each.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        await self._pushers.stop()
        # A slice can take longer than GRACE, after which streams are cut.
        await asyncio.gather(self._writers.stop(), self._hub.stop())
        await asyncio.gather(*ending)
        await self._internal.close()
        await self._multiplexer.close()
        self._journals.end()

    def _grpc_server(self, handlers: tuple[Any, ...], interceptors: list[Any]) -> Any:
        server = grpc.aio.server(
            interceptors=interceptors, options=_OPTIONS, maximum_concurrent_rpcs=MOST_CALLS
        )
        server.add_generic_rpc_handlers(handlers)
        grpc_services.add_health(self._health, server)
        grpc_services.enable_reflection(server)
        return server

    def _address(self, port: int) -> str:
        scheme = "http" if self._settings.security.certificate is None else "https"
        return f"{scheme}://{self._settings.host}:{port}"

    async def reload(self) -> None:
        """Read the policy file again, if there is one."""
        if self._access is not None:
            await self._access.reload()

    async def _take_over(self) -> None:
        """Check periodically whether another server is gone."""
        while True:
            try:
                await self._hub.take_over()
            except Exception:
                logger.exception("what a server has left could not be taken over yet")
            await asyncio.sleep(TAKE_OVER_SECONDS)

    async def _set_health(self, status: Any) -> None:
        for service in ("", *grpc_services.SERVICES):
            await self._health.set(service, status)


async def run(
    make: Callable[[], Server],
    started: Callable[[int], object],
    sockets: tuple[socket.socket, ...] = (),
) -> None:
    """Run a server until the process is told to end (SIGINT, SIGTERM).

    After SIGHUP it reads its policy file again, if it has one. Else it ends: its terminal has.

    ``make`` creates the server in the event loop; ``started`` is called with its port. ``sockets``:
    sockets that listen already.
    """
    told_to_end = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):  # Windows has none in a loop
            loop.add_signal_handler(each, told_to_end.set)
    server = make()
    reloading: set[asyncio.Task[None]] = set()

    def reload() -> None:
        task = loop.create_task(server.reload())
        reloading.add(task)
        task.add_done_callback(reloading.discard)

    if hasattr(signal, "SIGHUP"):
        if server.has_policy_file:
            loop.add_signal_handler(signal.SIGHUP, reload)
        elif signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # by nohup it is ignored
            loop.add_signal_handler(signal.SIGHUP, told_to_end.set)
    started(await server.start(sockets))
    await told_to_end.wait()
    logger.info("the server is shutting down")
    await server.stop()
    logger.info("the server has ended")
