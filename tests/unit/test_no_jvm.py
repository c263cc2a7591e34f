"""A store without Spark: no pyspark is imported, and there is no java to start.

Each program runs in a process of its own, in which the import of pyspark is an error.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

REFUSING = """
import sys

class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pyspark", "py4j", "delta"}:
            raise AssertionError(f"{name} is imported")

sys.meta_path.insert(0, Refusing())
"""

WORKING = """
import json
from pubsub_delta import FailedPrecondition, ManualClock, Message, PubSub

clock = ManualClock()
store = PubSub(None, "./store", clock=clock)
told = {"lane": store.lane}
store.create_topic("flights")
store.create_subscription("delays", "flights", ack_deadline_seconds=60)
late = [Message(str(n).encode(), {"n": str(n)}, f"key{n % 3}") for n in range(100)]
told["published"] = len(store.publish("flights", late).message_ids)
clock.advance(1)

batch = store.pull("delays", 40)
told["count"] = batch.message_count
told["read"] = [int(each.data) for each in batch]
rows = batch.arrow()
told["columns"] = rows.column_names
told["rows"] = [int(each) for each in rows["data"].to_pylist()]
told["attributes"] = dict(rows["attributes"].to_pylist()[7])
told["in turn"] = rows["ack_id"].to_pylist() == [each.ack_id for each in batch]
told["acked"] = len(batch.ack(rows.slice(0, 10)).success)
told["nacked"] = len(batch.nack(rows["ack_id"].slice(10, 5)).success)
told["acked one by one"] = len(batch.ack(rows["ack_id"].slice(15, 5).to_pylist()).success)
told["moved"] = len(batch.modify_ack_deadline(120, rows.slice(20)).success)
try:
    batch.df
except FailedPrecondition as error:
    told["df"] = str(error)
clock.advance(200)
told["again"] = store.pull("delays").message_count
rest = store.pull("delays")
told["nothing"] = [rest.message_count, rest.arrow().num_rows, len(rest.ack().success)]

store.create_snapshot("before", "delays")
clock.advance(1)
store.seek("delays", time="2025-12-31T00:00:00Z")
told["acked after a seek"] = len(store.pull("delays").ack().success)
store.seek("delays", snapshot="before")
told["undelivered"] = store.metrics("delays")["num_undelivered_messages"]
told["peeked"] = [each.data.decode() for each in store.peek("delays", 2)]
told["problems"] = list(store.maintain().problems)
store.delete_snapshot("before")
store.delete_subscription("delays")
store.delete_topic("flights")
told["left"] = len(list(store.list_topics()))
print(json.dumps(told))
"""

COMMAND = REFUSING + "from pubsub_delta.cli.main import main; main()"


@pytest.fixture
def alone(tmp_path: Path) -> dict[str, str]:
    """Return an environment without java, and with an empty home."""
    (tmp_path / "bin").mkdir()
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PUBSUB_")}
    kept.pop("JAVA_HOME", None)
    return {
        **kept,
        "PATH": str(tmp_path / "bin"),
        "HOME": str(tmp_path),
        "PYTHONPATH": str(REPOSITORY),
        "PYTHONUNBUFFERED": "1",
    }


def python(script: str, *args: str, cwd: Path, env: dict[str, str]) -> str:
    """Run a program, and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", script, *args],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=env,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_messages_are_published_pulled_answered_and_replayed(
    tmp_path: Path, alone: dict[str, str]
) -> None:
    told = json.loads(python(REFUSING + WORKING, cwd=tmp_path, env=alone))
    assert told["lane"].startswith("direct lane: ")
    assert (told["published"], told["count"]) == (100, 40)
    assert told["read"] == told["rows"] == list(range(40))
    assert told["columns"] == [
        *("ack_id", "message_id", "publish_time", "data", "attributes", "ordering_key"),
        "delivery_attempt",
    ]
    assert told["attributes"] == {"n": "7"}
    assert told["in turn"]
    answered = told["acked"], told["nacked"], told["acked one by one"], told["moved"]
    assert answered == (10, 5, 5, 20)
    assert told["df"].startswith("df: ")
    assert "arrow()" in told["df"]
    assert (told["again"], told["nothing"]) == (85, [0, 0, 0])
    assert told["acked after a seek"] == 85
    assert told["undelivered"] == 85
    assert told["peeked"] == ["10", "11"]
    assert (told["problems"], told["left"]) == ([], 0)


