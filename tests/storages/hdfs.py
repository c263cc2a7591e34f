"""HDFS on this machine: a name node and a data node in one process."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers import free_port, hadoop_version, server


@contextmanager
def hdfs(directory: Path) -> Iterator[str]:
    """Run Hadoop's cluster of its own tests, of the version that pyspark brings; give its URL.

    Spark fetches it, as it fetches Delta. It writes nothing outside ``directory``.
    """
    port = free_port()
    command = [
        *(str(Path(sys.executable).parent / "spark-submit"), "--driver-memory", "512m"),
        *("--packages", f"org.apache.hadoop:hadoop-client-minicluster:{hadoop_version()}"),
        *("--conf", "spark.driver.userClassPathFirst=true"),
        *("--class", "org.apache.hadoop.test.MiniDFSClusterManager", "spark-internal"),
        *("-format", "-nnport", str(port), "-D", f"hdfs.minidfs.basedir={directory / 'dfs'}"),
    ]
    try:
        with server(command, port, directory / "hdfs.log"):
            yield f"hdfs://127.0.0.1:{port}"
    finally:
        shutil.rmtree(directory / "dfs", ignore_errors=True)
