"""The server for programs in any language, against its targets, with Google's own client.

A real `pubsub-delta serve` on a new store: publish requests one at a time and from several threads
at a time, a backlog through one StreamingPull with an ack for each message, and through many
streams at once. Plain Delta appends are measured in between, in the suite's own session.
"""

from __future__ import annotations

import os
import queue
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import grpc
import pyarrow as pa
from google.api_core.exceptions import GoogleAPICallError
from google.cloud import pubsub_v1
from google.pubsub_v1 import PublisherClient, types

from benchmarks.measuring import Bench, Ratio, Section

REQUEST = 1000
"""Messages of a publish request, of 100 bytes each."""
PUBLISHING_SECONDS = 8
TOGETHER = 8
"""Publish requests at a time."""
BACKLOG = 30_000
"""Messages that are drained."""
STREAMS = 100
GROUPING_WINDOW = 0.1
"""Seconds for which the server gathers requests: its own default."""
APPENDS = 8
PATIENCE = 300
"""Seconds for which messages are waited for."""
ROOM = {"usual flow control": None, "room for 10,000 messages": 10_000}
"""Messages that Google's client holds at most: its default, and more."""

TOPIC = "projects/local/topics/bench"
ALONE, MANY = "one request at a time", f"{TOGETHER} requests at a time"


def server(bench: Bench) -> Section:
    """Measure the server and plain appends in turn."""
    section = Section(
        "server",
        f"Publish requests of {REQUEST:,} messages of 100 bytes, {PUBLISHING_SECONDS} s of each "
        f"kind; backlogs of {BACKLOG:,} messages through StreamingPull, each message acknowledged "
        f"by itself, and through {STREAMS} streams at once, of 1,000 outstanding messages each; "
        f"{bench.rounds} rounds after a warm-up, in turn with {APPENDS} plain Delta appends of "
        f"{REQUEST:,} rows in the suite's own session, which is idle otherwise. The server is a "
        "process of its own with its default settings; seconds are medians of a round.",
    )
    rates: dict[str, list[float]] = {}
    with serving(Path(bench.directory)) as address, emulator(address):
        clients = _Clients()
        for turn in range(bench.rounds + 1):
            keep = turn > 0
            section.add("plain append of 1,000 rows", _plain_append(bench), keep=keep)
            section.add("grouping window", GROUPING_WINDOW, keep=keep)
            for what, threads in ((ALONE, 1), (MANY, TOGETHER)):
                rate, reply = clients.publish_for(PUBLISHING_SECONDS, threads)
                section.add(f"publish reply, {what}", reply, keep=keep)
                _keep(rates, f"publish, {what}: messages/s", rate, keep=keep)
            for what, room in ROOM.items():
                name = f"StreamingPull, single acks, {what}: messages/s"
                _keep(rates, name, clients.drain(turn, room), keep=keep)
            for name, figure in clients.drain_together(turn).items():
                _keep(rates, name, figure, keep=keep)
    _conclude(section, rates)
    return section


def _keep(rates: dict[str, list[float]], name: str, rate: float, *, keep: bool) -> None:
    if keep:
        rates.setdefault(name, []).append(rate)


def _conclude(section: Section, rates: dict[str, list[float]]) -> None:
    targets = {
        f"publish, {MANY}": 5_000,
        "StreamingPull": 3_000,
        "streams that were given messages": STREAMS,
        "share of the messages": 1,
    }
    for name, found in rates.items():
        target = next((n for begin, n in targets.items() if name.startswith(begin)), None)
        section.ratios.append(Ratio(name, tuple(found), at_least=target))
    for what in (ALONE, MANY):
        section.compare(
            f"publish reply, {what}: × a plain append and the grouping window",
            [f"publish reply, {what}"],
            ["plain append of 1,000 rows", "grouping window"],
            at_most=1.5,
        )


def _plain_append(bench: Bench) -> float:
    """Return the median seconds of a few plain Delta appends."""
    rows = pa.table({"data": pa.array([b"x" * 100] * REQUEST, pa.binary())})
    appends = Section("", "")

    def append() -> None:
        frame = bench.spark.createDataFrame(rows).coalesce(1)
        frame.write.format("delta").mode("append").save(f"{bench.directory}/plain")

    for _ in range(APPENDS):
        appends.time("append", append)
    return appends.median("append")


@contextmanager
def serving(directory: Path) -> Iterator[str]:
    """Run `pubsub-delta serve` on a new store; yield its address once it answers."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    command = [sys.executable, "-m", "pubsub_delta", "serve", f"--root={directory}/store"]
    command += [f"--host-port={address}", f"--group-commit={GROUPING_WINDOW}s"]
    log = directory / "server.log"
    with log.open("wb") as written:
        process = subprocess.Popen(command, stdout=written, stderr=written, cwd=directory)
    try:
        with grpc.insecure_channel(address) as channel:
            grpc.channel_ready_future(channel).result(timeout=PATIENCE)
        yield address
    except BaseException:
        print(log.read_text(errors="replace")[-4000:], file=sys.stderr)
        raise
    finally:
        process.terminate()
        process.wait(120)


@contextmanager
def emulator(address: str) -> Iterator[None]:
    """Let Google's client find the server, as its users do."""
    before = os.environ.get("PUBSUB_EMULATOR_HOST")
    os.environ["PUBSUB_EMULATOR_HOST"] = address
    try:
        yield
    finally:
        del os.environ["PUBSUB_EMULATOR_HOST"]
        if before is not None:
            os.environ["PUBSUB_EMULATOR_HOST"] = before


