"""Google's own command blocks, with ``pubsub-delta`` in place of ``gcloud pubsub``."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from pyspark.sql import SparkSession

from pubsub_delta import DeadLetterPolicy, InvalidArgument, PubSub, RetryPolicy
from pubsub_delta.cli.application import App
from pubsub_delta.cli.main import cli
from pubsub_delta.cli.rest import time_text
from tests.acceptance.processes import environment

pytestmark = pytest.mark.trial

GCLOUD = "gcloud pubsub "

Block = tuple[str, str]
"""The number of a document in ``reference/``, and a command as it stands there."""

CREATE_TOPIC: Block = (
    "001",
    "gcloud pubsub topics create TOPIC_ID --message-retention-duration=7d",
)
UPDATE_TOPIC: Block = (
    "001",
    "gcloud pubsub topics update TOPIC_ID --message-retention-duration=1d",
)
CLEAR_TOPIC: Block = (
    "003",
    "gcloud pubsub topics update TOPIC_ID --clear-message-retention-duration",
)
RETAIN: Block = (
    "001",
    "gcloud pubsub subscriptions create SUBSCRIPTION_ID --retain-acked-messages=true "
    "--message-retention-duration=5d",
)
RETAIN_IN_LINES: Block = (
    "003",
    """gcloud pubsub subscriptions create SUBSCRIPTION_ID
    --retain-acked-messages
    --message-retention-duration=5d""",
)
SHORTER: Block = (
    "001",
    "gcloud pubsub subscriptions update SUBSCRIPTION_ID --message-retention-duration=1d",
)
FORGET: Block = (
    "001",
    "gcloud pubsub subscriptions update SUBSCRIPTION_ID --retain-acked-messages=false",
)
FORGET_BY_NO: Block = (
    "003",
    "gcloud pubsub subscriptions update SUBSCRIPTION_ID --no-retain-acked-messages",
)
RETRY: Block = (
    "002",
    r"gcloud pubsub subscriptions create SUBSCRIPTION_ID \ --topic=TOPIC_ID \ "
    r"--min-retry-delay=MIN_RETRY_DELAY \ --max-retry-delay=MAX_RETRY_DELAY",
)
DEAD_LETTER: Block = (
    "002",
    r"gcloud pubsub subscriptions create subscription-id \ --topic=topic-id \ "
    r"--dead-letter-topic=dead-letter-topic-name \ "
    r"[--max-delivery-attempts=max-delivery-attempts] \ "
    r"[--dead-letter-topic-project=dead-letter-topic-project]",
)
DEAD_LETTER_LATER: Block = (
    "002",
    r"gcloud pubsub subscriptions update subscription-id \ "
    r"--dead-letter-topic=dead-letter-topic-name \ "
    r"[--max-delivery-attempts=max-delivery-attempts] \ "
    r"[--dead-letter-topic-project=dead-letter-topic-project]",
)
NO_DEAD_LETTER: Block = (
    "002",
    r"gcloud pubsub subscriptions update subscription-id \ --clear-dead-letter-policy",
)
GRANT_PUBLISHER: Block = (
    "002",
    r"gcloud pubsub topics add-iam-policy-binding dead-letter-topic-name \ "
    r'--member="serviceAccount:$PUBSUB_SERVICE_ACCOUNT"\ --role="roles/pubsub.publisher"',
)
GRANT_SUBSCRIBER: Block = (
    "002",
    r"gcloud pubsub subscriptions add-iam-policy-binding subscription-id \ "
    r'--member="serviceAccount:$PUBSUB_SERVICE_ACCOUNT"\ --role="roles/pubsub.subscriber"',
)
SNAPSHOT: Block = (
    "003",
    """gcloud pubsub snapshots create \\
    --project=PROJECT_ID \\
    --subscription=SUBSCRIPTION_ID \\
    SNAPSHOT_ID""",
)
SEEK_TO_TIME: Block = (
    "003",
    """gcloud pubsub subscriptions seek SUBSCRIPTION_ID \\
    --time=TIME \\
