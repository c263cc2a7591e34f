"""An operator restores the tables of the registry while a server and other processes work on them.

docs/guarantees.md: "A RESTORE of the registry takes resources away and brings them back."
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

pytest.importorskip("google.cloud.pubsub_v1")
from google.api_core.exceptions import FailedPrecondition, NotFound

from pubsub_delta import PubSub
from pubsub_delta.errors import PubSubError
from tests.acceptance.serving import LONG, ServerProcess, eventually

pytestmark = [
    pytest.mark.trial,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]

SEEDS = range(int(os.environ.get("SEEDS", "1")))
LASTING = "lasting"
NAMES = ("one", "two")
KINDS = ("topics", "subscriptions", "snapshots")
RESTORES, PAUSE = 10, 1.5
IDLE = 4.0
TOLD = {"DataLoss", "Aborted", "AlreadyExists", "FailedPrecondition", "NotFound"}
"""What ``maintain`` may tell of it: a snapshot that came back without its table is lost."""


class World:
    """Everybody who works on a store at the same time, each in a thread, until all are stopped."""

    def __init__(self, server: ServerProcess, root: Path, seed: int) -> None:
        self.server, self.root = server, root
        self.chance = random.Random(seed)
        self.published: list[bytes] = []
        self.received: dict[str, Counter[bytes]] = {}
        self.acked: list[bytes] = []
        self.ends: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self.stopped, self.published_all = threading.Event(), threading.Event()
        self.faults: list[BaseException] = []
        self._threads: list[threading.Thread] = []

    def store(self) -> PubSub:
        return PubSub(None, str(self.root))

    def start(self, work: Callable[[], None]) -> None:
        def run() -> None:
            while not self.stopped.wait(0.05):
                try:
                    work()
                except PubSubError as error:
                    self.refusals[type(error).__name__] += 1
                except (NotFound, FailedPrecondition) as error:
                    self.ends[type(error).__name__] += 1
                except BaseException as error:
                    self.faults.append(error)
                    return

        self._threads.append(threading.Thread(target=run))
        self._threads[-1].start()

    def stop(self) -> None:
        self.stopped.set()
        for thread in self._threads:
            thread.join(LONG)

    def publish(self, publisher: Any) -> None:
        if self.published_all.is_set():
            return
        data = b"%d" % len(self.published)
        publisher.publish(_full("topics", LASTING), data).result(LONG)
        self.published.append(data)

    def consume(self, name: str, subscriber: Any) -> None:
        """Hold a stream of Google's client until it ends; nobody acknowledges without an answer."""
        received = self.received.setdefault(name, Counter())

        def receive(message: Any) -> None:
            received[message.data] += 1
            if name == LASTING:
                message.ack_with_response().result(LONG)
                self.acked.append(message.data)
            else:
                message.ack()

        stream = subscriber.subscribe(_full("subscriptions", name), receive)
        try:
            while not self.stopped.is_set():
                if stream.done():
                    stream.result()
                self.stopped.wait(0.2)
        finally:
            stream.cancel()

    def administer(self, store: PubSub) -> None:
        """Create and delete what has a name of these, and publish to it."""
        name = self.chance.choice(NAMES)
        full = f"{name}-{self.chance.randrange(100)}"
        create = [lambda: store.create_topic(name), lambda: store.create_subscription(name, name)]
        calls: list[Callable[[], object]] = [
            *(2 * create),
            lambda: store.create_snapshot(full, name),
            lambda: (
                store.delete_snapshot(self.chance.choice(list(store.list_snapshots())).name)
                if list(store.list_snapshots())
                else None
            ),
            lambda: store.delete_subscription(name),
            lambda: store.delete_topic(name),
            lambda: store.publish(name, [name]),
            lambda: store.publish(name, [name]),
        ]
        self.chance.choice(calls)()

    def restore(self, base: dict[str, int], chance: random.Random) -> None:
        """Restore some tables of the registry to a version since which the lasting names exist."""
        for kind in chance.sample(KINDS, chance.randint(1, len(KINDS))):
            for _ in range(50):
                table = DeltaTable(self.root / kind)
                if table.version() <= base[kind]:
                    break
                try:
                    table.restore(chance.randrange(base[kind], table.version()))
                    break
                except CommitFailedError:  # somebody has written meanwhile
                    continue


def _full(kind: str, name: str) -> str:
    return f"projects/local/{kind}/{name}"


def _processor_seconds(process_id: int) -> float:
    fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_restored_registry_loses_nothing_of_what_is_in_it(tmp_path: Path, seed: int) -> None:
    root = tmp_path / "store"
    store = PubSub(None, str(root))
    store.create_topic(LASTING)
    store.create_subscription(LASTING, LASTING, enable_exactly_once_delivery=True)
    store.create_subscription("by-the-library", LASTING)
    store.create_snapshot(LASTING, LASTING)
    base = {kind: DeltaTable(root / kind).version() for kind in KINDS}
    for name in NAMES:
        store.create_topic(name)
        store.create_subscription(name, name)
        store.publish(name, [name])
    server = ServerProcess(root)
    with ExitStack() as running:
        server.start()
        running.callback(server.stop)
        world = World(server, root, seed)
        publisher = server.publisher()
        world.start(lambda: world.publish(publisher))
        for name in (LASTING, *NAMES):
            subscriber = server.subscriber()
            world.start(lambda name=name, by=subscriber: world.consume(name, by))  # type: ignore[misc]
        by_library: list[bytes] = []

        def receive(message: Any) -> None:
            by_library.append(message.data)
            message.ack()

        subscribed = world.store().subscribe("by-the-library", receive)
        administrator, maintainer = world.store(), world.store()
        problems: list[str] = []
        world.start(lambda: problems.extend(maintainer.maintain(exact=True).problems.values()))
        for name in NAMES:
            eventually(lambda name=name: world.received.get(name))  # type: ignore[misc]
        world.start(lambda: world.administer(administrator))
        for _ in range(RESTORES):
            time.sleep(PAUSE)
            world.restore(base, random.Random(world.chance.random()))
        eventually(lambda: len(world.published) > 20 or world.faults)
        world.published_all.set()
        assert world.faults == []
        eventually(lambda: set(world.acked) >= set(world.published) or world.faults)
        eventually(lambda: set(by_library) >= set(world.published))
        world.stop()
        assert world.faults == []
        assert subscribed.running()
        subscribed.cancel()
        subscribed.result(LONG)
        before = _processor_seconds(server.process_id)
        time.sleep(IDLE)
        assert _processor_seconds(server.process_id) - before < IDLE / 2
        assert store.metrics(LASTING)["num_undelivered_messages"] == 0
        assert max(Counter(world.acked).values()) == 1
        for name in NAMES:
            assert set(world.received[name]) == {name.encode()}
        assert world.ends["NotFound"] > 0
        assert {why.partition(":")[0] for why in problems} <= TOLD
        assert server.stop() == 0
        assert "Traceback" not in server.log.read_text()