def test_importing_the_library_and_opening_a_store_import_nothing_that_takes_long(
    tmp_path: Path, alone: dict[str, str]
) -> None:
    script = """
import json, sys
from pubsub_delta import PubSub
PubSub(None, "./store").list_topics()
heavy = {"pandas", "grpc", "fastapi", "rich", "click", "prometheus_client", "pyspark"}
print(json.dumps(sorted(heavy & {name.partition(".")[0] for name in sys.modules})))
"""
    assert json.loads(python(script, cwd=tmp_path, env=alone)) == []


def test_what_needs_spark_says_so_and_how_to_give_one(
    tmp_path: Path, alone: dict[str, str]
) -> None:
    script = """
import json
from pubsub_delta import FailedPrecondition, PubSub
store = PubSub(None, "./store")
store.create_topic("flights")
store.create_subscription("delays", "flights")
told = []
for ask in (
    lambda: store.spark,
    lambda: store.read_topic("flights"),
    lambda: store.backlog("delays"),
    lambda: store.metrics_table(),
    lambda: store.read_topic_stream("flights"),
    lambda: store.subscribe_stream("delays", print, checkpoint_location="./there"),
    lambda: PubSub(None, "main.pubsub").list_topics(),
):
    try:
        ask()
    except FailedPrecondition as error:
        told.append(str(error))
print(json.dumps(told))
"""
    told = json.loads(python(script, cwd=tmp_path, env=alone))
    assert len(told) == 7
    for each in told:
        assert "Spark" in each
        assert "local_session()" in each


def test_commands_need_no_spark(tmp_path: Path, alone: dict[str, str]) -> None:
    def run(*words: str) -> str:
        return python(COMMAND, *words, "--root=./store", cwd=tmp_path, env=alone)

    run("topics", "create", "flights")
    run("subscriptions", "create", "delays", "--topic=flights")
    run("topics", "publish", "flights", "--message=late", "--attribute=carrier=UA")
    run("topics", "publish", "flights", "--message=later")
    assert run("topics", "list", "--format=value(name)") == "projects/local/topics/flights\n"
    data = "--format=value(message.data.decode(base64))"
    assert run("subscriptions", "backlog", "delays", data) == "late\nlater\n"
    assert run("subscriptions", "pull", "delays", "--auto-ack", data) == "late\n"
    run("snapshots", "create", "before", "--subscription=delays")
    assert "num_undelivered_messages: 1" in run("subscriptions", "metrics", "delays")
    run("subscriptions", "seek", "delays", "--snapshot=before")
    assert len(run("topics", "history", "flights", "--format=value(version)").splitlines()) >= 2
    assert run("maintain") == "nothing to do\n"


def test_a_shell_completes_the_names_of_a_store(tmp_path: Path, alone: dict[str, str]) -> None:
    python(COMMAND, "topics", "create", "flights", "--root=./store", cwd=tmp_path, env=alone)
    words = {"COMP_WORDS": "pubsub-delta topics describe fl", "COMP_CWORD": "3"}
    asked = {**alone, **words, "_PUBSUB_DELTA_COMPLETE": "bash_complete"}
    asked["PUBSUB_DELTA_ROOT"] = "./store"
    assert python(COMMAND, cwd=tmp_path, env=asked) == "plain,flights\n"


