"""Two servers on one store, which are killed, ended and suspended by turns, and Google's client.

``SEED`` draws the faults, and ``STORM`` is their seconds (40). A message of a key is delivered
in order, each message that was published is acknowledged or told as in doubt, and none comes again
after its ack was confirmed. A client calls what it has still in its queue, so that comes late.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.cloud.pubsub_v1")
from google.cloud.pubsub_v1.types import FlowControl, PublisherOptions

from pubsub_delta import DeadLetterPolicy, PubSub, RetryPolicy
from tests.acceptance.serving import LONG, ServerProcess, eventually
from tests.acceptance.test_server import subscription, topic

pytestmark = [
    pytest.mark.trial,
    pytest.mark.timeout(1500),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
    # Google's client gives up on a server that was killed after a minute, in threads of its own.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]

SEED = int(os.environ.get("SEED") or time.time())
STORM = float(os.environ.get("STORM", "40"))
EXACT, PLAIN, LETTERS = "exact", "plain", "letters"
_SLACK = 0.05
"""Seconds by which the callbacks of two clients may be noted down in the wrong order."""
_QUEUE = 30
"""Seconds for which a client may have an earlier delivery in its queue."""


@dataclass
class Seen:
    """What clients saw, by the id of a message, and when.

    ``in_doubt``: messages whose last ack was told as failed. ``twice``: those of which two acks
    were confirmed. ``given``: what was delivered: when, to whom, its id, its text.
    """

    published: dict[str, tuple[str, int]] = field(default_factory=dict)
    acked: dict[tuple[str, str], float] = field(default_factory=dict)
    in_doubt: set[str] = field(default_factory=set)
    twice: set[str] = field(default_factory=set)
    given: list[tuple[float, str, str, str]] = field(default_factory=list)


class Clients:
    """A publisher and subscribers of each of some servers."""

    def __init__(self, servers: list[ServerProcess], seed: int) -> None:
        self.seen, self._seed = Seen(), seed
        self._ended = threading.Event()
        self._publishers = [
            threading.Thread(target=self._publish, args=(number, client), daemon=True)
            for number, client in enumerate(
                server.publisher(publisher_options=PublisherOptions(enable_message_ordering=True))
                for server in servers
            )
        ]
        self._futures = [
            server.subscriber().subscribe(
                subscription(name),
                lambda message, name=name: self._receive(name, message),
                flow_control=FlowControl(max_messages=50),
            )
            for server in servers
            for name in (EXACT, PLAIN, LETTERS)
        ]
        for each in self._publishers:
            each.start()

    def stop_publishing(self) -> None:
        self._ended.set()
        for each in self._publishers:
            each.join(LONG)

    def close(self) -> None:
        for each in self._futures:
            each.cancel()
            each.result(LONG)

    def _publish(self, number: int, publisher: Any) -> None:
        chance, counts = random.Random(f"{self._seed}.{number}"), Counter[str]()
        while not self._ended.is_set():
            key = f"{number}-{chance.randrange(3)}"
            text = f"{key}/{counts[key]}".encode()
            try:
                found = publisher.publish(topic(EXACT), text, ordering_key=key).result(LONG)
            except Exception:  # as where the server is gone for longer than the client waits
                publisher.resume_publish(topic(EXACT), key)
                continue
            self.seen.published[found] = (key, counts[key])
            counts[key] += 1
            time.sleep(chance.random() / 10)

    def _receive(self, name: str, message: Any) -> None:
        text = message.data.decode()
        self.seen.given.append((time.time(), name, message.message_id, text))
        fails = int(text.rpartition("/")[2]) % 10 == 3
        if name == PLAIN and fails:
            message.nack()
        elif name == EXACT:
            done = message.ack_with_response()
            done.add_done_callback(lambda done: self._told(message.message_id, done))
        else:
            message.ack()
            self.seen.acked[name, message.message_id] = time.time()

    def _told(self, message_id: str, done: Any) -> None:
        if done.exception() is None:
            if (EXACT, message_id) in self.seen.acked:
                self.seen.twice.add(message_id)
            self.seen.acked[EXACT, message_id] = time.time()
            self.seen.in_doubt.discard(message_id)
        elif (EXACT, message_id) not in self.seen.acked:
            self.seen.in_doubt.add(message_id)


def storm(servers: list[ServerProcess], chance: random.Random, seconds: float) -> list[str]:
    """Kill, end and suspend servers for so long; return what was done."""
    done, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(chance.uniform(2, 8))
        chosen = servers if chance.random() < 0.25 else [chance.choice(servers)]
        what = chance.choice(("kill", "end", "suspend"))
        for each in chosen:
            if what == "suspend":
                each.signal(signal.SIGSTOP)
            elif what == "kill":
                each.kill()
            else:
                each.end()
        time.sleep(chance.uniform(0, 6 if what == "suspend" else 2))
        for each in chosen:
            if what == "suspend":
                each.signal(signal.SIGCONT)
            else:
                each.start()
        done.append(f"{what} {len(chosen)}")
    return done


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[list[ServerProcess]]:
    store = PubSub(None, str(tmp_path / "store"))
    for name in (EXACT, LETTERS):
        store.create_topic(name)
    store.create_subscription(
        EXACT, EXACT, enable_exactly_once_delivery=True, enable_message_ordering=True
    )
    store.create_subscription(
        PLAIN,
        EXACT,
        dead_letter_policy=DeadLetterPolicy(LETTERS, 5),
        retry_policy=RetryPolicy("1s", "2s"),
    )
    store.create_subscription(LETTERS, LETTERS)
    found = [ServerProcess(tmp_path / "store") for _ in range(2)]
    for each in found:
        each.start()
    yield found
    for each in found:
        each.stop()


def test_what_clients_of_two_servers_saw_breaks_no_promise(
    servers: list[ServerProcess], capsys: pytest.CaptureFixture[str]
) -> None:
    # "No redelivery while a lease is live, none after a successful ack"; a crash loses nothing
    clients = Clients(servers, SEED)
    done = storm(servers, random.Random(SEED), STORM)
    clients.stop_publishing()
    seen = clients.seen

    def is_drained() -> bool:
        forwarded = {text for _, name, _, text in list(seen.given) if name == LETTERS}
        return all(
            ((EXACT, each) in seen.acked or each in seen.in_doubt)
            and ((PLAIN, each) in seen.acked or f"{key}/{number}" in forwarded)
            for each, (key, number) in seen.published.items()
        )

    eventually(is_drained)
    time.sleep(15)  # what an ack in doubt has not acknowledged would come again
    clients.close()
    with capsys.disabled():
        sys.stdout.write(
            f"\nstorm of seed {SEED}: {len(seen.published)} messages, {len(seen.in_doubt)} acks in "
            f"doubt; {', '.join(done)}\n"
        )
    assert len(seen.published) > STORM
    again = [
        (text, round(at - seen.acked[EXACT, each], 2))
        for at, name, each, text in seen.given
        if name == EXACT and at > seen.acked.get((EXACT, each), at) + _QUEUE
    ]
    assert again == []
    assert seen.twice == set()
    firsts: dict[tuple[str, int], float] = {}
    for at, name, _, text in seen.given:
        if name == EXACT:
            key, _, number = text.partition("/")
            firsts.setdefault((key, int(number)), at)
    too_early = [
        (key, number)
        for (key, number), at in firsts.items()
        if firsts.get((key, number - 1), at) > at + _SLACK
    ]
    assert too_early == []
