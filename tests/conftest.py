"""One Spark session for the whole run, and stores to try things in."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from xdist.scheduler import LoadScopeScheduling

from pubsub_delta import ManualClock, PubSub, Subscription, Topic, local_session
from pubsub_delta.session import (
    DELTA_PACKAGE,
    DELTA_SETTINGS,
    LOCAL_SETTINGS,
    SPEED_SETTINGS,
    is_remote,
    remote_session,
)
from pubsub_delta.tables.lanes.choice import LaneName
from tests.servers import connect_server

REPOSITORY = Path(__file__).resolve().parent.parent
QUIET = f"-Dlog4j2.configurationFile={(REPOSITORY / 'conf/log4j2.properties').as_uri()}"
SHORT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For a JVM that lives for a minute or two: it spends no time on what pays later."""

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


SETTINGS = {
    "spark.driver.extraJavaOptions": f"{QUIET} -XX:+UseSerialGC",
    "spark.sql.session.timeZone": "America/New_York",
    # Plans here are tiny, and there are thousands of them.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "1",
    # Else each commit of a session that is not in UTC reads the table's state once more.
    "spark.databricks.delta.allFilesInCrc.verificationMode.forceOnNonUTC.enabled": "false",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--remote", action="store_true", help="Test by a Spark Connect server, started for it."
    )


_ACCEPTANCE = "cli", "data_source", "docs", "export", "job", "notebooks", "processes", "streaming"
NEED_SESSION = (
    "tests/cluster/",
    "tests/delta/",
    "tests/model/test_machine_on_delta",
    "tests/spark_lane/",
    "tests/storages/test_spark",
    *(f"tests/acceptance/test_{each}" for each in _ACCEPTANCE),
)
"""Where tests share the run's Spark session. Others of ``tests/acceptance`` start processes."""

OF_THEIR_OWN = {
    "clients": "needs Node.js, and Google's client for it from npm: make client-test",
    "cluster": "needs a standalone cluster, which it starts: make cluster-test",
    "console": "needs Chromium, which it drives: make console-test",
    "spark_lane": "shows by the Spark lane what the direct lane shows in every run: make lane-test",
    "storages": "needs servers of object storage, which it starts: make object-storage-test",
}
"""Marks of tests that only run when `-m` asks for them."""


def lane_of(item: pytest.Item) -> object:
    """Return the lane by which a test runs, or None."""
    call = getattr(item, "callspec", None)
    return None if call is None else call.params.get("lane", call.params.get("bench"))


def pytest_configure(config: pytest.Config) -> None:
    # A shell ignores SIGINT in what it starts in the background, and so would all that tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for mark, why in OF_THEIR_OWN.items():
        config.addinivalue_line("markers", f"{mark}: {why}")


NOT_REMOTE = {
    "test_started_queries.py": "as test_streaming.py",
    "test_streaming.py": "process and its threads are not in the server's Python process",
    "test_a_foreign_session_works_with_one_warning": "its sessions have no newSession()",
    "test_a_session_that_writes_something_else_is_refused_by_its_setting": "as above",
    "test_a_session_that_leaves_messages_out_is_refused_by_its_setting": "as above",
    "test_a_topic_whose_log_is_damaged_keeps_no_other_view_from_being_made": "the server has "
    "written the log, and remembers it",
    "test_both_evaluators_agree_with_the_table_of_cases": "it asks for all filters in one "
    "expression, and protobuf takes 100 levels",
}
"""What does not work by Spark Connect, and why: a file or a test (see docs/spark-connect.md)."""


class OneWorkerForSpark(LoadScopeScheduling):  # type: ignore[misc]
    """Gives one worker all tests that share the Spark session, so that there is one JVM of it."""

    def _split_scope(self, nodeid: str) -> str:
        return "spark" if nodeid.startswith(NEED_SESSION) else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> OneWorkerForSpark | None:
    return OneWorkerForSpark(config, log) if config.getvalue("dist") == "loadscope" else None


@pytest.hookimpl(tryfirst=True)  # before ``-m`` chooses by marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    remote = config.getoption("--remote")
    for item in items:
        if not remote and lane_of(item) == "spark":
            item.add_marker(pytest.mark.spark_lane)
    asked = {mark for mark in OF_THEIR_OWN if mark in config.getoption("markexpr")}
    others = set(OF_THEIR_OWN) - asked
    left_out = {i for i in items if not others.isdisjoint(m.name for m in i.iter_markers())}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]
    for item in items:
        why = NOT_REMOTE.get(item.path.name) or NOT_REMOTE.get(item.name.split("[")[0])
        if remote and why:
            item.add_marker(pytest.mark.skip(reason=f"Spark Connect: {why}"))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Refuse tests with the run's Spark session that another worker would start a JVM for."""
    asking = [each for each in session.items if "spark" in getattr(each, "fixturenames", ())]
    elsewhere = {each.path.name for each in asking if not each.nodeid.startswith(NEED_SESSION)}
    if elsewhere:
        raise pytest.UsageError(f"NEED_SESSION lacks {', '.join(sorted(elsewhere))}")


