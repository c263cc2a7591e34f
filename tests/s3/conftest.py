"""An S3 server of this machine, and a Spark session that keeps its stores in it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from pubsub_delta import local_session
from pubsub_delta.session import DELTA_PACKAGE
from tests.conftest import QUIET, SHORT
from tests.servers import s3_server, spark_home

BUCKET = "bucket"


def settings_for(endpoint: str) -> dict[str, str]:
    """Return what a session needs to read and write S3 at an endpoint."""
    (client,) = (spark_home() / "jars").glob("hadoop-client-api-*.jar")
    hadoop = client.stem.rsplit("-", 1)[1]
    s3a = {
        "endpoint": endpoint,
        "endpoint.region": "us-east-1",
        "path.style.access": "true",
        "connection.ssl.enabled": "false",
        "access.key": "any",
        "secret.key": "any",
    }
    return {
        "spark.jars.packages": f"{DELTA_PACKAGE},org.apache.hadoop:hadoop-aws:{hadoop}",
        "spark.driver.extraJavaOptions": f"{QUIET} {SHORT}",
        **{f"spark.hadoop.fs.s3a.{key}": value for key, value in s3a.items()},
    }


@pytest.fixture(scope="session")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with s3_server(tmp_path_factory.mktemp("moto") / "server.log", BUCKET) as url:
        yield url


@pytest.fixture(scope="session")
def spark(endpoint: str) -> Iterator[SparkSession]:
    session = local_session(app_name="s3", master="local[2]", settings=settings_for(endpoint))
    yield session
    session.stop()


@pytest.fixture
def root() -> str:
    return f"s3a://{BUCKET}/{uuid.uuid4().hex}"