class _Clients:
    """A publisher and a subscriber of Google's library, and what is measured with them."""

    def __init__(self) -> None:
        self._publisher: Any = pubsub_v1.PublisherClient()
        self._subscriber: Any = pubsub_v1.SubscriberClient()
        self._publisher.create_topic(name=TOPIC, timeout=PATIENCE)
        messages = [types.PubsubMessage(data=b"x" * 100) for _ in range(REQUEST)]
        self._request = types.PublishRequest(topic=TOPIC, messages=messages)

    def publish_for(self, seconds: float, threads: int) -> tuple[float, float]:
        """Publish from threads, each a request after the other; return the rate and the p50."""
        taken: list[float] = []
        end = time.perf_counter() + seconds

        def work() -> None:
            while time.perf_counter() < end:
                began = time.perf_counter()
                self._publish()
                taken.append(time.perf_counter() - began)

        began = time.perf_counter()
        _side_by_side([work] * threads)
        rate = len(taken) * REQUEST / (time.perf_counter() - began)
        return rate, statistics.median(taken)

    def drain(self, turn: int, room: int | None) -> float:
        """Receive a backlog by one StreamingPull, each message acknowledged; return the rate."""
        with self._subscription(f"drained-{turn}-{room}") as name:
            self._fill()
            came = _Came(BACKLOG)

            def callback(message: Any) -> None:
                message.ack()
                came.note([message.message_id])

            flow = () if room is None else pubsub_v1.types.FlowControl(max_messages=room)
            future = self._subscriber.subscribe(name, callback, flow_control=flow)
            came.all.wait(PATIENCE)
            future.cancel()
            future.result(60)
        assert came.count == BACKLOG, f"only {came.count} of {BACKLOG} came"
        return came.rate

    def drain_together(self, turn: int) -> dict[str, float]:
        """Receive a backlog by many streams that are open before it comes, and acknowledge it."""
        came, served = _Came(BACKLOG), set[int]()
        calls: list[Any] = []
        outgoing: list[queue.SimpleQueue[Any]] = [queue.SimpleQueue() for _ in range(STREAMS)]

        def stream(place: int, name: str) -> None:
            first = types.StreamingPullRequest(
                subscription=name,
                stream_ack_deadline_seconds=60,
                max_outstanding_messages=REQUEST,
            )
            outgoing[place].put(first)
            requests = iter(outgoing[place].get, None)
            call = self._subscriber.api.streaming_pull(requests, timeout=2 * PATIENCE)
            calls.append(call)
            with suppress(GoogleAPICallError):  # it is cancelled in the end
                for response in call:
                    received = response.received_messages
                    ids = [each.ack_id for each in received]
                    outgoing[place].put(types.StreamingPullRequest(ack_ids=ids))
                    served.add(place)
                    came.note([each.message.message_id for each in received])

        with self._subscription(f"together-{turn}") as name, ThreadPoolExecutor(STREAMS) as pool:
            for place in range(STREAMS):
                pool.submit(stream, place, name)
            time.sleep(STREAMS / 20)
            self._fill()
            came.all.wait(PATIENCE)
            for requests in outgoing:
                requests.put(None)
            for call in calls:
                call.cancel()
        return {
            f"{STREAMS} streams together: messages/s": came.rate,
            f"streams that were given messages, of {STREAMS}": len(served),
            "share of the messages that came": came.count / BACKLOG,
        }

    @contextmanager
    def _subscription(self, id_: str) -> Iterator[str]:
        """Create a subscription of what is published from now on; delete it in the end."""
        name = f"projects/local/subscriptions/{id_}"
        request = {"name": name, "topic": TOPIC, "ack_deadline_seconds": 60}
        self._subscriber.create_subscription(request=request, timeout=PATIENCE)
        yield name
        self._subscriber.delete_subscription(subscription=name, timeout=PATIENCE)

    def _fill(self) -> None:
        _side_by_side([self._publish] * (BACKLOG // REQUEST))

    def _publish(self) -> None:
        PublisherClient.publish(self._publisher, request=self._request, timeout=PATIENCE)


class _Came:
    """Which messages have come, and when the first and the last one did."""

    def __init__(self, expected: int) -> None:
        self.all = threading.Event()
        self._expected = expected
        self._lock = threading.Lock()
        self._seen: set[str] = set()
        self._first = self._last = 0.0

    @property
    def count(self) -> int:
        return len(self._seen)

    @property
    def rate(self) -> float:
        """Return how many messages came a second."""
        return self.count / (self._last - self._first)

    def note(self, message_ids: list[str]) -> None:
        """Note messages down; one that comes again counts once."""
        with self._lock:
            now = time.perf_counter()
            self._first = self._first or now
            before = len(self._seen)
            self._seen.update(message_ids)
            if len(self._seen) > before:
                self._last = now
            if len(self._seen) >= self._expected:
                self.all.set()


def _side_by_side(pieces: list[Callable[[], None]]) -> None:
    """Do pieces of work, at most ``TOGETHER`` at a time; what one raises is raised."""
    with ThreadPoolExecutor(TOGETHER) as pool:
        for done in [pool.submit(piece) for piece in pieces]:
            done.result()
