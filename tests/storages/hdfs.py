"""HDFS on this machine: a name node and a data node in one process."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers import free_port, server, spark_home


@contextmanager
def hdfs(directory: Path) -> Iterator[str]:
    """Run Hadoop's cluster of its own tests, of the version that pyspark brings; give its URL.

    Spark fetches it, as it fetches Delta. It writes nothing outside ``directory``.
    """
    (client,) = (spark_home() / "jars").glob("hadoop-client-api-*.jar")
    hadoop = client.stem.rsplit("-", 1)[1]
    port = free_port()
    command = [
        *(str(Path(sys.executable).parent / "spark-submit"), "--driver-memory", "512m"),
        *("--packages", f"org.apache.hadoop:hadoop-client-minicluster:{hadoop}"),
        *("--conf", "spark.driver.userClassPathFirst=true"),
        *("--class", "org.apache.hadoop.test.MiniDFSClusterManager", "spark-internal"),
        *("-format", "-nnport", str(port), "-D", f"hdfs.minidfs.basedir={directory / 'dfs'}"),
    ]
    try:
        with server(command, port, directory / "hdfs.log"):
            yield f"hdfs://127.0.0.1:{port}"
    finally:
        shutil.rmtree(directory / "dfs", ignore_errors=True)