""",
)
SEEK_TO_SNAPSHOT: Block = (
    "003",
    """gcloud pubsub subscriptions seek SUBSCRIPTION_ID \\
    --snapshot=SNAPSHOT_ID""",
)

Run = Callable[..., Result]


@pytest.fixture
def store(spark: SparkSession, tmp_path: Path) -> PubSub:
    return PubSub(spark, str(tmp_path / "store"), project="PROJECT_ID")


@pytest.fixture
def run(store: PubSub, tmp_path: Path) -> Run:
    """Run a command line in the suite's own session."""

    def invoke(*args: str) -> Result:
        variables = {
            "PUBSUB_DELTA_ROOT": str(tmp_path / "store"),
            "PUBSUB_DELTA_PROJECT": "PROJECT_ID",
        }
        return CliRunner().invoke(cli, args, obj=App(environment=variables))

    return invoke


def arguments(block: Block, values: Mapping[str, str] | None = None) -> list[str]:
    """Read a block as a shell would, whether the page kept its line breaks or not.

    Brackets mark what may be left out; it is kept. Values stand for the page's placeholders.
    """
    text = re.sub(r"\\(\s|$)", " ", block[1]).replace("[--", "--").replace("]", "")
    for placeholder, value in (values or {}).items():
        text = text.replace(placeholder, value)
    assert text.startswith(GCLOUD)
    return shlex.split(text.removeprefix(GCLOUD))


def succeed(run: Run, block: Block, values: Mapping[str, str] | None = None) -> Result:
    result = run(*arguments(block, values))
    assert result.exit_code == 0, (block, result.output, result.exception)
    return result


def test_message_retention_of_a_topic(store: PubSub, run: Run) -> None:
    made = succeed(run, CREATE_TOPIC)
    assert made.stderr == "Created topic [projects/PROJECT_ID/topics/TOPIC_ID].\n"
    assert store.get_topic("TOPIC_ID").message_retention_duration == timedelta(days=7)
    succeed(run, UPDATE_TOPIC)
    assert store.get_topic("TOPIC_ID").message_retention_duration == timedelta(days=1)
    succeed(run, CLEAR_TOPIC)
    assert store.get_topic("TOPIC_ID").message_retention_duration is None


@pytest.mark.parametrize(
    ("create", "forget"), [(RETAIN, FORGET), (RETAIN_IN_LINES, FORGET_BY_NO)], ids=["001", "003"]
)
def test_retention_of_acknowledged_messages(
    create: Block, forget: Block, store: PubSub, run: Run
) -> None:
    store.create_topic("TOPIC_ID")
    succeed(run, create)
    made = store.get_subscription("SUBSCRIPTION_ID")
    assert (made.retain_acked_messages, made.message_retention_duration) == (
        True,
        timedelta(days=5),
    )
    succeed(run, SHORTER)
    assert store.get_subscription("SUBSCRIPTION_ID").message_retention_duration == timedelta(days=1)
    succeed(run, forget)
    assert store.get_subscription("SUBSCRIPTION_ID").retain_acked_messages is False


def test_a_retry_policy(store: PubSub, run: Run) -> None:
    store.create_topic("TOPIC_ID")
    succeed(run, RETRY, {"MIN_RETRY_DELAY": "10s", "MAX_RETRY_DELAY": "600s"})
    assert store.get_subscription("SUBSCRIPTION_ID").retry_policy == RetryPolicy("10s", "600s")


