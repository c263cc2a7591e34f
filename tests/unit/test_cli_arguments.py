"""What commands make of their arguments, against a store that only notes what it is asked."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import click.testing
import pytest
from click.testing import CliRunner, Result

from pubsub_delta.cli.application import App
from pubsub_delta.cli.main import cli
from pubsub_delta.cli.settings import Settings, read_settings
from pubsub_delta.clock import ManualClock
from pubsub_delta.errors import InvalidArgument, NotFound
from pubsub_delta.ids import Ids
from pubsub_delta.operations.maintain import MaintenanceReport
from pubsub_delta.resources import (
    AckResult,
    DeadLetterPolicy,
    ExpirationPolicy,
    Message,
    Page,
    RetryPolicy,
    Snapshot,
    Topic,
)
from pubsub_delta.schemas import Schema, SchemaType
from tests.unit.test_cli_formats import subscription

NOW = datetime(2026, 11, 21, 15, 30, tzinfo=timezone.utc)
TOPIC = Topic("projects/p/topics/t", None, None, {"a": "1", "b": "2"}, NOW, "u")
SNAPSHOT = Snapshot("projects/p/snapshots/n", TOPIC.name, NOW, {}, NOW, "u")
SUBSCRIPTION = subscription(dead_letter_policy=DeadLetterPolicy("projects/p/topics/dead", 9))
TOPICS, SUBSCRIPTIONS = "projects/p/topics/", "projects/p/subscriptions/"


SCHEMA = Schema("projects/p/schemas/states", SchemaType.AVRO, "{}", "0a0b0c0d", NOW, f"{4:032x}")


class Noting:
    """A store that notes its calls and gives answers that were prepared; an error is raised."""

    lane = "direct lane: nothing is stored"

    def __init__(self, **answers: Any) -> None:
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.answers: dict[str, Any] = {
            "get_topic": TOPIC,
            "create_topic": TOPIC,
            "update_topic": TOPIC,
            "get_subscription": SUBSCRIPTION,
            "create_subscription": SUBSCRIPTION,
            "update_subscription": SUBSCRIPTION,
            "get_snapshot": SNAPSHOT,
            "create_snapshot": SNAPSHOT,
            "update_snapshot": SNAPSHOT,
            "get_schema": SCHEMA,
            "create_schema": SCHEMA,
            "commit_schema": SCHEMA,
            "rollback_schema": SCHEMA,
            **answers,
        }

    def __getattr__(self, name: str) -> Any:
        def noted(*args: Any, **named: Any) -> Any:
            self.calls.append((name, args, named))
            answer = self.answers.get(name)
            if isinstance(answer, Exception):
                raise answer
            return answer

        return noted


def run(store: Any, *args: str, answer: str = "", **environment: str) -> Result:
    """Run a command line of a process without a home, in project p."""
    variables = {"PUBSUB_DELTA_ROOT": "/r", "PUBSUB_DELTA_PROJECT": "p", **environment}
    app = App(lambda _: store, ManualClock(NOW), variables)
    return CliRunner().invoke(cli, args, obj=app, input=answer)


def last_call(*args: str) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """Return the last thing that a command asks the store."""
    store = Noting()
    result = run(store, *args)
    assert result.exit_code == 0, result.output
    return store.calls[-1]


def test_create_names_each_topic_in_full() -> None:
    store = Noting()
    result = run(store, "topics", "create", "t", "projects/q/topics/ttt", "--labels=a=1,b=x=y")
    assert result.exit_code == 1  # "t" is too short for an id
    assert "INVALID_ARGUMENT: topic: 't' is not a topic id" in result.stderr
    assert [(name, args) for name, args, _ in store.calls] == [
        ("create_topic", ("projects/q/topics/ttt",))
    ]
    assert store.calls[0][2]["labels"] == {"a": "1", "b": "x=y"}
    assert "Created topic [projects/p/topics/t].\n" in result.stderr
    assert result.stdout == ""


def test_what_was_created_is_printed_where_a_format_is_given() -> None:
    result = run(Noting(), "topics", "create", "ttt", "--format=value(name)")
    assert result.stdout == "projects/p/topics/t\n"


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        (["--message-retention-duration=1d"], {"message_retention_duration": timedelta(days=1)}),
        (["--clear-message-retention-duration"], {"message_retention_duration": None}),
        (["--update-labels", "b=3,c=4"], {"labels": {"a": "1", "b": "3", "c": "4"}}),
        (["--remove-labels", "a", "--remove-labels=b"], {"labels": {}}),
        (["--clear-labels", "--update-labels=z=1"], {"labels": {"z": "1"}}),
        # gcloud: "If --update-labels is also specified then --update-labels is applied first"
        (["--update-labels=a=9,c=4", "--remove-labels=a,b"], {"labels": {"c": "4"}}),
    ],
)
def test_update_names_only_what_changes(options: list[str], fields: dict[str, Any]) -> None:
    verb, names, given = last_call("topics", "update", "ttt", *options)
    keeps_a_part = "labels" in fields and "--clear-labels" not in options
    assert (given.pop("if_unchanged", None) is not None) == keeps_a_part
    assert (verb, names, given) == ("update_topic", (TOPICS + "ttt",), fields)


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        (["--retain-acked-messages"], {"retain_acked_messages": True}),
        (["--retain-acked-messages=true"], {"retain_acked_messages": True}),
        (["--retain-acked-messages=false"], {"retain_acked_messages": False}),
        (["--no-retain-acked-messages"], {"retain_acked_messages": False}),
        (["--enable-exactly-once-delivery"], {"enable_exactly_once_delivery": True}),
        (["--ack-deadline", "60"], {"ack_deadline_seconds": 60}),
        (["--expiration-period=never"], {"expiration_policy": ExpirationPolicy(ttl=None)}),
        (["--expiration-period=31d"], {"expiration_policy": ExpirationPolicy(ttl="31d")}),
        (["--message-retention-duration=default"], {"message_retention_duration": "7d"}),
        (["--clear-retry-policy"], {"retry_policy": None}),
        (["--clear-dead-letter-policy"], {"dead_letter_policy": None}),
        (["--min-retry-delay=0"], {"retry_policy": RetryPolicy("0s")}),
        (
            ["--min-retry-delay=5", "--max-retry-delay=PT1M"],
            {"retry_policy": RetryPolicy("5s", "60s")},
        ),
        (
            ["--dead-letter-topic=ddd", "--dead-letter-topic-project=q"],
            {"dead_letter_policy": DeadLetterPolicy("projects/q/topics/ddd", 5)},
        ),
        (
            ["--max-delivery-attempts=7"],
            {"dead_letter_policy": DeadLetterPolicy("projects/p/topics/dead", 7)},
        ),
    ],
)
def test_options_become_fields_of_a_subscription(
    options: list[str], fields: dict[str, Any]
) -> None:
    for args in (["sss", *options], [*options, "sss"]):
        verb, names, given = last_call("subscriptions", "update", *args)
        keeps_a_part = options == ["--max-delivery-attempts=7"]
        assert (given.pop("if_unchanged", None) is not None) == keeps_a_part
        assert (verb, names, given) == ("update_subscription", (SUBSCRIPTIONS + "sss",), fields)


def test_create_takes_what_cannot_be_changed_later() -> None:
    name, args, fields = last_call(
        *("subscriptions", "create", "sss", "--topic=ttt", "--topic-project=q"),
        *("--message-filter", 'attributes.lang = "en"', "--enable-message-ordering"),
    )
    assert (name, args) == ("create_subscription", (SUBSCRIPTIONS + "sss", "projects/q/topics/ttt"))
    assert fields == {
        "filter": 'attributes.lang = "en"',
        "enable_message_ordering": True,
        "labels": {},
    }


def test_the_only_topic_may_be_left_out() -> None:
    # Google's page: subscriptions create SUBSCRIPTION_ID --retain-acked-messages=true
    store = Noting(list_topics=Page([TOPIC]))
    result = run(store, "subscriptions", "create", "sss", "--retain-acked-messages=true")
    assert result.exit_code == 0
    assert store.calls[-1][1] == (SUBSCRIPTIONS + "sss", TOPIC.name)
    assert "Topic [projects/p/topics/t], the only one of project [p].\n" in result.stderr
    for topics in ([], [TOPIC, TOPIC]):
        result = run(Noting(list_topics=Page(topics)), "subscriptions", "create", "sss")
        assert result.exit_code == 2
        assert "Missing option '--topic'" in result.stderr


@pytest.mark.parametrize(
    ("options", "target"),
    [
        (["--time=-p1d"], {"time": NOW - timedelta(days=1)}),
        (["--time", "-PT1H"], {"time": NOW - timedelta(hours=1)}),
        (["--time=2026-11-20T10:00:00Z"], {"time": datetime(2026, 11, 20, 10, tzinfo=NOW.tzinfo)}),
        (["--snapshot=nnn"], {"snapshot": "projects/p/snapshots/nnn"}),
        (["--snapshot=nnn", "--snapshot-project=q"], {"snapshot": "projects/q/snapshots/nnn"}),
    ],
)
def test_seek_has_one_target(options: list[str], target: dict[str, Any]) -> None:
    assert last_call("subscriptions", "seek", "sss", *options) == (
        "seek",
        (SUBSCRIPTIONS + "sss",),
        target,
    )


def test_seek_prints_where_it_went() -> None:
    result = run(Noting(), "subscriptions", "seek", "sss", "--time=2026-11-20T01:00+0100")
    assert result.stdout == (  # as gcloud, with all digits
        "subscriptionId: projects/p/subscriptions/sss\ntime: '2026-11-20T00:00:00.000000Z'\n"
    )


def test_publish_takes_data_attributes_and_a_key() -> None:
    class Published:
        message_ids = Ids.of(["7"])

    store = Noting(publish=Published)
    options = ["--message=späť", "--attribute=^;^a=1,2;b=3", "--ordering-key=k"]
    result = run(store, "topics", "publish", "ttt", *options)
    assert result.stdout == "messageIds:\n- '7'\n"
    message = Message("späť".encode(), {"a": "1,2", "b": "3"}, "k")
    assert store.calls == [("publish", (TOPICS + "ttt", [message]), {})]


@pytest.mark.parametrize("options", [["--ack-ids=A1,A2"], ["--ack-ids", "A1", "--ack-ids=A2"]])
def test_ack_ids_stand_together_or_apart(options: list[str]) -> None:
    store = Noting(acknowledge=AckResult(Ids.of(["A1"]), Ids.of([]), Ids.of(["A2"])))
    result = run(store, "subscriptions", "ack", "sss", *options)
    assert store.calls == [("acknowledge", (SUBSCRIPTIONS + "sss", ["A1", "A2"]), {})]
    assert "Acked the messages with the following ackIds: [A1]\n" in result.stderr
    assert "Failed to ack the messages with the following ackIds: [A2]\n" in result.stderr
    assert "INVALID_ARGUMENT: ack_ids: failed to ack 1 message; ack ids of live" in result.stderr
    assert result.exit_code == 1


def test_an_ack_prints_its_empty_response() -> None:
    """gcloud prints the response of Acknowledge, which has no fields."""
    store = Noting(acknowledge=AckResult(Ids.of(["A1"]), Ids.of([]), Ids.of([])))
    assert run(store, "subscriptions", "ack", "sss", "--ack-ids=A1").stdout == "{}\n"


def test_who_sits_at_a_terminal_is_asked_before_something_is_deleted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = click.testing._NamedTextIOWrapper
    monkeypatch.setattr(stream, "isatty", lambda self: self.name == "<stdin>", raising=False)
    for answer, options, deleted in (
        ("y\n", [], True),
        ("n\n", [], False),
        ("", [], False),  # Ctrl-D
        ("", ["--quiet"], True),
        ("", ["-q"], True),
    ):
        store = Noting()
        result = run(store, "snapshots", "delete", "nnn", *options, answer=answer)
        assert bool(store.calls) == deleted
        assert result.exit_code == (0 if deleted else 1)
        assert ("Deleted snapshot [projects/p/snapshots/nnn]." in result.stderr) == deleted
        assert ("Nothing was deleted; --quiet" in result.stderr) != deleted


def test_a_script_is_not_asked_before_something_is_deleted() -> None:
    """gcloud pubsub asks nobody; a script for it has no --quiet."""
    store = Noting()
    result = run(store, "topics", "delete", "ttt", answer="")
    assert result.stderr == f"Deleted topic [{TOPICS}ttt].\n"
    assert [each[0] for each in store.calls] == ["delete_topic"]


def test_an_error_is_one_line_with_the_command_and_the_code() -> None:
    store = Noting(get_topic=NotFound("topic projects/p/topics/ttt\n does not exist"))
    result = run(store, "topics", "describe", "ttt")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        "ERROR: (pubsub-delta.topics.describe) NOT_FOUND: "
        "topic projects/p/topics/ttt does not exist; "
        "`pubsub-delta topics create ttt` creates it\n"
    )


def test_an_unexpected_error_has_no_traceback() -> None:
    result = run(Noting(get_topic=RuntimeError("[X] no\n\tat java")), "topics", "describe", "ttt")
    assert result.exit_code == 1
    assert result.stderr.startswith(
        "ERROR: (pubsub-delta.topics.describe) INTERNAL: RuntimeError: [X] no (unexpected; "
    )
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["topics", "create"], "(pubsub-delta.topics.create) Missing argument 'TOPIC...'"),
        (["topics", "frobnicate"], "No such command 'frobnicate'"),
        (["topics", "update", "ttt"], "nothing to update"),
        (["topics", "list", "--format=xml"], "'xml' is not a format"),
        (["topics", "create", "ttt", "--labels=a"], "'a' is not a pair"),
        (["topics", "publish", "ttt", "--attribute=k=1,k=2"], "or its key appears twice"),
        (["topics", "publish", "ttt", "--attribute=k=1", "--attribute=k=2"], "'k' appears twice"),
        (["topics", "update", "ttt", "--message-retention-duration=1y"], "is not a duration"),
        (["subscriptions", "seek", "sss"], "exactly one of --time and --snapshot"),
        (["subscriptions", "seek", "sss", "--time=yesterday"], "is not a time"),
        (["subscriptions", "seek", "sss", "--time=now", "--snapshot=x"], "exactly one of"),
        (["subscriptions", "update", "sss", "--no-retain-acked-messages=x"], "No such option"),
        (
            ["subscriptions", "update", "sss", "--min-retry-delay=1s", "--clear-retry-policy"],
            "--min-retry-delay and --clear-retry-policy exclude each other",
        ),
        (["maintain", "--duties=x"], "x is not a duty"),
    ],
)
def test_a_wrong_command_line_asks_nothing_of_the_store(args: list[str], told: str) -> None:
    store = Noting()
    result = run(store, *args)
    assert (result.exit_code, store.calls) == (2, [])
    assert told in result.stderr
    assert result.stderr.startswith("ERROR: (pubsub-delta")
    assert result.stderr.count("\n") == 1


def test_global_options_stand_before_or_after_the_command() -> None:
    for args in (
        ["--project=q", "--format=json", "topics", "describe", "ttt"],
        ["topics", "--project=q", "describe", "--format=json", "ttt"],
        ["--project=no", "topics", "describe", "ttt", "--project", "q", "--format", "json"],
    ):
        store = Noting()
        result = run(store, *args)
        assert store.calls == [("get_topic", ("projects/q/topics/ttt",), {})]
        assert json.loads(result.stdout)["name"] == TOPIC.name


def test_a_listing_is_all_pages_or_as_many_as_are_asked_for() -> None:
    store = Noting(list_topics=Page([TOPIC], "more"))
    result = run(store, "topics", "list", "--limit=2", "--format=value(name)")
    assert result.stdout == f"{TOPIC.name}\n" * 2
    assert [named for _, _, named in store.calls] == [{"page_token": None}, {"page_token": "more"}]
    empty = run(Noting(list_topics=Page()), "topics", "list")
    assert (empty.stdout, empty.stderr) == ("", "Listed 0 items.\n")


def test_maintain_tells_what_was_done_and_fails_where_something_was_not() -> None:
    store = Noting(maintain=MaintenanceReport(dead_letters={"s": 2}, problems={"x": "why\nso"}))
    result = run(store, "maintain", "--duties=dead-letters,vacuum", "--dry-run")
    assert result.stdout == "dead-letters: s: 2 messages forwarded\nnot done: x: why so\n"
    assert result.exit_code == 1
    asked = store.calls[0][2]
    assert {name for name, value in asked.items() if value} == {"dead_letters", "vacuum", "dry_run"}


def test_how_much_history_is_kept_is_handed_on_and_told() -> None:
    forgotten = {"projects/p/topics/t": 1200, "projects/p/topics/s": 1}
    store = Noting(maintain=MaintenanceReport(forgotten=forgotten))
    result = run(store, "maintain", "--log-retention=6h")
    assert store.calls[0][2]["log_retention"] == "6h"
    assert result.stdout.splitlines() == [
        "log-retention: projects/p/topics/t: 1,200 commits forgotten",
        "log-retention: projects/p/topics/s: 1 commit forgotten",
    ]


def test_no_permission_is_needed_for_forwarding_and_none_can_be_granted() -> None:
    grant = ["topics", "add-iam-policy-binding", "ttt", "--member=serviceAccount:x"]
    result = run(Noting(), *grant, "--role=roles/pubsub.publisher")
    assert result.exit_code == 0
    assert "Nothing needs to be done" in result.stderr
    result = run(Noting(), *grant, "--role=roles/owner")
    assert (result.exit_code, "UNIMPLEMENTED" in result.stderr) == (1, True)


def test_settings_come_from_options_then_environment_then_the_file(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('root = "/file"\nproject = "file"\nformat = "json"\n')
    environment = {"PUBSUB_DELTA_CONFIG": str(file), "PUBSUB_DELTA_PROJECT": "environment"}
    assert read_settings({"format": "yaml"}, environment) == Settings(
        "/file", "environment", "yaml"
    )
    assert read_settings({}, {}) == Settings(None, "local")
    home = tmp_path / ".config" / "pubsub_delta"
    home.mkdir(parents=True)
    file.rename(home / "config.toml")
    assert read_settings({}, {"HOME": str(tmp_path)}).root == "/file"


@pytest.mark.parametrize("text", ["rooot = 'x'", "root = 7", "root"])
def test_a_wrong_file_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(InvalidArgument, match=r"config\.toml"):
        read_settings({}, {"PUBSUB_DELTA_CONFIG": str(file)})
    result = run(Noting(), "topics", "list", PUBSUB_DELTA_CONFIG=str(tmp_path / "absent"))
    assert (result.exit_code, "cannot be read" in result.stderr) == (2, True)
