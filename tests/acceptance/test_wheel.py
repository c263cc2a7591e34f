"""The wheel, installed where there is no checkout: library, command line and jobs."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from tests.installed import Installed, install

pytestmark = [pytest.mark.trial, pytest.mark.timeout(1200)]

EXAMPLE = """
import sys, pubsub_delta
from pubsub_delta import Message, PubSub, local_session
assert pubsub_delta.__file__.startswith(sys.prefix), pubsub_delta.__file__
store = PubSub(local_session(master="local[1]", driver_memory="1g"), sys.argv[1])
store.create_topic("orders")
store.create_subscription("billing", "orders", ack_deadline_seconds=600)
store.publish("orders", [Message(b"tea", {"table": "7"})])
batch = store.pull("billing", max_messages=10)
print([(message.data, message.attributes) for message in batch], batch.ack().counts["success"])
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return install(tmp_path_factory.mktemp("wheel"))


def test_the_wheel_holds_the_library_and_the_jobs_and_nothing_else(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as wheel:
        names = {Path(name) for name in wheel.namelist()}
    assert {name.parts[0] for name in names if ".dist-info" not in name.parts[0]} == {
        "pubsub_delta",
        "pyspark_pubsub_delta",
    }
    jobs = {name.name for name in names if name.parent == Path("pubsub_delta/jobs")}
    assert {"publish.py", "consume.py", "maintain.py", "spark-defaults.conf"} <= jobs
    assert "demo.py" not in jobs


def test_publish_pull_and_ack(installed: Installed, tmp_path: Path) -> None:
    told = installed.run("python", "-c", EXAMPLE, str(tmp_path / "store")).stdout
    assert told.splitlines()[-1] == "[(b'tea', {'table': '7'})] 1"


def test_every_job_tells_its_options_without_spark(installed: Installed) -> None:
    jobs = [
        path for path in installed.jobs.glob("[a-z]*.py") if "@click.command" in path.read_text()
    ]
    assert len(jobs) >= 5
    for job in jobs:
        told = installed.run("python", str(job), "--help", JAVA_HOME="/nonexistent").stdout
        assert "--root TEXT" in told, job
        assert "PUBSUB_DELTA_ROOT" in told, job


def test_command_line_and_jobs_work_on_one_store(installed: Installed, tmp_path: Path) -> None:
    root, output = str(tmp_path / "store"), str(tmp_path / "out")
    rows = tmp_path / "rows.json"
    rows.write_text("\n".join(json.dumps({"carrier": "UA", "delay": n}) for n in range(20)))

    def submit(job: str, *args: str) -> tuple[int, str]:
        """Run a job of the wheel by spark-submit, with the wheel's own configuration."""
        where = installed.jobs
        done = installed.run(
            *("spark-submit", "--master", "local[1]", "--driver-memory", "1g"),
            *("--properties-file", str(where / "spark-defaults.conf"), str(where / job), *args),
            check=False,
            PUBSUB_DELTA_ROOT=root,
        )
        return done.returncode, done.stdout + done.stderr

    publish = ("publish.py", "--topic", "flights", "--input", str(rows), "--attribute", "carrier")
    code, told = submit(*publish)
    assert code == 3, told
    assert "ERROR: (publish.py) NOT_FOUND: topic projects/local/topics/flights" in told

    installed.run("pubsub-delta", "topics", "create", "flights", "--root", root)
    created = ("subscriptions", "create", "delays", "--topic=flights", "--root", root)
    installed.run("pubsub-delta", *created)
    code, told = submit(*publish)
    assert code == 0, told
    assert "publish: 20 messages in 1 batch" in told
    code, told = submit("consume.py", "--subscription", "delays", "--output", output)
    assert code == 0, told
    assert "consume: 20 messages in 1 batch" in told
    assert "20 acked" in told
    code, told = submit("maintain.py", "--duties", "retention")
    assert (code, "20 messages deleted" in told) == (0, False), told  # all of them of today
    figures = ("metrics", "delays", "--format=value(num_undelivered_messages)", "--root", root)
    assert installed.run("pubsub-delta", "subscriptions", *figures).stdout == "0\n"


CORE = """
import importlib.util, json
from importlib.metadata import distributions
from pubsub_delta import FailedPrecondition, Message, PubSub, local_session

told = {"spark": [n for n in ("pyspark", "delta", "py4j") if importlib.util.find_spec(n)]}
told["installed"] = sorted(each.metadata["Name"].lower() for each in distributions())
store = PubSub(local_session, "./store")
told["lane"] = store.lane
store.create_topic("orders", message_retention_duration="1d")
store.create_subscription("billing", "orders", filter="attributes:table")
store.publish("orders", [Message(b"tea", {"table": "7"}), b"coffee"])
told["acked"] = len(store.pull("billing").ack().success)
store.seek("billing", time=store.get_topic("orders").create_time)
store.create_snapshot("now", "billing")
told["backlog"] = [(each.data.decode(), each.state) for each in store.peek("billing")]
told["count"] = store.metrics("billing")["num_undelivered_messages"]
told["problems"] = store.maintain(vacuum=True, optimize=True).problems
try:
    store.read_topic("orders")
except FailedPrecondition as error:
    told["refused"] = str(error)
print(json.dumps(told, default=str))
"""


def test_the_core_alone_does_all_that_is_small(tmp_path: Path) -> None:
    # "`pip install` of the wheel without extras in an empty environment"; "pulls in no other Spark"
    core = install(tmp_path, extras="")
    told = json.loads(core.run("python", "-c", CORE, JAVA_HOME="/nonexistent").stdout)
    assert told["spark"] == []
    assert not {"pyspark", "py4j", "delta-spark", "delta_spark", "click"} & {*told["installed"]}
    assert told["lane"].startswith("direct lane")
    assert (told["acked"], told["count"], told["problems"]) == (1, 1, {})
    assert told["backlog"] == [["tea", "available"]]
    assert told["refused"].startswith(
        "pyspark is not installed, and a local Spark session with Delta"
    )
    assert "pip install 'pubsub-delta[spark]'" in told["refused"]
    for command, extra in (("pubsub-delta", "cli"), ("pubsub-delta-maintain", "cli")):
        done = core.run(command, "--help", check=False)
        assert done.returncode != 0
        assert done.stderr.startswith(f"ERROR: ({command}) ")
        assert done.stderr.endswith(f"pip install 'pubsub-delta[{extra}]' installs it\n")
    jobs = core.run("python", "-m", "pubsub_delta.jobs").stdout.strip()
    assert (Path(jobs) / "spark-defaults.conf").is_file()
