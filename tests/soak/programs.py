"""The programs that load a server, each with a topic of its own and Google's client."""

from __future__ import annotations

import base64
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any

from google.api_core.exceptions import DeadlineExceeded, GoogleAPICallError
from google.cloud import pubsub_v1
from google.cloud.pubsub_v1.types import (
    BatchSettings,
    LimitExceededBehavior,
    PublisherOptions,
    PublishFlowControl,
)

from tests.soak.ledger import Ledger, Outcome

PROJECT = "projects/local"
DRAIN = 180.0
"""Seconds at the end in which what is left must come."""
KEYS = 40
MOST_UNANSWERED = 200
"""Messages that a program has published and that were not answered."""
TIMEOUT = 60.0


class Program:
    """Publishes numbered messages at a rate, and keeps a ledger of what comes."""

    name = "callbacks"
    settled = 5.0  # the client sends an acknowledgement within a moment, and notes none of it down
    is_ordered = False
    subscription_fields: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, seconds: float, rate: float) -> None:
        self.began = time.time()
        self.ledger = Ledger(self.name, self.began, self.settled)
        # The client starts a thread for each request: a server that is slow for a while must be
        # waited for, or the threads of the clients leave it no processor to catch up with.
        waits = PublishFlowControl(
            message_limit=MOST_UNANSWERED, limit_exceeded_behavior=LimitExceededBehavior.BLOCK
        )
        self.publisher: Any = pubsub_v1.PublisherClient(
            batch_settings=BatchSettings(max_latency=0.05),
            publisher_options=PublisherOptions(
                enable_message_ordering=self.is_ordered, flow_control=waits
            ),
        )
        self.subscriber: Any = pubsub_v1.SubscriberClient()
        self.topic = f"{PROJECT}/topics/{self.name}"
        self.subscription = f"{PROJECT}/subscriptions/{self.name}"
        self.over = threading.Event()
        self._end = self.began + seconds
        self._rate = rate
        self._unanswered = set[Any]()

    def prepare(self) -> None:
        """Create the topic and the subscription."""
        self.publisher.create_topic(name=self.topic)
        self.subscribe_to(self.subscription, **self.subscription_fields)

    def subscribe_to(self, name: str, **fields: Any) -> None:
        """Create a subscription to the topic."""
        self.subscriber.create_subscription(
            request={"name": name, "topic": self.topic, **fields}, timeout=TIMEOUT
        )

    def run(self) -> Outcome:
        """Publish and consume until the time is over, and all that was published has come."""
        self.prepare()
        stop = self.consume()
        number = 0
        while (now := time.time()) < self._end:
            if number < (now - self.began) * self._rate:
                self.publish(number)
                number += 1
            else:
                time.sleep(0.02)
        end = time.time() + DRAIN
        while time.time() < end and (self._unanswered or self.ledger.missing):
            time.sleep(1)
        self.publisher.stop()
        self.over.set()
        stop()
        return self.ledger.close()

    def publish(self, number: int) -> None:
        """Publish one message."""
        key = {"ordering_key": f"key-{number % KEYS}"} if self.is_ordered else {}
        data = f"{number} {time.time()}".encode().ljust(200)
        future = self.publisher.publish(self.topic, data, **key)
        self._unanswered.add(future)
        future.add_done_callback(lambda done: self._published(done, number))

    def _published(self, done: Any, number: int) -> None:
        self._unanswered.discard(done)
        if done.exception() is None:
            self.ledger.published(number)
        else:
            self.ledger.error(done.exception())

    def noted(self, data: bytes, message_id: str, key: str = "") -> tuple[int, bool]:
        """Note a delivery; return the number of the message, and whether this is the first one."""
        number, sent = data.split()[:2]
        is_first = self.ledger.delivered(int(number), message_id, float(sent), key)
        return int(number), is_first

    def consume(self) -> Callable[[], None]:
        """Begin to consume; the result ends it."""
        futures = [self.subscriber.subscribe(self.subscription, self.receive) for _ in range(2)]

        def stop() -> None:
            for future in futures:
                future.cancel()
                future.result(TIMEOUT)

        return stop

    def receive(self, message: Any) -> None:
        """Acknowledge most messages, and nack some the first time."""
        number, is_first = self.noted(message.data, message.message_id)
        if is_first and number % 33 == 0:
            message.nack()
            return
        message.ack()
        self.ledger.acknowledged(number)


