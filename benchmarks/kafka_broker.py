"""Kafka 4.1 on this machine: its JARs, a broker of one node, and its own tools.

The JARs come through Spark's resolver, with the registries and the cache that Delta's come by. The
broker is its own KRaft controller, listens on the loopback only, and keeps its data in a directory
that is removed when it stops. The JVMs have the heap and the collector of Kafka's start scripts.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pyspark

VERSION = "4.1.2"
PACKAGES = (
    f"org.apache.kafka:kafka_2.13:{VERSION}",
    f"org.apache.kafka:kafka-tools:{VERSION}",
    "org.apache.logging.log4j:log4j-slf4j-impl:2.25.3",  # without a file: errors only
)
NOT_NEEDED = ("connect-runtime", "connect-api", "connect-json")

COLLECTOR = (
    "-server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35 "
    "-XX:+ExplicitGCInvokesConcurrent -Djava.awt.headless=true"
)
BROKER_JVM = ("-Xms1g", "-Xmx1g", *COLLECTOR.split())
TOOL_JVM = ("-Xmx512m", *COLLECTOR.split())

BROKER_SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "offsets.topic.replication.factor": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}
"""What one node needs, but for the addresses, and that nobody waits for others to join a group."""


class KafkaUnavailable(RuntimeError):
    """Kafka's JARs cannot be had, or its broker does not start."""


class KafkaFailed(RuntimeError):
    """One of Kafka's tools failed, or took too long."""


def fetch_jars() -> str:
    """Return the class path of Kafka's broker and tools; the first time, fetch them.

    As for ``spark-submit --packages``, with the settings of Spark's resolver, but what is
    submitted prints its version and ends, without a session. KafkaUnavailable where it fails.
    """
    home = Path(pyspark.__file__).parent
    command = [
        f"{home}/bin/spark-submit",
        *("--verbose", "--master", "local", "--packages", ",".join(PACKAGES)),
        *("--exclude-packages", ",".join(f"org.apache.kafka:{name}" for name in NOT_NEEDED)),
        *("--class", "org.apache.ivy.Main", "spark-internal", "-version"),
    ]
    try:
        done = subprocess.run(
            command,
            env={**os.environ, "SPARK_HOME": str(home)},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise KafkaUnavailable(f"Kafka's JARs were not resolved: {error}") from error
    jars = class_path(done.stderr)
    if done.returncode or not any(f"kafka-tools-{VERSION}.jar" in jar for jar in jars):
        raise KafkaUnavailable(
            f"{', '.join(PACKAGES)}: Spark's resolver did not find them, in its cache or a "
            f"registry that it reaches; it says:\n{_end(done.stderr)}"
        )
    # Spark's resolver leaves Scala's library out, because Spark has it.
    return os.pathsep.join([*jars, *map(str, home.glob("jars/scala-library-*.jar"))])


def class_path(told: str) -> list[str]:
    """Return the JARs that ``spark-submit --verbose`` lists as class path elements."""
    listed = told.partition("Classpath elements:")[2].split()
    return [line.removeprefix("file://") for line in listed if line.endswith(".jar")]


@dataclass(frozen=True)
class Broker:
    """A broker that runs: where it listens, and how to run Kafka's tools against it."""

    address: str
    jars: str
    directory: Path

    def run(
        self, tool: str, *arguments: str, bootstrap: bool = True, timeout_seconds: float = 120
    ) -> str:
        """Run a tool by its class below ``org.apache.kafka.tools``; return what it prints.

        ``bootstrap``: name the broker by ``--bootstrap-server``. KafkaFailed where the tool fails
        or takes longer than the time.
        """
        where = ("--bootstrap-server", self.address) if bootstrap else ()
        name = tool if tool.startswith("kafka.") else f"org.apache.kafka.tools.{tool}"
        return _java(self.jars, TOOL_JVM, name, [*where, *arguments], timeout_seconds)

    def create_topic(self, topic: str, partitions: int) -> None:
        self.run("TopicCommand", "--create", "--topic", topic, "--partitions", str(partitions))

    def delete_topic(self, topic: str) -> None:
        self.run("TopicCommand", "--delete", "--topic", topic)

    def share_from_earliest(self, group: str) -> None:
        """Have a share group start with the earliest message; Kafka's default is the latest."""
        named = ("--entity-type", "groups", "--entity-name", group)
        start = ("--add-config", "share.auto.offset.reset=earliest")
        self.run("kafka.admin.ConfigCommand", "--alter", *named, *start)

    def settings_file(self, name: str, settings: Mapping[str, str]) -> str:
        """Write settings as a properties file, for a tool; return its path."""
        return _write_properties(self.directory / f"{name}.properties", settings)


@contextmanager
def broker(directory: str | Path, tuning: Mapping[str, str]) -> Iterator[Broker]:
    """Run a broker of one node in a directory; on leaving, stop it and remove its data.

    ``tuning``: what else is set in place of Kafka's defaults.

    KafkaUnavailable where its JARs cannot be had, or it does not listen within a minute.
    """
    jars = fetch_jars()
    place = Path(directory) / f"kafka-{uuid4().hex}"
    place.mkdir(parents=True)
    try:
        port, controller = _free_ports(2)
        address = f"127.0.0.1:{port}"
        settings = {
            **BROKER_SETTINGS,
            **tuning,
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://{address},CONTROLLER://127.0.0.1:{controller}",
            "log.dirs": str(place / "data"),
        }
        server = _write_properties(place / "server.properties", settings)
        storage = "kafka.tools.StorageTool"
        cluster = _java(jars, TOOL_JVM, storage, ["random-uuid"], 120).split()[-1]
        share_groups = ("--feature", "share.version=1")  # a preview in 4.1, off by itself
        form = ["format", "--cluster-id", cluster, "--config", server, *share_groups]
        _java(jars, TOOL_JVM, storage, form, 120)
        log = place / "broker.log"
        with log.open("w") as out:
            command = ["java", *BROKER_JVM, "-cp", jars, "kafka.Kafka", server]
            process = subprocess.Popen(command, stdout=out, stderr=out)
        try:
            _await_listening(process, port, log)
            yield Broker(address, jars, place)
        finally:
            _stop(process)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _java(
    jars: str, options: Sequence[str], name: str, arguments: Sequence[str], timeout_seconds: float
) -> str:
    command = ["java", *options, "-cp", jars, name, *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout_seconds, check=False
        )
    except FileNotFoundError as error:
        raise KafkaUnavailable("there is no java on the PATH; Kafka needs 17 or newer") from error
    except subprocess.TimeoutExpired as error:
        raise KafkaFailed(f"{name} did not end within {timeout_seconds:.0f} s") from error
    if done.returncode:
        raise KafkaFailed(f"{name} ended with {done.returncode}:\n{_end(done.stdout, done.stderr)}")
    return done.stdout


def _write_properties(path: Path, settings: Mapping[str, str]) -> str:
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    return str(path)


def _free_ports(count: int) -> list[int]:
    """Return ports that nothing listens on now, all of them different."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _await_listening(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise KafkaUnavailable(
        f"Kafka's broker does not listen; its log ends:\n{_end(log.read_text())}"
    )


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _end(*told: str) -> str:
    """Return the last lines of what a program printed, without those of a Java stack."""
    lines = [line for line in "\n".join(told).splitlines() if line.strip()]
    return "\n".join([line for line in lines if not line.startswith("\tat ")][-10:])
