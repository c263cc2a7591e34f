"""Object stores of this machine, and a Spark session that keeps its stores in one of them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pubsub_delta import PubSub, local_session
from pubsub_delta.session import DELTA_PACKAGE
from pubsub_delta.tables.lanes.s3_writers import ONLY_WRITER
from tests.conftest import QUIET, SHORT
from tests.servers import hadoop_version
from tests.storages.servers import KEY, SECRET, STORAGES, Storage


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Storage]]:
    """The storages that run; each starts when it is first asked for."""
    with ExitStack() as started:

        class Running(dict[str, Storage]):
            def __missing__(self, kind: str) -> Storage:
                directory: Path = tmp_path_factory.mktemp(kind)
                self[kind] = started.enter_context(STORAGES[kind](directory))
                return self[kind]

        yield Running()


@pytest.fixture(params=list(STORAGES))
def storage(
    request: pytest.FixtureRequest, running: dict[str, Storage], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Storage]:
    """A storage, whose clients find it by the environment, without faults or delays."""
    found = running[request.param]
    for name, value in found.environment.items():
        monkeypatch.setenv(name, value)
    found.proxy.set()
    yield found
    found.proxy.set()


@pytest.fixture
def root(storage: Storage) -> str:
    return f"{storage.root}/{uuid.uuid4().hex}"


@pytest.fixture
def store(root: str) -> PubSub:
    store = PubSub(None, root)
    store.create_topic("orders")
    store.create_subscription("billing", "orders", ack_deadline_seconds=600)
    return store


@pytest.fixture
def s3(running: dict[str, Storage]) -> Storage:
    """S3, of which the environment tells nothing."""
    running["S3"].proxy.set()
    return running["S3"]


def s3a(endpoint: str, key: str = KEY, secret: str = SECRET) -> dict[str, str]:
    """Return Hadoop's settings of an S3 server."""
    return {
        "fs.s3a.endpoint": endpoint,
        "fs.s3a.endpoint.region": "us-east-1",
        "fs.s3a.path.style.access": "true",
        "fs.s3a.access.key": key,
        "fs.s3a.secret.key": secret,
    }


@pytest.fixture(scope="session")
def spark(running: dict[str, Storage]) -> Iterator[SparkSession]:
    """A session that reads and writes S3."""
    settings = {
        "spark.jars.packages": f"{DELTA_PACKAGE},org.apache.hadoop:hadoop-aws:{hadoop_version()}",
        "spark.driver.extraJavaOptions": f"{QUIET} {SHORT}",
        ONLY_WRITER: "true",
        **{f"spark.hadoop.{k}": v for k, v in s3a(running["S3"].proxy.endpoint).items()},
    }
    session = local_session(app_name="s3", master="local[2]", settings=settings)
    yield session
    session.stop()