class Ordered(Program):
    """Ordering keys; a nack now and then brings the rest of its key again."""

    name = "ordered"
    is_ordered = True
    subscription_fields = MappingProxyType({"enable_message_ordering": True})
    settled = 3_600.0  # what follows a nack comes again, even if it was acknowledged

    def consume(self) -> Callable[[], None]:
        future = self.subscriber.subscribe(self.subscription, self.receive)

        def stop() -> None:
            future.cancel()
            future.result(TIMEOUT)

        return stop

    def receive(self, message: Any) -> None:
        number, is_first = self.noted(message.data, message.message_id, message.ordering_key)
        if is_first and number % 199 == 0:
            message.nack()
            return
        message.ack()
        self.ledger.acknowledged(number)


class Once(Program):
    """Exactly-once delivery: nothing comes after an acknowledgement that succeeded."""

    name = "once"
    settled = 0.0
    subscription_fields = MappingProxyType(
        {"enable_exactly_once_delivery": True, "ack_deadline_seconds": 60}
    )

    def receive(self, message: Any) -> None:
        number, is_first = self.noted(message.data, message.message_id)
        if is_first and number % 97 == 0:
            message.nack()
            return
        message.ack_with_response().add_done_callback(lambda done: self._acked(done, number))

    def _acked(self, done: Any, number: int) -> None:
        if done.exception() is None:
            self.ledger.acknowledged(number)
        else:
            self.ledger.count(f"ack failed: {done.exception()}"[:60])


