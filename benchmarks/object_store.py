"""Object storage at 0, 15 and 60 ms a request: requests, seconds, consumers side by side, servers.

An S3 server of this machine, behind a proxy that delays every request. Needs ``conf/storages.sh``.
With ``--spark-on-s3`` Spark's own append and MERGE on the same bucket stand beside.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.measuring import Bench, Ratio, Section
from benchmarks.object_store_floor import APPEND, MERGE, time_floor
from pubsub_delta import PubSub
from tests.acceptance.serving import ServerProcess
from tests.storages.requests import counted
from tests.storages.servers import Storage, s3

T = TypeVar("T")

DELAYS = (0, 15, 60)
"""Milliseconds by which every request is answered later."""
JUDGED = 15
CONSUMERS, CHANGES = 8, 12
PUBLISHES = 15

LIMITS = {"pull(100)": 0.3, "ack": 0.3, "seek to a time": 0.5, "create_snapshot": 0.5,
          "seek to a snapshot": 0.5}  # fmt: skip
"""The seconds at 15 ms a request that are aimed at."""

_CONSUMER = """
import sys, time
from pubsub_delta import PubSub
store = PubSub(None, sys.argv[1])
store.get_subscription("shared")
print("ready", flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[2])):
    batch = store.pull("shared", 1)
    print(batch.message_count, flush=True)
"""


def object_store(bench: Bench) -> Section:
    """Measure everything at each delay, on one server."""
    section = Section(
        "object store",
        f"versitygw on a local disk, behind a proxy that delays each request by so many ms; a "
        f"store without Spark; medians of {3 * bench.rounds} rounds after a warm-up; {CONSUMERS} "
        f"processes of {CHANGES} pulls each of one message; through the server: publish requests "
        "of one message one after the other, with its default grouping window of 0.1 s.",
    )
    directory = Path(bench.directory)
    with s3(directory) as storage, _environment(storage):
        for kind, requests in counted(storage.proxy, f"{storage.root}/counted").items():
            told = ", ".join(f"{count} {method}" for method, count in sorted(requests.items()))
            section.facts[f"requests: {kind}"] = f"{sum(requests.values())} ({told})"
        for delay in DELAYS:
            root = f"{storage.root}/at-{delay}"
            storage.proxy.set(delay=delay / 1000)
            _small(section, root, delay, 3 * bench.rounds)
            _side_by_side(section, root, delay, directory)
            for servers in (1, 2):
                _served(section, f"{root}-{servers}", delay, directory, servers)
            if bench.spark_on_s3:
                time_floor(section, storage, delay, bench.rounds)
                _beside(section, delay)
        storage.proxy.set()
    return section


@contextmanager
def _environment(storage: Storage) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(storage.environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _small(section: Section, root: str, delay: int, rounds: int) -> None:
    store = PubSub(None, root)
    store.create_topic("small")
    for name in ("small", "replayed"):
        store.create_subscription(name, "small", ack_deadline_seconds=600)
    for turn in range(rounds + 1):
        _round(section, store, delay, turn)
    for what, limit in LIMITS.items():
        if delay == JUDGED:
            name = f"{delay} ms: {what}"
            section.ratios.append(Ratio(f"{name}, s", tuple(section.seconds[name]), limit))


def _round(section: Section, store: PubSub, delay: int, turn: int) -> None:
    """Time each operation once; the first round warms up."""
    payloads = [b"%064d" % number for number in range(100)]

    def timed(what: str, run: Callable[[], T]) -> T:
        return section.time(f"{delay} ms: {what}", run, keep=turn > 0)

    timed("publish of 100", partial(store.publish, "small", payloads))
    batch = timed("pull(100)", partial(store.pull, "small", 100))
    assert len(timed("read", partial(list, batch))) == 100
    assert timed("ack", batch.ack).counts["success"] == 100
    timed("pull of nothing", partial(store.pull, "small"))
    now = datetime.now(timezone.utc)
    timed("seek to a time", partial(store.seek, "replayed", time=now))
    timed("create_snapshot", partial(store.create_snapshot, f"snapshot-{turn}", "replayed"))
    timed("seek to a snapshot", partial(store.seek, "replayed", snapshot=f"snapshot-{turn}"))


def _side_by_side(section: Section, root: str, delay: int, directory: Path) -> None:
    """Let processes change one ack state: how many changes a second, and whether all were made."""
    store = PubSub(None, root)
    store.create_subscription("shared", "small", ack_deadline_seconds=600)
    store.publish("small", [b"x"] * (CONSUMERS * CHANGES))
    command = [sys.executable, "-c", _CONSUMER, root, str(CHANGES)]
    running = [
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=directory,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        )
        for _ in range(CONSUMERS)
    ]  # fmt: skip
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    began = time.perf_counter()
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    told = [process.communicate()[0].split() for process in running]
    seconds = time.perf_counter() - began
    made = Counter(each for lines in told for each in lines)["1"]
    name = f"{delay} ms: {CONSUMERS} consumers: changes/s"
    least = 5.0 if delay == JUDGED else None
    section.ratios.append(Ratio(name, (made / seconds,), at_least=least))
    section.ratios.append(
        Ratio(
            f"{delay} ms: of {CONSUMERS * CHANGES} changes made",
            (made,),
            at_least=CONSUMERS * CHANGES,
        )
    )


def _served(section: Section, root: str, delay: int, directory: Path, count: int) -> None:
    """Publish to servers on one store and receive from them, one message after the other.

    With two, messages are published to one and received from the other.
    """
    servers = [ServerProcess(root, directory=directory) for _ in range(count)]
    with ExitStack() as running:
        for server in servers:
            server.start()
            running.callback(server.stop)
        publisher, subscriber = servers[0].publisher(), servers[-1].subscriber()
        topic, name = "projects/local/topics/served", "projects/local/subscriptions/served"
        publisher.create_topic(name=topic, timeout=300)
        subscriber.create_subscription(request={"name": name, "topic": topic}, timeout=300)
        came: dict[bytes, float] = {}
        arrived = threading.Condition()

        def callback(message: Any) -> None:
            message.ack()
            with arrived:
                came[message.data] = time.perf_counter()
                arrived.notify_all()

        future = subscriber.subscribe(name, callback)
        kind = f"{count} server{'s' * (count > 1)}"
        replies, ends = [], []
        for turn in range(PUBLISHES + 1):
            data, began = b"%d" % turn, time.perf_counter()
            publisher.api.publish(topic=topic, messages=[{"data": data}], timeout=300)
            reply = time.perf_counter() - began
            with arrived:
                assert arrived.wait_for(lambda data=data: data in came, 300)  # type: ignore[misc]
            if turn:
                replies.append(reply)
                ends.append(came[data] - began)
        future.cancel()
        future.result(300)
    section.seconds[f"{delay} ms: publish through {kind}"] = replies
    section.seconds[f"{delay} ms: publish to callback through {kind}"] = ends
    if delay == JUDGED:
        p50 = statistics.median(replies)
        section.ratios.append(Ratio(f"{delay} ms: publish through {kind}, p50 s", (p50,), 0.4))


def _beside(section: Section, delay: int) -> None:
    pairs = {"publish of 100": APPEND, "pull(100)": MERGE, "ack": MERGE, "seek to a time": MERGE,
             "create_snapshot": MERGE}  # fmt: skip
    for what, below in pairs.items():
        name = f"{delay} ms: {what}"
        section.compare(f"{name}: × {below}", [name], [f"{delay} ms: {below}"], at_most=0.3)
