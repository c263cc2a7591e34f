"""A process of a history: it does what its plan says, and writes down when that began and ended.

    python -m tests.histories.worker FOLDER PROCESS NUMBER

``NUMBER`` counts how often the process was started: what the ones before it began is not begun
again. It says ``ready`` and waits for a line, so that all processes of a plan begin together.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltalake import DeltaTable

from pubsub_delta import DeadLetterPolicy, Message, PubSub
from pubsub_delta.batches import PulledBatch
from pubsub_delta.clock import from_micros, to_micros
from pubsub_delta.errors import class_name
from pubsub_delta.tables.lanes.choice import LaneName
from tests.journal import Journal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Step = dict[str, Any]
_SOURCE = "CloudPubSubDeadLetterSourceSubscription"


class FrozenClock:
    """A fast clock of a process: for each thread it stands still while an operation runs.

    So what an operation went by is written down before it begins. A process that is stopped in an
    operation goes on with an old time, as any process does.
    """

    def __init__(self, origin: float, speed: float, offset: float) -> None:
        self._origin, self._speed, self._offset = origin, speed, offset
        self._of_thread = threading.local()

    def freeze(self) -> int:
        """Stand still at the present time from now on; return it in microseconds."""
        self._of_thread.now = self._present()
        return int(self._of_thread.now)

    def now(self) -> datetime:
        return from_micros(getattr(self._of_thread, "now", None) or self._present())

    def _present(self) -> int:
        passed = (time.time() - self._origin) * self._speed
        return int((self._origin + passed + self._offset) * 1_000_000)


class Held:
    """What a process was given: ack ids, and whole batches, by the name of the subscription."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._batches: dict[str, list[tuple[PulledBatch, list[str]]]] = defaultdict(list)

    def add(self, subscription: str, batch: PulledBatch, ack_ids: list[str]) -> None:
        with self._lock:
            self._batches[subscription].append((batch, ack_ids))

    def take(
        self, subscription: str, chance: random.Random, *, keep: bool
    ) -> tuple[PulledBatch, list[str]] | None:
        """Return a batch and its ack ids; ``keep``: it may be taken again, when it is old."""
        with self._lock:
            found = self._batches[subscription]
            if not found:
                return None
            place = chance.randrange(len(found))
            return found[place] if keep else found.pop(place)


