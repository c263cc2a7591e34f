"""Servers that tests start on this machine, each in a process of its own, and always stop."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

START_SECONDS = 120


def free_port() -> int:
    """Return a port of this machine that nobody listens to."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def spark_home() -> Path:
    """Return where the installed pyspark has its launchers and JARs."""
    import pyspark

    return Path(pyspark.__file__).parent


def hadoop_version() -> str:
    """Return the version of Hadoop's client that the installed pyspark brings."""
    (client,) = (spark_home() / "jars").glob("hadoop-client-api-*.jar")
    return client.stem.rsplit("-", 1)[1]


@contextmanager
def server(
    command: Sequence[str],
    port: int,
    log: Path,
    environment: Mapping[str, str] | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program until it listens to its port, and stop it at the end, whatever happens.

    What it says goes to a file, whose last lines are told if it does not start.
    """
    with log.open("a") as output:
        process = subprocess.Popen(
            list(command),
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable, **(environment or {})},
            cwd=log.parent,
        )
    try:
        _wait(process, port, log)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError(f"{process.args!r} did not start:\n{log.read_text()[-3000:]}")


@contextmanager
def connect_server(log: Path, settings: Mapping[str, str]) -> Iterator[str]:
    """Run the Spark Connect server of the installed pyspark; give its URL."""
    port = free_port()
    wanted = {
        **settings,
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
    }
    command = [
        str(spark_home() / "bin" / "spark-submit"),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *("--name", "Spark Connect server"),
        *(part for key, value in wanted.items() for part in ("--conf", f"{key}={value}")),
        "spark-internal",
    ]
    with server(command, port, log):
        yield f"sc://127.0.0.1:{port}"


@dataclass(frozen=True)
class Cluster:
    """A standalone cluster: the URL of its master, and the processes of its workers."""

    url: str
    workers: Sequence[subprocess.Popen[bytes]]


@contextmanager
def standalone_cluster(python: Path, directory: Path) -> Iterator[Cluster]:
    """Run a standalone master and two workers of one core and 1 GiB each.

    ``python``: one with pyspark, whose launchers are used, and which the workers run.
    """
    home = Path(_output(python, "import pyspark; print(pyspark.__path__[0])"))
    launcher = str(home / "bin" / "spark-class")
    environment = {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "512m",
        "SPARK_LOG_DIR": str(directory),
        "PYSPARK_PYTHON": str(python),
    }
    port, page = free_port(), free_port()
    master = [launcher, "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1"]
    url = f"spark://127.0.0.1:{port}"
    with ExitStack() as running:
        options = ["--port", str(port), "--webui-port", str(page)]
        log = directory / "master.log"
        running.enter_context(server([*master, *options], page, log, environment))
        workers = []
        for name in ("worker-1", "worker-2"):
            own_page = free_port()
            worker = [launcher, "org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1"]
            options = ["--cores", "1", "--memory", "1g", "--webui-port", str(own_page)]
            options += ["--work-dir", str(directory / name), url]
            log = directory / f"{name}.log"
            command = [*worker, *options]
            workers.append(running.enter_context(server(command, own_page, log, environment)))
        _await_workers(f"http://127.0.0.1:{page}/json/", 2)
        yield Cluster(url, workers)


def _output(python: Path, program: str) -> str:
    told = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True)
    return told.stdout.strip()


def _await_workers(page: str, wanted: int) -> None:
    end = time.monotonic() + START_SECONDS
    alive = 0
    while time.monotonic() < end:
        with urlopen(page, timeout=10) as answer:
            alive = json.load(answer)["aliveworkers"]
        if alive == wanted:
            return
        time.sleep(0.2)
    raise AssertionError(f"{alive} of {wanted} workers have registered")