def test_a_dead_letter_topic(store: PubSub, run: Run) -> None:
    values = {
        "=max-delivery-attempts": "=10",
        "=dead-letter-topic-project": "=elsewhere",
    }
    dead = "projects/elsewhere/topics/dead-letter-topic-name"
    for topic in ("topic-id", dead, "dead-letter-topic-name"):
        store.create_topic(topic)
    succeed(run, DEAD_LETTER, values)
    policy = store.get_subscription("subscription-id").dead_letter_policy
    assert policy == DeadLetterPolicy(dead, 10)
    succeed(run, NO_DEAD_LETTER)
    assert store.get_subscription("subscription-id").dead_letter_policy is None
    succeed(run, DEAD_LETTER_LATER, values)
    policy = store.get_subscription("subscription-id").dead_letter_policy
    assert policy == DeadLetterPolicy(dead, 10)
    for grant in (GRANT_PUBLISHER, GRANT_SUBSCRIBER):
        assert "Nothing needs to be done" in succeed(run, grant).stderr


def test_seek_to_a_snapshot_and_to_a_time(store: PubSub, run: Run) -> None:
    store.create_topic("TOPIC_ID")
    store.create_subscription("SUBSCRIPTION_ID", "TOPIC_ID", retain_acked_messages=True)
    store.publish("TOPIC_ID", ["late"])
    made = succeed(run, SNAPSHOT)
    assert made.stderr == "Created snapshot [projects/PROJECT_ID/snapshots/SNAPSHOT_ID].\n"

    def left() -> int:
        return int(store.metrics("SUBSCRIPTION_ID")["num_undelivered_messages"])

    store.pull("SUBSCRIPTION_ID").ack()
    assert left() == 0
    sought = succeed(run, SEEK_TO_SNAPSHOT)
    assert "snapshotId: projects/PROJECT_ID/snapshots/SNAPSHOT_ID\n" in sought.stdout
    assert left() == 1
    succeed(run, SEEK_TO_TIME, {"=TIME": "=+p1d"})  # purges
    assert left() == 0
    succeed(run, SEEK_TO_TIME, {"=TIME": "=-p1d"})  # replays
    assert left() == 1


def test_a_message_from_publish_to_ack(store: PubSub, run: Run) -> None:
    assert run("topics", "create", "flights").exit_code == 0
    assert run("subscriptions", "create", "delays", "--topic=flights").exit_code == 0
    published = run("topics", "publish", "flights", "--message=late", "--attribute=carrier=UA")
    assert re.fullmatch(r"messageIds:\n- '\d+'\n", published.stdout)

    waiting = json.loads(run("subscriptions", "backlog", "delays", "--format=json").stdout)
    assert [(each["state"], each["message"]["attributes"]) for each in waiting] == [
        ("available", {"carrier": "UA"})
    ]
    table = run("subscriptions", "pull", "delays")
    assert "│ late │" in table.stdout
    assert "carrier=UA" in table.stdout
    ack_id = table.stdout.splitlines()[3].split("│")[-2].strip()
    assert run("subscriptions", "pull", "delays").stderr.endswith("Listed 0 items.\n")
    nacked = ("--ack-ids", ack_id, "--ack-deadline=0")
    assert run("subscriptions", "modify-message-ack-deadline", "delays", *nacked).exit_code == 0
    pulled = run("subscriptions", "pull", "delays", "--format=value(ackId)").stdout.strip()
    acked = run("subscriptions", "ack", "delays", f"--ack-ids={pulled}")
    assert acked.stderr == f"Acked the messages with the following ackIds: [{pulled}]\n"
    metrics = json.loads(run("subscriptions", "metrics", "delays", "--format=json").stdout)
    assert metrics["num_undelivered_messages"] == 0
    assert metrics["ack_message_count"]["success"] == 1
    topic = json.loads(run("topics", "metrics", "flights", "--format=json").stdout)
    assert topic["message_count"] == 1
    run("topics", "publish", "flights", "--message=again")
    taken = run("subscriptions", "pull", "delays", "--auto-ack", "--format=value(ackStatus)")
    assert taken.stdout == "SUCCESS\n"
    assert store.metrics("delays")["num_undelivered_messages"] == 0


