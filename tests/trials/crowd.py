"""A program of many threads on one store, beside others of its kind, that writes down everything.

It reads plans from standard input as ``worker`` does: the root, the journal, for how many seconds
or how often, and what each thread is. With ``"lock": false`` the lock of tables on local disks is
taken out. It works by the direct lane, or by Spark, as ``worker`` does.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pubsub_delta import Aborted, PubSub
from pubsub_delta.clock import to_micros
from pubsub_delta.errors import class_name
from pubsub_delta.tables.lanes.locks import TableLocks
from tests.journal import Journal
from tests.trials.worker import say, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOPIC, SUBSCRIPTION = "work", "shared"
_BATCH = 5


class Member:
    """One thread of the crowd."""

    def __init__(self, spark: SparkSession | None, plan: dict[str, Any], number: int) -> None:
        self._store = opened(spark, plan["root"])
        self._chance = random.Random(f"{plan['seed']} {number}")
        self._name = f"{plan['name']}.{number}"
        self._end = time.monotonic() + plan["seconds"]
        self._most: int | None = plan.get("turns")
        self._journal: Journal = plan["open_journal"]
        self._made = 0

    def run(self, role: str) -> int:
        """Do what the role does until the time is over; return how often."""
        turns = 0
        while time.monotonic() < self._end and turns != self._most:
            try:
                getattr(self, f"_{role}")()
            except Aborted:  # nothing was written
                self._journal.write(aborted=role)
            turns += 1
        return turns

    def drain(self) -> int:
        """Acknowledge everything that is left; return how many messages that were."""
        acked, deadline = 0, time.monotonic() + 120
        while self._store.metrics(SUBSCRIPTION)["num_undelivered_messages"]:
            assert time.monotonic() < deadline, "something never comes"
            acked += self._take(None, "ack")
        return acked

    def _publish(self) -> None:
        data = [f"{self._name}.{self._made}.{n}" for n in range(3)]
        self._made += 1
        self._journal.write(op="publish", data=data)
        self._store.publish(TOPIC, data)
        self._journal.write(published=data)

    def _consume(self) -> None:
        what = self._chance.choices(("ack", "nack", "forget"), (80, 10, 10))[0]
        if not self._take(_BATCH, what):
            time.sleep(0.2)

    def _take(self, count: int | None, what: str) -> int:
        begun = time.time_ns() // 1000
        batch = self._store.pull(SUBSCRIPTION, count)
        got = time.time_ns() // 1000
        if batch.ack_deadline is None:
            return 0
        texts = {each.ack_id: each.data.decode() for each in batch}
        until = to_micros(batch.ack_deadline)
        pull = f"{self._name} {begun}"
        self._journal.write(pull=pull, begun=begun, got=got, until=until, data=list(texts.values()))
        if what == "forget":
            return 0
        self._journal.write(let_go=pull, what=what, at=time.time_ns() // 1000)
        if what == "nack":
            batch.nack(list(texts))
            return 0
        result = batch.ack(list(texts))
        acked = [texts[each] for each in result.success]
        late = [texts[each] for each in result.expired]
        self._journal.write(acked=acked, late=late, at=time.time_ns() // 1000)
        return len(acked)

    def _sweep(self) -> None:
        report = self._store.maintain(retention=False, optimize=True, vacuum=True)
        self._journal.write(swept=report.optimized, problems=report.problems)
        time.sleep(1)

    def _append(self) -> None:
        """Publish one message, as quickly as it goes."""
        data = [f"{self._name}.{self._made}"]
        self._made += 1
        result = self._store.publish(TOPIC, data)
        self._journal.write(published=data, ids=list(result.message_ids))

    def _lease(self) -> None:
        """Change the ack state once: lease one message."""
        (message,) = self._store.pull(SUBSCRIPTION, 1)
        self._journal.write(leased=[message.message_id])


@contextmanager
def _unlocked(locks: TableLocks, table: str, *, wait: bool = True) -> Iterator[None]:
    yield


def opened(spark: SparkSession | None, root: str) -> PubSub:
    """Open a store by the lane of this process."""
    return PubSub(spark, root, lane="direct" if spark is None else "spark")


def commit_by_the_log_store(spark: SparkSession, log: str, versions: int) -> list[int]:
    """Write commits to a log as Delta's own log store does; return those that it says it wrote.

    Whoever finds that a version is taken goes on with the next one, as a transaction would.
    """
    jvm: Any = spark._jvm
    store = jvm.org.apache.spark.sql.delta.storage.LogStore.apply(spark._jsparkSession)
    conf = spark._jsparkSession.sessionState().newHadoopConf()
    mine = []
    for version in range(versions):
        path = jvm.org.apache.hadoop.fs.Path(f"{log}/{version:020}.json")
        actions = jvm.scala.jdk.javaapi.CollectionConverters.asScala(
            jvm.java.util.Collections.singletonList('{"commitInfo":{}}').iterator()
        )
        try:
            store.write(path, actions, False, conf)
        except Exception as error:
            if "FileAlreadyExists" not in str(error):
                raise
        else:
            mine.append(version)
    return mine


def prepare(store: PubSub, ack_deadline_seconds: int) -> None:
    """Create what the crowd shares, by the clock that it goes by: it is not to be expired."""
    store.create_topic(TOPIC)
    store.create_subscription(SUBSCRIPTION, TOPIC, ack_deadline_seconds=ack_deadline_seconds)


def main() -> None:
    """Do what is told until nothing more is."""
    spark = session()
    say(ready=True)
    for line in sys.stdin:
        plan = json.loads(line)
        try:
            if not plan.get("lock", True):
                TableLocks.locked = _unlocked  # type: ignore[assignment, method-assign]
            if "log" in plan:
                assert spark is not None
                say(wrote=commit_by_the_log_store(spark, plan["log"], plan["versions"]))
                continue
            if plan.get("prepare"):
                prepare(opened(spark, plan["root"]), plan["ack_deadline_seconds"])
                say(prepared=True)
                continue
            plan["open_journal"] = Journal(Path(plan["journal"]))
            members = [Member(spark, plan, number) for number in range(len(plan["roles"]))]
            if plan["roles"] == ["drain"]:
                say(turns=[members[0].drain()])
                continue
            with ThreadPoolExecutor(len(members)) as pool:
                say(turns=list(pool.map(Member.run, members, plan["roles"])))
        except Exception as error:
            say(error=f"{class_name(error)}: {error}")


if __name__ == "__main__":
    main()
