"""The server against its targets, each as a ratio or a rate of one run.

    python benchmarks/server.py --messages 30000 --seconds 20 --streams 100

It measures a plain Delta append of 1,000 rows, then starts `pubsub-delta serve` on a new store and
measures, with the official client: publish requests one at a time and from several threads at a
time, a backlog through one StreamingPull with an ack for each message, and through many streams.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import grpc
from google.cloud import pubsub_v1
from google.pubsub_v1 import PublisherClient, types

REQUEST = 1000
TOPIC = "projects/local/topics/bench"
SUBSCRIPTION = "projects/local/subscriptions/bench"

PLAIN_APPENDS = """
import json, sys, time
import pyarrow as pa
from pubsub_delta import local_session
spark = local_session(master="local[2]", settings={"spark.log.level": "ERROR"})
rows = pa.table({"data": pa.array([b"x" * 100] * 1000, pa.binary())})
seconds = []
for _ in range(int(sys.argv[2])):
    began = time.perf_counter()
    frame = spark.createDataFrame(rows).coalesce(1)
    frame.write.format("delta").mode("append").save(sys.argv[1])
    seconds.append(time.perf_counter() - began)
print(json.dumps(seconds))
"""


def plain_append(directory: Path, rounds: int) -> float:
    """Return the median seconds of a plain Delta append of 1,000 rows, after a warm-up."""
    command = [sys.executable, "-c", PLAIN_APPENDS, str(directory / "plain"), str(rounds)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds: list[float] = json.loads(done.stdout.strip().splitlines()[-1])
    return statistics.median(seconds[len(seconds) // 2 :])


def start_server(directory: Path, gather: str) -> tuple[subprocess.Popen[bytes], str]:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    command = [sys.executable, "-m", "pubsub_delta.cli", "serve", f"--root={directory}/store"]
    command += [f"--host-port={address}", f"--group-commit={gather}"]
    with (directory / "server.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=directory)
    grpc.channel_ready_future(grpc.insecure_channel(address)).result(timeout=300)
    return process, address


def requests() -> Any:
    return types.PublishRequest(
        topic=TOPIC, messages=[types.PubsubMessage(data=b"x" * 100) for _ in range(REQUEST)]
    )


def publish_for(publisher: Any, seconds: float, threads: int) -> tuple[float, float]:
    """Publish from some threads, each a request after the other; return the rate and the p50."""
    taken: list[float] = []
    request, end = requests(), time.perf_counter() + seconds

    def work() -> None:
        while time.perf_counter() < end:
            began = time.perf_counter()
            PublisherClient.publish(publisher, request=request, timeout=300)
            taken.append(time.perf_counter() - began)

    began = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(threads):
            pool.submit(work)
    rate = len(taken) * REQUEST / (time.perf_counter() - began)
    return rate, statistics.median(taken)


def drained(subscriber: Any, filled: int, flow_control: Any) -> float:
    """Receive messages by one StreamingPull, each acknowledged; return the rate.

    Nine tenths of what was filled in: what the stream before it left behind comes when its
    deadlines have passed.
    """
    count = filled * 9 // 10
    times: list[float] = []
    enough = threading.Event()

    def callback(message: Any) -> None:
        message.ack()
        times.append(time.perf_counter())
        if len(times) >= count:
            enough.set()

    future = subscriber.subscribe(SUBSCRIPTION, callback, flow_control=flow_control)
    if not enough.wait(300):
        print(f"only {len(times)} of {count} came")
    future.cancel()
    future.result(60)
    return (len(times) - 1) / (times[-1] - times[0])


def streams(
    subscriber: Any, number: int, filled: int, fill_in: Callable[[], None]
) -> tuple[float, int]:
    """Receive messages by many streams, acknowledged on them; return the rate, and who got any.

    They are open before anything is published.
    """
    count = filled * 9 // 10
    got = [0] * number
    times: list[float] = []
    enough = threading.Event()

    def stream(place: int) -> None:
        outgoing: list[Any] = [
            types.StreamingPullRequest(
                subscription=SUBSCRIPTION,
                stream_ack_deadline_seconds=60,
                max_outstanding_messages=REQUEST,
            )
        ]
        more = threading.Condition()

        def said() -> Any:
            while True:
                with more:
                    more.wait_for(lambda: outgoing or enough.is_set())
                    if not outgoing:
                        return
                    request = outgoing.pop(0)
                yield request

        for response in subscriber.api.streaming_pull(said(), timeout=600):
            acks = [each.ack_id for each in response.received_messages]
            got[place] += len(acks)
            times.extend([time.perf_counter()] * len(acks))
            with more:
                outgoing.append(types.StreamingPullRequest(ack_ids=acks))
                more.notify()
            if sum(got) >= count:
                enough.set()

    threads = [threading.Thread(target=stream, args=(n,), daemon=True) for n in range(number)]
    for thread in threads:
        thread.start()
    time.sleep(number / 20)
    fill_in()
    enough.wait(300)
    return (len(times) - 1) / (times[-1] - times[0]), sum(1 for each in got if each)


def fill(publisher: Any, count: int) -> None:
    request = requests()
    with ThreadPoolExecutor(8) as pool:
        for each in [
            pool.submit(PublisherClient.publish, publisher, request=request, timeout=300)
            for _ in range(count // REQUEST)
        ]:
            each.result()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--messages", type=int, default=30_000)
    options.add_argument("--seconds", type=float, default=20)
    options.add_argument("--streams", type=int, default=100)
    options.add_argument("--rounds", type=int, default=16)
    options.add_argument("--group-commit", type=float, default=0.1)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        plain = plain_append(directory, given.rounds)
        show("plain Delta append of 1,000 rows, p50 s", plain)
        process, address = start_server(directory, f"{given.group_commit}s")
        try:
            os.environ["PUBSUB_EMULATOR_HOST"] = address
            measure(given, plain)
        finally:
            process.terminate()
            process.wait(120)


def measure(given: argparse.Namespace, plain: float) -> None:
    publisher, subscriber = pubsub_v1.PublisherClient(), pubsub_v1.SubscriberClient()
    publisher.create_topic(name=TOPIC, timeout=300)
    allowed = 1.5 * plain + given.group_commit
    publish_for(publisher, given.seconds, 1)  # warms up
    rate, reply = publish_for(publisher, given.seconds, 1)
    show("publish, one request at a time: messages/s", rate)
    show("publish, one request at a time: reply p50 s", reply)
    show("· of 1.5 × plain append + grouping window (≤ 1)", reply / allowed)
    rate, reply = publish_for(publisher, given.seconds, 8)
    show("publish, 8 requests at a time: messages/s (≥ 5,000)", rate)
    show("publish, 8 requests at a time: reply p50 s", reply)
    show("· of 1.5 × plain append + grouping window (≤ 1)", reply / allowed)
    subscriber.create_subscription(
        request={"name": SUBSCRIPTION, "topic": TOPIC, "ack_deadline_seconds": 60}, timeout=300
    )
    kinds: list[tuple[str, Callable[[], float]]] = [
        ("usual flow control", lambda: drained(subscriber, given.messages, ())),
        (
            "room for 10,000 messages",
            lambda: drained(
                subscriber, given.messages, pubsub_v1.types.FlowControl(max_messages=10_000)
            ),
        ),
    ]
    for name, run in kinds:
        fill(publisher, given.messages)
        show(f"StreamingPull, single acks, {name}: messages/s (≥ 3,000)", run())
    rate, served = streams(
        subscriber, given.streams, given.messages, lambda: fill(publisher, given.messages)
    )
    show(f"{given.streams} streams together: messages/s", rate)
    show(f"· of {given.streams} streams, how many were given messages", served)


def show(what: str, figure: float) -> None:
    print(f"{what:60} {figure:12,.3f}", flush=True)


if __name__ == "__main__":
    main()
