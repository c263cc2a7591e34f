"""A server as its users run it: `pubsub-delta serve` in a process, and the official client."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
from google.cloud import pubsub_v1
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcTransport

from tests.acceptance.processes import environment
from tests.servers import free_port

START_SECONDS = 240
VARIABLE = "PUBSUB_EMULATOR_HOST"
LONG = 240
"""Seconds that a call may take on a machine that does much else."""


class ServerProcess:
    """A server on a store, which can be killed and started again.

    ``directory``: where it runs and writes its log, if not beside its root.
    """

    def __init__(self, root: Path | str, *options: str, directory: Path | None = None) -> None:
        self.root = root
        self._directory = Path(root).parent if directory is None else directory
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.log = self._directory / f"server-{self.port}.log"
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self._channels: list[Any] = []

    @property
    def command(self) -> list[str]:
        """What starts it."""
        serve = [sys.executable, "-m", "pubsub_delta", "serve", f"--root={self.root}"]
        return [*serve, f"--host-port={self.address}", *self._options]

    @property
    def process_id(self) -> int:
        """The number of its process."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it, and wait until it says that it serves: it listens long before."""
        with self.log.open("ab") as output:
            before = output.tell()
            self._process = subprocess.Popen(
                self.command,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self._directory,
                env=environment(),
            )
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self._process.poll() is None:
            if b"Listening on" in self.log.read_bytes()[before:]:
                return
            time.sleep(0.05)
        raise AssertionError(f"the server did not start:\n{self.log.read_text()[-3000:]}")

    def kill(self) -> None:
        """Kill it as if the machine failed."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def signal(self, number: int) -> None:
        """Send it a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def stop(self) -> int:
        """Close its clients, tell it to end, and return its exit code."""
        for channel in self._channels:
            channel.close()
        self._channels.clear()
        return self.end()

    def end(self) -> int:
        """Tell it to end, and return its exit code; its clients stay."""
        process = self._process
        if process is None or process.poll() is not None:
            return -1
        process.terminate()
        try:
            return process.wait(120)
        except subprocess.TimeoutExpired:
            process.kill()
            raise

    def publisher(self, **options: Any) -> Any:
        """Return an official client for publishing, which knows of nothing but the variable."""
        with self.in_environment():
            return self._closing(pubsub_v1.PublisherClient(**options))

    def subscriber(self) -> Any:
        """Return an official client for subscribing, which knows of nothing but the variable."""
        with self.in_environment():
            return self._closing(pubsub_v1.SubscriberClient())

    @contextmanager
    def in_environment(self) -> Iterator[None]:
        """Let programs find the server as they find Google's emulator."""
        before = os.environ.get(VARIABLE)
        os.environ[VARIABLE] = self.address
        try:
            yield
        finally:
            del os.environ[VARIABLE]
            if before is not None:
                os.environ[VARIABLE] = before

    def subscriber_of_large_messages(self) -> Any:
        """Return a client that also takes messages of more than gRPC's default of 4 MiB."""
        channel = grpc.insecure_channel(self.address, [("grpc.max_receive_message_length", 2**25)])
        transport = SubscriberGrpcTransport(channel=channel)
        return self._closing(pubsub_v1.SubscriberClient(transport=transport))

    def _closing(self, client: Any) -> Any:
        """Close a client's channel at the end."""
        self._channels.append(client.transport.grpc_channel)
        return client


def eventually(told: Callable[[], object], seconds: float = LONG) -> None:
    """Wait until something is true."""
    end = time.monotonic() + seconds
    while not told():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.1)


def pulled(subscriber: Any, subscription: str, count: int, seconds: float = LONG) -> list[Any]:
    """Pull until so many messages have come; nothing is acknowledged."""
    found: list[Any] = []
    end = time.monotonic() + seconds
    while len(found) < count and time.monotonic() < end:
        request = {"subscription": subscription, "max_messages": count - len(found)}
        found += subscriber.pull(request=request, timeout=120).received_messages
    return found