@pytest.fixture(autouse=True)
def _log_as_before() -> Iterator[None]:
    """Give the loggers back as they were: a command in this process sets them for good."""
    loggers = [logging.getLogger(name) for name in ("pubsub_delta", "py.warnings", "uvicorn")]
    before = [(each, each.handlers, each.propagate, each.level) for each in loggers]
    yield
    for logger, handlers, propagate, level in before:
        logger.handlers, logger.propagate = handlers, propagate
        logger.setLevel(level)


@pytest.fixture(scope="session")
def spark(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    settings = {**SETTINGS, "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse"))}
    if not request.config.getoption("--remote"):
        session = local_session(
            app_name="tests", master="local[2]", driver_memory="3g", settings=settings
        )
        yield session
        session.stop()
        return
    of_server = {
        "spark.master": "local[2]",
        "spark.driver.memory": "3g",
        "spark.jars.packages": DELTA_PACKAGE,
        **DELTA_SETTINGS,
        **SPEED_SETTINGS,
        **LOCAL_SETTINGS,
        **settings,
    }
    log = tmp_path_factory.mktemp("connect") / "server.log"
    with connect_server(log, of_server) as url:
        session = remote_session(url)
        yield session
        session.stop()


def by_id(rows: DataFrame) -> DataFrame:
    """Sort messages, for chispa, which cannot sort rows that have a map."""
    return rows.sort("message_id")


class Bench:
    """A store under a manual clock, with a fresh topic and subscription for each test."""

    def __init__(self, spark: SparkSession, root: str, lane: LaneName | None = None) -> None:
        self.spark = spark
        self.root = root
        self.lane = lane
        self.clock = ManualClock()
        self.store = self.another()
        self._made = 0

    def unused(self, kind: str) -> str:
        """Return an id that no resource has."""
        self._made += 1
        return f"{kind}-{self._made}"

    def topic(self) -> str:
        """Create a topic and return its id."""
        name = self.unused("topic")
        self.store.create_topic(name)
        return name

    def subscription(self, topic: str, **fields: Any) -> str:
        """Create a subscription to a topic and return its id."""
        name = self.unused("subscription")
        self.store.create_subscription(name, topic, **fields)
        return name

    def pair(self, **fields: Any) -> tuple[str, str]:
        """Create a topic with one subscription and return both ids."""
        topic = self.topic()
        return topic, self.subscription(topic, **fields)

    def another(self) -> PubSub:
        """Open the same store once more, as another process would."""
        return PubSub(self.spark, self.root, clock=self.clock, lane=self.lane)

    def messages_table(self, topic: str) -> str:
        """Return a topic's table as it is named in SQL."""
        found: Topic = self.store.get_topic(topic)
        return f"delta.`{self.root}/messages/{found.uid}`"

    def ack_state_table(self, subscription: str) -> str:
        """Return a subscription's ack state as it is named in SQL."""
        found: Subscription = self.store.get_subscription(subscription)
        return f"delta.`{self.root}/ack_state/{found.uid}`"

    def commits(self, table: str) -> int:
        """Return how many commits a table has had, as the library tells that made none of them."""
        if is_remote(self.spark):
            return self.spark.sql(f"DESCRIBE HISTORY {table}").count()
        return int(DeltaTable(table.split("`")[1]).version()) + 1


def states(bench: Bench, subscription: str) -> dict[bytes, str]:
    """Return the state of every message in a backlog, by its data."""
    rows = bench.store.backlog(subscription).select("data", "state").collect()
    return {bytes(row["data"]): row["state"] for row in rows}


def forget_commits(bench: Bench, topic: str) -> None:
    """Have a topic's log forget its commits, as maintenance does when they are old."""
    opened = DeltaTable(bench.messages_table(topic).split("`")[1])
    bench.store.publish(topic, ["kept"])
    opened.update_incremental()
    opened.alter.set_table_properties({"delta.logRetentionDuration": "interval 0 seconds"})
    opened.create_checkpoint()
    opened.cleanup_metadata()
    assert len(DeltaTable(opened.table_uri).history()) < opened.version()


@pytest.fixture
def jobs_are_counted(spark: SparkSession) -> None:
    """Skip a test that counts Spark jobs where they run behind Spark Connect."""
    if is_remote(spark):
        pytest.skip("jobs are counted in the driver")


@pytest.fixture(scope="module", params=["direct", "spark"])
def lane(request: pytest.FixtureRequest) -> LaneName:
    """Each lane in turn: one suite holds the two together."""
    if request.param == "direct" and request.config.getoption("--remote"):
        pytest.skip("Spark Connect: the files are where the server looks for them")
    chosen: LaneName = request.param
    return chosen


@pytest.fixture(scope="module")
def bench(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, lane: LaneName) -> Bench:
    return Bench(spark, str(tmp_path_factory.mktemp("store")), lane)