def test_the_history_of_a_topic(store: PubSub, run: Run) -> None:
    store.create_topic("flights")
    published = store.publish("flights", ["a", "b"])
    store.publish("flights", ["c"], idempotency_id=("flights-2013", 7))
    store.publish("flights", ["c"], idempotency_id=("flights-2013", 7))  # is no commit
    store.maintain(retention=False, optimize=True)
    found = json.loads(run("topics", "history", "flights", "--format=json").stdout)
    told = [(each["version"], each["operation"], each.get("messageCount")) for each in found]
    assert told == [
        (3, "optimize", None),
        (2, "publish", 1),
        (1, "publish", 2),
        (0, "create table", None),
    ]
    assert found[1]["publishId"] == "flights-2013:7"
    assert found[1]["idempotencyId"] == {"applicationId": "flights-2013", "version": 7}
    assert found[2]["time"] == time_text(published.publish_time)
    newest = run("topics", "history", "flights", "--limit=1", "--format=value(version)")
    assert newest.stdout == "3\n"
    assert [each.version for each in store.topic_history("flights")] == [3, 2, 1, 0]
    for wrong in (0, True, "7"):
        with pytest.raises(InvalidArgument, match="limit"):
            store.topic_history("flights", wrong)  # type: ignore[arg-type]
    assert "NOT_FOUND" in run("topics", "history", "absent").stderr


def test_what_is_listed_described_and_deleted(store: PubSub, run: Run) -> None:
    assert run("topics", "create", "one", "two", "--labels=env=test").exit_code == 0
    assert run("subscriptions", "create", "sub", "--topic=one").exit_code == 0
    assert run("snapshots", "create", "snap", "--subscription=sub").exit_code == 0
    names = run("topics", "list", "--format=value(name.basename())")
    assert names.stdout == "one\ntwo\n"
    described = run("topics", "describe", "one")
    assert "labels:\n  env: test\nname: projects/PROJECT_ID/topics/one\n" in described.stdout
    for kind, name in ("subscriptions", "sub"), ("snapshots", "snap"):
        list_all = run("topics", f"list-{kind}", "one")
        assert list_all.stdout == f"---\n  projects/PROJECT_ID/{kind}/{name}\n"
    assert run("snapshots", "update", "snap", "--update-labels=a=b").exit_code == 0
    shown = run("snapshots", "describe", "snap", "--format=value(labels.a, topic)")
    assert shown.stdout == "b\tprojects/PROJECT_ID/topics/one\n"
    assert "num_messages: 0" in run("snapshots", "metrics", "snap").stdout
    assert run("topics", "detach-subscription", "sub").exit_code == 0
    refused = run("subscriptions", "pull", "sub")
    assert refused.exit_code == 1
    assert "ERROR: (pubsub-delta.subscriptions.pull) FAILED_PRECONDITION: " in refused.stderr
    assert "nothing to do" in run("maintain").stdout
    for kind, ids in (
        ("snapshots", ["snap"]),
        ("subscriptions", ["sub"]),
        ("topics", ["one", "two"]),
    ):
        assert run(kind, "delete", *ids, "--quiet").exit_code == 0
        assert run(kind, "list").stderr == "Listed 0 items.\n"
    absent = run("topics", "describe", "one")
    assert absent.exit_code == 1
    assert absent.stderr.startswith("ERROR: (pubsub-delta.topics.describe) NOT_FOUND: ")


def test_a_process_prints_nothing_but_its_result(tmp_path: Path) -> None:
    def run(*args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pubsub_delta", *args],
            capture_output=True,
            text=True,
            env={**environment(), "HOME": str(tmp_path), "PUBSUB_DELTA_ROOT": str(tmp_path / "s")},
            cwd=tmp_path,
            check=False,
            timeout=240,
        )

    made = run("topics", "create", "flights")
    assert (made.returncode, made.stdout, made.stderr) == (
        0,
        "",
        "Created topic [projects/local/topics/flights].\n",
    )
    again = run("topics", "create", "flights")
    assert (again.returncode, again.stdout) == (1, "")
    assert again.stderr.startswith("ERROR: (pubsub-delta.topics.create) ALREADY_EXISTS: ")
    assert again.stderr.count("\n") == 1