class Pushed(Program):
    """A push endpoint that answers 500 now and then."""

    name = "pushed"

    def prepare(self) -> None:
        program = self

        class Endpoint(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(program.pushed(body["message"]))
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{self._http.server_port}/push"
        self.subscription_fields = {"push_config": {"push_endpoint": url}}
        super().prepare()

    def pushed(self, message: dict[str, Any]) -> int:
        """Take a message, and return the code of the answer."""
        number, is_first = self.noted(base64.b64decode(message["data"]), message["messageId"])
        if is_first and number % 50 == 0:
            return 500
        self.ledger.acknowledged(number)
        return 204

    def consume(self) -> Callable[[], None]:
        return self._http.shutdown


class Pulled(Program):
    """Pulls; some messages are left to their deadlines, some are dead letters."""

    name = "pulled"

    def prepare(self) -> None:
        self._dead = f"{self.topic}-dead"
        self.publisher.create_topic(name=self._dead)
        dead = {"name": f"{self.subscription}-dead", "topic": self._dead}
        self.subscriber.create_subscription(request=dead, timeout=TIMEOUT)
        policy = {"dead_letter_topic": self._dead, "max_delivery_attempts": 5}
        self.subscription_fields = {"dead_letter_policy": policy}
        super().prepare()

    def consume(self) -> Callable[[], None]:
        pool = ThreadPoolExecutor(4)
        running = [pool.submit(self._pull, self.subscription, self._answer) for _ in range(3)]
        running.append(pool.submit(self._pull, f"{self.subscription}-dead", self._answer_dead))

        def stop() -> None:
            for each in running:
                each.result(TIMEOUT)

        return stop

    def _pull(self, subscription: str, answer: Callable[[list[Any]], None]) -> None:
        while not self.over.is_set():
            try:
                request = {"subscription": subscription, "max_messages": 100}
                answer(list(self.subscriber.pull(request=request, timeout=5).received_messages))
            except DeadlineExceeded:
                continue
            except GoogleAPICallError as error:
                self.ledger.error(error)
                time.sleep(1)

    def _answer(self, received: list[Any]) -> None:
        done, refused = [], []
        for each in received:
            number, is_first = self.noted(each.message.data, each.message.message_id)
            if number % 500 == 0 or (is_first and number % 90 == 0):
                refused.append(each.ack_id)
            elif not is_first or number % 100:  # the others are left to their deadlines
                done.append((number, each.ack_id))
        request: dict[str, Any] = {"subscription": self.subscription}
        if refused:
            fields = {"ack_ids": refused, "ack_deadline_seconds": 0}
            self.subscriber.modify_ack_deadline(request=request | fields)
        if done:
            self.subscriber.acknowledge(request=request | {"ack_ids": [each for _, each in done]})
            for number, _ in done:
                self.ledger.acknowledged(number)

    def _answer_dead(self, received: list[Any]) -> None:
        for each in received:
            number = int(each.message.data.split()[0])
            self.ledger.count("dead letters")
            if number % 500:
                self.ledger.error(ValueError(f"message {number} is a dead letter"))
            self.ledger.acknowledged(number)
        if received:
            request = {"subscription": f"{self.subscription}-dead"}
            ids = [each.ack_id for each in received]
            self.subscriber.acknowledge(request=request | {"ack_ids": ids})


class Churn(Program):
    """Streams that are opened, read a little and left; subscriptions that come and go."""

    name = "churn"

    def consume(self) -> Callable[[], None]:
        pool = ThreadPoolExecutor(3)
        running = [pool.submit(self._repeat, self._stream, 0.3) for _ in range(2)]
        running.append(pool.submit(self._repeat, self._short_life, 5.0))

        def stop() -> None:
            for each in running:
                each.result(TIMEOUT)

        return stop

    def _repeat(self, work: Callable[[], None], pause: float) -> None:
        while not self.over.wait(pause):
            try:
                work()
            except GoogleAPICallError as error:
                self.ledger.error(error)

    def _stream(self) -> None:
        """Open a stream, acknowledge most of its first messages by a call, and leave."""
        gone = threading.Event()

        def requests(name: str) -> Iterator[Any]:
            yield pubsub_v1.types.StreamingPullRequest(
                subscription=name, stream_ack_deadline_seconds=10, max_outstanding_messages=100
            )
            gone.wait(30)

        with suppress(DeadlineExceeded):
            call = self.subscriber.api.streaming_pull(requests(self.subscription), timeout=3)
            for response in call:
                self._take(self.subscription, response.received_messages)
                call.cancel()
                break
        gone.set()
        self.ledger.count("streams")

    def _take(self, subscription: str, received: Any) -> None:
        done = []
        for each in received:
            number, is_first = self.noted(each.message.data, each.message.message_id)
            if not is_first or number % 10:
                done.append((number, each.ack_id))
        if done:
            ids = [each for _, each in done]
            self.subscriber.acknowledge(request={"subscription": subscription, "ack_ids": ids})
            for number, _ in done:
                self.ledger.acknowledged(number)

    def _short_life(self) -> None:
        """Create a subscription, lease, snapshot, seek, and delete it with what it has."""
        place = self.ledger.outcome.extra.get("subscriptions", 0)
        name, snapshot = f"{self.subscription}-{place}", f"{PROJECT}/snapshots/churn-{place}"
        self.subscribe_to(name)
        time.sleep(0.5)
        self.subscriber.pull(request={"subscription": name, "max_messages": 50})
        self.subscriber.create_snapshot(request={"name": snapshot, "subscription": name})
        self.subscriber.seek(request={"subscription": name, "snapshot": snapshot})
        self.subscriber.pull(request={"subscription": name, "max_messages": 50})
        self.subscriber.delete_snapshot(request={"snapshot": snapshot})
        self.subscriber.delete_subscription(request={"subscription": name})
        self.ledger.count("subscriptions")


PROGRAMS = {each.name: each for each in (Program, Ordered, Once, Pushed, Pulled, Churn)}
SHARES = {"callbacks": 0.3, "ordered": 0.2, "once": 0.2, "pushed": 0.1, "pulled": 0.1, "churn": 0.1}
"""Of the whole rate, by program."""


def main(name: str, seconds: str, rate: str) -> None:
    """Run a program, and print how it ended."""
    outcome = PROGRAMS[name](float(seconds), float(rate) * SHARES[name]).run()
    print(json.dumps(outcome.as_json()), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