class Process:
    """All threads of a process, its store and what it holds."""

    def __init__(self, folder: Path, name: str, number: int) -> None:
        self.plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
        running = json.loads((folder / "running.json").read_text(encoding="utf-8"))
        spec = self.plan["processes"].get(name, running.get(name))
        self.id = f"{name}.{number}"
        speed = spec.get("speed", self.plan["speed"])
        self.clock = FrozenClock(spec.get("origin", running["origin"]), speed, spec["offset"])
        self.root = running["root"]
        self.spark = _session() if spec.get("lane") == "spark" else None
        lane: LaneName | None = None if self.spark is None else "spark"
        self.store = PubSub(self.spark, self.root, clock=self.clock, lane=lane)
        self.held = Held()
        self.journal = Journal(folder / f"{self.id}.jsonl")
        self.threads = spec.get("threads", [])
        self.begun = _begun(folder, name)

    def run(self) -> None:
        threads = [
            threading.Thread(target=Worker(self, number, steps).run)
            for number, steps in enumerate(self.threads)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def _session() -> SparkSession:
    """Start Spark; the processes that work without it do not load it."""
    from tests.trials.sessions import small_session

    return small_session()


def _begun(folder: Path, name: str) -> dict[int, int]:
    """Return how many steps each thread of a process has begun before it was killed."""
    begun: dict[int, int] = defaultdict(int)
    for path in folder.glob(f"{name}.*.jsonl"):
        for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
            entry = json.loads(line)
            if "op" in entry:
                _, thread, step = entry["id"].split("/")
                begun[int(thread)] = max(begun[int(thread)], int(step.split(".")[0]) + 1)
    return begun


class Worker:
    """One thread: it takes its steps one after the other."""

    def __init__(self, process: Process, thread: int, steps: list[Step]) -> None:
        self._process, self._thread, self._steps = process, thread, steps
        self._store, self._held = process.store, process.held
        self._chance = random.Random(f"{process.plan['seed']} {process.id} {thread}")
        self._step = process.begun[thread]

    def run(self) -> None:
        for number in range(self._step, len(self._steps)):
            self._step = number
            step = dict(self._steps[number])
            time.sleep(step.pop("pause", 0.0))
            self.take(step)

    def take(self, step: Step) -> Any:
        """Take one step; return what it answered."""
        kind = step.pop("op")
        return getattr(self, f"_{kind}")(**step)

    def _call(self, kind: str, what: Callable[[], dict[str, Any]], **args: Any) -> Any:
        """Make a call of the store between two lines of the journal; return what it answered."""
        journal, id_ = self._process.journal, f"{self._process.id}/{self._thread}/{self._step}"
        now = self._process.clock.freeze()
        journal.write(id=id_, op=kind, now=now, at=time.monotonic_ns(), **args)
        try:
            done = what()
        except Exception as error:
            told = {"error": class_name(error), "text": str(error)[:1000]}
            journal.write(id=id_, at=time.monotonic_ns(), **told)
            return None
        journal.write(id=id_, at=time.monotonic_ns(), done=done)
        return done

    # Messages

    def _publish(self, topic: str, keys: list[str], again: bool = False) -> None:
        name = f"{self._process.id}/{self._thread}/{self._step}"
        texts = [(f"{name}.{n}", key) for n, key in enumerate(keys)]
        messages = self._messages(texts)
        once = (name, 1) if again else None

        def publish() -> dict[str, Any]:
            results = [
                self._store.publish(topic, messages, idempotency_id=once) for _ in range(1 + again)
            ]
            return {"ids": [list(each.message_ids) for each in results]}

        self._call("publish", publish, topic=topic, messages=texts)

    def _messages(self, texts: list[tuple[str, str]]) -> list[Message] | DataFrame:
        """Return what is published: messages, or by the Spark lane often the rows of a query."""
        spark = self._process.spark
        if spark is None or self._chance.random() < 0.3:
            return [Message(text.encode(), {}, key) for text, key in texts]
        rows = spark.createDataFrame(texts, "data string, ordering_key string")
        return rows.coalesce(1)  # in their order

    def _pull(self, subscription: str, max: int | None = None) -> Any:
        def pull() -> dict[str, Any]:
            batch = self._store.pull(subscription, max)
            rows: list[dict[str, Any]] = [
                {
                    "ack_id": each.ack_id, "text": each.data.decode(),
                    "message_id": each.message_id, "key": each.ordering_key,
                    "publish_time": to_micros(each.publish_time),
                    "source": each.attributes.get(_SOURCE, ""),
                }
                for each in batch
            ]  # fmt: skip
            got.append((batch, [row["ack_id"] for row in rows]))
            until = to_micros(batch.ack_deadline) if batch.ack_deadline else 0
            return {"messages": rows, "until": until}

        got: list[tuple[PulledBatch, list[str]]] = []
        done = self._call("pull", pull, subscription=subscription, max=max)
        if done and done["messages"]:
            self._held.add(subscription, *got[0])
        return done

    def _ack(self, **asked: Any) -> Any:
        return self._answer("ack", **asked)

    def _nack(self, **asked: Any) -> Any:
        return self._answer("nack", **asked)

    def _extend(self, **asked: Any) -> Any:
        return self._answer("extend", **{**asked, "keep": True})

    def _answer(
        self, kind: str, subscription: str, share: float, whole: bool, keep: bool, seconds: int
    ) -> Any:
        """Acknowledge a batch, or some of its ids; or give it back, or a new deadline."""
        found = self._held.take(subscription, self._chance, keep=keep)
        if found is None:
            return None
        batch, ids = found
        ids = ids if whole else self._chance.sample(ids, max(1, round(share * len(ids))))

        def answer() -> dict[str, Any]:
            if kind == "ack":
                told = batch.ack() if whole else self._store.acknowledge(subscription, ids)
            else:
                deadline = 0 if kind == "nack" else seconds
                told = (
                    batch.modify_ack_deadline(deadline)
                    if whole
                    else self._store.modify_ack_deadline(subscription, ids, deadline)
                )
            return {
                "success": list(told.success), "expired": list(told.expired),
                "invalid": list(told.invalid),
            }  # fmt: skip

        extra = {"seconds": seconds} if kind == "extend" else {}
        return self._call(kind, answer, subscription=subscription, ids=ids, **extra)

    def _seek_time(self, subscription: str, back: float) -> None:
        at = self._process.clock.freeze() - int(back * 1_000_000)

        def seek() -> dict[str, Any]:
            self._store.seek(subscription, time=from_micros(at))
            return {}

        self._call("seek_time", seek, subscription=subscription, time=at)

    def _seek_snapshot(self, subscription: str, snapshot: str) -> Any:
        def seek() -> dict[str, Any]:
            self._store.seek(subscription, snapshot=snapshot)
            return {}

        return self._call("seek_snapshot", seek, subscription=subscription, snapshot=snapshot)

    # Resources

    def _create_topic(self, topic: str) -> Any:
        def create() -> dict[str, Any]:
            return {"uid": self._store.create_topic(topic).uid}

        return self._call("create_topic", create, topic=topic)

    def _delete_topic(self, topic: str) -> None:
        self._call("delete_topic", lambda: self._store.delete_topic(topic) or {}, topic=topic)

    def _create_subscription(self, subscription: str) -> Any:
        fields = self._process.plan["world"]
        fields = {**fields["subscriptions"], **fields["probes"]}[subscription]
        letters = fields.get("letters")

        def create() -> dict[str, Any]:
            made = self._store.create_subscription(
                subscription,
                fields["topic"],
                ack_deadline_seconds=fields["deadline"],
                enable_message_ordering=fields["ordered"],
                enable_exactly_once_delivery=fields["exactly_once"],
                retain_acked_messages=fields["retains"],
                dead_letter_policy=DeadLetterPolicy(letters, 5) if letters else None,
            )
            return {"uid": made.uid}

        asked = {"subscription": subscription, "topic": fields["topic"]}
        return self._call("create_subscription", create, **asked)

    def _delete_subscription(self, subscription: str) -> None:
        def delete() -> dict[str, Any]:
            self._store.delete_subscription(subscription)
            return {}

        self._call("delete_subscription", delete, subscription=subscription)

    def _create_snapshot(self, snapshot: str, subscription: str) -> None:
        def create() -> dict[str, Any]:
            return {"uid": self._store.create_snapshot(snapshot, subscription).uid}

        asked = {"snapshot": snapshot, "subscription": subscription}
        self._call("create_snapshot", create, **asked)

    def _delete_snapshot(self, snapshot: str, subscription: str) -> None:
        def delete() -> dict[str, Any]:
            self._store.delete_snapshot(snapshot)
            return {}

        self._call("delete_snapshot", delete, snapshot=snapshot)

    # Upkeep

    def _maintain(self, exact: bool = True, vacuum: bool = False, **duties: Any) -> Any:
        def maintain() -> dict[str, Any]:
            report = self._store.maintain(exact=exact, vacuum=vacuum, **duties)
            return {"discarded": report.discarded, "problems": report.problems}

        return self._call("maintain", maintain)

    def _optimize(self) -> None:
        self._maintain(optimize=True, retention=False, dead_letters=False, expiration=False)

    def _restore(self, subscription: str, back: int) -> None:
        """Restore an earlier version of an ack state, as an operator does it."""
        uid = None
        with suppress(Exception):
            uid = self._store.get_subscription(subscription).uid
        if uid is None:
            return

        def restore() -> dict[str, Any]:
            table = DeltaTable(f"{self._process.root}/ack_state/{uid}".replace("s3a://", "s3://"))
            version = max(0, table.version() - max(1, back // 10))
            table.restore(version)
            return {"version": version}

        self._call("restore", restore, subscription=subscription, uid=uid)


def main() -> None:
    """Be one process of a plan."""
    folder, name, number = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    warnings.simplefilter("ignore")
    process = Process(folder, name, number)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    if not sys.stdin.readline():
        return
    if name in ("setup", "drain"):
        from tests.histories import ends

        getattr(ends, name)(process)
    else:
        process.run()
    sys.stdout.write("done\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