def test_a_command_that_needs_spark_says_what_it_lacks(
    tmp_path: Path, alone: dict[str, str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pubsub_delta", "topics", "list", "--root=main.pubsub"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=alone,
        check=False,
    )
    started, refused = done.stderr.splitlines()
    assert done.returncode == 1
    assert started == "Starting Spark, which this command needs."
    why = "root: 'main.pubsub' is a schema of a catalog, which needs Spark: Spark did not start"
    assert f"FAILED_PRECONDITION: {why}" in refused
    assert "its last log line: " in refused
    assert "Java 17 or 21 is needed" in refused


@pytest.mark.parametrize(
    "program",
    [
        "from pubsub_delta.jobs import entry_points\n"
        "sys.argv[1:] = '--root=./store --topic=flights --input=flights.csv'.split()\n"
        "entry_points.publish()",
        "import pubsub_delta\n"
        "try:\n    pubsub_delta.local_session()\n"
        "except pubsub_delta.FailedPrecondition as error:\n"
        "    print(f'FAILED_PRECONDITION: {error}', file=sys.stderr)\n    sys.exit(3)",
    ],
    ids=["a job", "local_session"],
)
def test_who_has_pyspark_and_no_java_sees_one_line_and_no_traceback(
    tmp_path: Path, alone: dict[str, str], program: str
) -> None:
    """ "3: refused: a rule is broken, or something does not exist": trying again does not help."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{program}"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=alone,
        check=False,
    )
    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    told = done.stderr.splitlines()[-1]
    assert "FAILED_PRECONDITION: Spark did not start: its Java process ended" in told
    assert "Java 17 or 21 is needed" in told


@contextmanager
def running(*words: str, cwd: Path, env: dict[str, str]) -> Iterator[str]:
    """Run a command until it is told to end, and give what it says first."""
    command = [sys.executable, "-c", COMMAND, *words, "--root=./store"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=cwd, env=env) as process:
        try:
            assert process.stderr is not None
            yield process.stderr.readline()
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) in (0, -signal.SIGTERM)  # uvicorn passes it on at the end


def test_the_console_shows_a_store(tmp_path: Path, alone: dict[str, str]) -> None:
    pytest.importorskip("fastapi")
    for words in (["topics", "create", "flights"], ["topics", "publish", "flights", "--message=x"]):
        python(COMMAND, *words, "--root=./store", cwd=tmp_path, env=alone)
    with running("console", "--port=0", cwd=tmp_path, env=alone) as told:
        assert told.startswith("The console is at http://"), told
        address = told.split()[4]
        with urllib.request.urlopen(f"{address}topics/flights", timeout=60) as page:
            assert "flights" in page.read().decode()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_server_answers_the_official_client(tmp_path: Path, alone: dict[str, str]) -> None:
    grpc = pytest.importorskip("grpc")
    v1 = pytest.importorskip("google.pubsub_v1")
    services = pytest.importorskip("google.pubsub_v1.services")
    topic, name = "projects/local/topics/flights", "projects/local/subscriptions/delays"
    command = ("serve", "--host-port=127.0.0.1:0")
    with ExitStack() as ending:
        told = ending.enter_context(running(*command, cwd=tmp_path, env=alone))
        assert told.startswith("Listening on 127.0.0.1:"), told
        address = told.split()[2].rstrip(".")
        channel = ending.enter_context(closing(grpc.insecure_channel(address)))

        def client(kind: str, service: Any) -> Any:
            transport = getattr(service.transports, f"{kind}GrpcTransport")(channel=channel)
            return getattr(v1, f"{kind}Client")(transport=transport)

        publisher = client("Publisher", services.publisher)
        subscriber = client("Subscriber", services.subscriber)
        publisher.create_topic(request={"name": topic}, timeout=60)
        subscriber.create_subscription(request={"name": name, "topic": topic}, timeout=60)
        sent = [{"data": str(n).encode()} for n in range(10)]
        publisher.publish(request={"topic": topic, "messages": sent}, timeout=60)
        found = subscriber.pull(request={"subscription": name, "max_messages": 10}, timeout=60)
        assert [each.message.data for each in found.received_messages] == [m["data"] for m in sent]
        ids = [each.ack_id for each in found.received_messages]
        subscriber.acknowledge(request={"subscription": name, "ack_ids": ids}, timeout=60)
        subscriber.seek(request={"subscription": name, "time": "2025-01-01T00:00:00Z"}, timeout=60)
