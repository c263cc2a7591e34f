"""Which records commands show, and what gcloud's own options do (``gcloud topic filters``)."""

from __future__ import annotations

import json
import re
import subprocess
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pubsub_delta.cli.application import App
from pubsub_delta.cli.main import cli
from pubsub_delta.clock import ManualClock
from pubsub_delta.resources import Page, Snapshot, Topic
from tests.unit.serving_world import Terminal, WorldBackend
from tests.unit.test_cli_arguments import NOW, SNAPSHOT, SUBSCRIPTIONS, Noting, last_call, run
from tests.unit.test_cli_pull import Pulled

PAGES: dict[str | None, Page[Topic]] = {
    None: Page([Topic("projects/p/topics/a1", None, None, {"env": "x"}, NOW, "u1")], "2"),
    "2": Page([Topic("projects/p/topics/b2", None, None, {"env": "y"}, NOW, "u2")], "3"),
    "3": Page([Topic("projects/p/topics/c3", None, None, {"env": "x"}, NOW, "u3")]),
}


class Paged(Noting):
    """A store whose topics are on three pages."""

    def list_topics(self, *, page_token: str | None = None, **more: Any) -> Page[Topic]:
        self.calls.append(("list_topics", (page_token,), more))
        return PAGES[page_token]


def names(*options: str) -> tuple[list[str], int]:
    """Return the names that a listing shows, and how many pages it asks for."""
    store = Paged()
    result = run(store, "topics", "list", *options, "--format=value(name.basename())")
    assert result.exit_code == 0, result.stderr
    return result.stdout.split(), len(store.calls)


def test_a_limit_asks_for_no_more_pages_than_it_needs() -> None:
    assert names("--limit=1") == (["a1"], 1)
    assert names("--limit=unlimited") == (["a1", "b2", "c3"], 3)


def test_what_a_filter_or_an_order_wants_may_stand_on_any_page() -> None:
    assert names("--filter=labels.env=y", "--limit=1") == (["b2"], 3)
    assert names("--sort-by=~name", "--limit=2") == (["c3", "b2"], 3)
    assert names("--filter=name.scope(topics):c*", "--limit=1") == (["c3"], 3)


def test_sorting_by_a_label_sorts() -> None:
    # gcloud 528 leaves them as they are
    assert names("--sort-by=~labels.env,~name")[0] == ["b2", "c3", "a1"]


def test_a_uri_is_that_of_google() -> None:
    result = run(Paged(), "topics", "list", "--uri", "--filter=name:b2")
    assert result.stdout == "https://pubsub.googleapis.com/v1/projects/p/topics/b2\n"


def test_pages_may_be_as_long_as_all() -> None:
    told = run(Paged(), "topics", "list", "--page-size=unlimited", "--format=table(name.len())")
    assert told.stdout == "NAME\n20\n20\n20\n"


def test_a_page_is_a_table_of_its_own() -> None:
    told = run(Paged(), "topics", "list", "--page-size=2", "--format=table(name.basename())").stdout
    assert told == "NAME\na1\nb2\n\nNAME\nc3\n"
    titled = "--format=table[title=Topics](name.basename())"
    told = run(Paged(), "topics", "list", "--page-size=2", titled).stdout
    assert told.split() == ["Topics", "NAME", "a1", "b2", "NAME", "c3"]


def test_keys_that_nothing_has_are_told() -> None:
    result = run(Paged(), "topics", "list", "--filter=labels.nev=x OR nothing:*")
    assert result.stdout == ""
    assert result.stderr == (
        "WARNING: The following filter keys were not present in any resource : "
        "labels.nev, nothing\nListed 0 items.\n"
    )
    told = run(Paged(), "topics", "list", "--filter=name:none", "--format=json")
    assert (told.stdout, told.stderr) == ("[]\n", "")  # as gcloud, with a format


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("--filter=name:", "it ends too early"),
        ("--filter=name==a", "'==' is not an operator"),
        ("--filter=a OR b AND c", "AND and OR at one level; parentheses say which goes first"),
        ("--filter=name.nothing():a", "nothing(): there is no such transform; always, basename"),
        ("--filter=name.enum(x):a", "'--filter': enum() of gcloud is not implemented"),
        ("--format=value(name.enum(x))", "'--format': enum() of gcloud is not implemented"),
        ("--format=value(name.len(a,b))", "len(a, b): these arguments are not accepted"),
        (f"--filter={'(' * 5000}a{')' * 5000}", "its parentheses are nested too deeply"),
        (f"--format=value(len{'(' * 5000}{')' * 5000})", "its parentheses are nested too deeply"),
        ("--sort-by=a..b", "column 2 is not expected: '..b'"),
        ("--flatten=[", "column 1 is not expected: '['"),
        ("--format=object", "'object' of gcloud is not implemented"),
        ("--limit=0", "0 is not in the range x>=1"),
        ("--page-size=0", "0 is not in the range x>=1"),
        ("--flags-file=f.yaml", "--flags-file: this option of gcloud is not implemented"),
    ],
)
def test_what_cannot_be_read_is_a_wrong_command_line(option: str, told: str) -> None:
    store = Paged()
    result = run(store, "topics", "list", option)
    assert result.exit_code == 2
    assert told in result.stderr
    assert result.stderr.count("\n") == 1
    assert store.calls == []


def test_a_list_becomes_records_of_its_items() -> None:
    store = Noting(list_topics=PAGES["3"])
    told = run(store, "topics", "list", "--flatten=labels", "--format=value(labels.env)")
    assert told.stdout == "x\n"  # no list is there: it stays as it is
    result = run(
        Noting(publish=type("Published", (), {"message_ids": ["7", "8"]})),
        *("topics", "publish", "ttt", "--message=x", "--flatten=messageIds[]"),
        "--format=value(messageIds)",
    )
    assert result.stdout == "7\n8\n"


def test_snapshots_are_listed_in_the_table_of_gcloud() -> None:
    store = Noting(list_snapshots=Page([SNAPSHOT]))
    assert run(store, "snapshots", "list", "--filter=snapshotId=n").stdout.splitlines() == [
        "┌─────────┬──────────┬───────┬──────────────────────┐",
        "│ PROJECT │ SNAPSHOT │ TOPIC │     EXPIRE_TIME      │",
        "├─────────┼──────────┼───────┼──────────────────────┤",
        "│ p       │ n        │ t     │ 2026-11-21T15:30:00Z │",
        "└─────────┴──────────┴───────┴──────────────────────┘",
    ]
    told = run(store, "snapshots", "list", "--format=value(SNAPSHOT,topicId)").stdout
    assert told == "n\tt\n"


def test_a_limit_of_snapshots_asks_for_no_more_pages_than_it_needs() -> None:
    class Snapshots(Noting):
        def list_snapshots(self, *, page_token: str | None = None) -> Page[Snapshot]:
            self.calls.append(("list_snapshots", (page_token,), {}))
            return Page([SNAPSHOT], "" if page_token else "second")

    store = Snapshots()
    told = run(store, "snapshots", "list", "--limit=1", "--format=value(SNAPSHOT)").stdout
    assert (told, len(store.calls)) == ("n\n", 1)


GCLOUDS = (
    "--verbosity=error",
    "--account=me@example.com",
    "--configuration=default",
    "--impersonate-service-account=me@example.com",
    "--billing-project=b",
    "--trace-token=t",
    "--access-token-file=f",
    "--log-http",
    "--no-log-http",
    "--log-http=false",
    "--user-output-enabled",
    "-q",
)


@pytest.mark.parametrize("option", GCLOUDS)
def test_options_of_gcloud_may_stand_before_and_after_a_command(option: str) -> None:
    for line in (
        [option, "topics", "list"],
        ["topics", option, "list"],
        ["topics", "list", option],
    ):
        result = run(Paged(), *line, "--format=value(name.basename())")
        assert (result.stdout, result.stderr) == ("a1\nb2\nc3\n", "")


@pytest.mark.parametrize("option", ["--no-user-output-enabled", "--user-output-enabled=false"])
def test_without_user_output_errors_are_told_and_nothing_else(option: str) -> None:
    for line in ([option, "topics", "list"], ["topics", "create", "ttt", option]):
        result = run(Paged(), *line)
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    failed = run(Noting(), "topics", "create", "t", option)
    assert failed.exit_code == 1
    assert failed.stderr.startswith("ERROR: (pubsub-delta.topics.create) INVALID_ARGUMENT")


def pulled(*options: str) -> tuple[Result, Pulled]:
    batch = Pulled("late", "on time")
    return run(Noting(pull=batch), "subscriptions", "pull", "sss", "--limit=2", *options), batch


def test_a_pull_shows_what_its_filter_wants() -> None:
    result, _ = pulled("--filter=message.messageId>0", "--format=value(message.data,ackId)")
    assert result.stdout == "on time\ton time\n"
    result, _ = pulled("--sort-by=~message.messageId", "--format=value(message.messageId)")
    assert result.stdout == "1\n0\n"


def test_a_filter_of_a_pull_does_not_change_what_is_acknowledged() -> None:
    # as gcloud: what is pulled is acknowledged, and then shown or not
    result, batch = pulled("--auto-ack", "--filter=MESSAGE_ID=1", "--format=value(DATA)")
    assert result.stdout == "on time\n"
    assert batch.done[-1] == "ack"
    result, _ = pulled("--auto-ack", "--filter=ackStatus=SUCCESS", "--format=value(message.data)")
    assert result.stdout == "late\non time\n"


def test_a_time_without_a_zone_is_local() -> None:
    store: Any = Noting()
    zone = timezone(timedelta(hours=9))
    variables = {"PUBSUB_DELTA_ROOT": "/r", "PUBSUB_DELTA_PROJECT": "p"}
    app = App(lambda _: store, ManualClock(NOW), variables, zone=zone)
    line = ["subscriptions", "seek", "sss", "--time=2026-11-20"]
    assert CliRunner().invoke(cli, line, obj=app).exit_code == 0
    name, args, named = store.calls[-1]
    assert (name, args) == ("seek", (f"{SUBSCRIPTIONS}sss",))
    assert named["time"] == datetime(2026, 11, 19, 15, tzinfo=timezone.utc)


def test_a_time_is_relative_to_the_clock() -> None:
    _, _, named = last_call("subscriptions", "seek", "sss", "--time=2 hours ago")
    assert named["time"] == NOW - timedelta(hours=2)


@pytest.mark.parametrize("way", ["--follow", "--output=messages.jsonl"])
@pytest.mark.parametrize("option", ["--filter=a", "--sort-by=a", "--page-size=1", "--flatten=a"])
def test_what_goes_on_or_to_a_file_is_not_selected(way: str, option: str) -> None:
    result = run(Noting(), "subscriptions", "pull", "sss", way, option)
    assert result.exit_code == 2
    assert f"{option.partition('=')[0]} is not accepted with --follow or --output" in result.stderr


ONE_OF_EACH = """
topics create flights
subscriptions create delays --topic=flights
snapshots create before --subscription=delays
schemas create states --type=protocol-buffer --definition='syntax = "proto3"; message M {{}}'
"""


@pytest.mark.parametrize(
    ("listing", "name"),
    [
        ("topics list", "topics/flights"),
        ("topics list-subscriptions flights", "subscriptions/delays"),
        ("topics list-snapshots flights", "snapshots/before"),
        ("subscriptions list", "subscriptions/delays"),
        ("snapshots list", "snapshots/before"),
        ("schemas list", "schemas/states"),
        ("schemas list-revisions states", "schemas/states"),
    ],
)
def test_every_listing_shows_what_there_is(listing: str, name: str) -> None:
    terminal = Terminal(WorldBackend(), None)
    for line in filter(None, ONE_OF_EACH.splitlines()):
        done = terminal.run(line)
        assert done.exit_code == 0, done.output
    assert f"projects/local/{name}" in terminal.run(f"{listing} --format=json").stdout


@pytest.mark.parametrize("form", ["config[export]", "config[unset]"])
def test_no_attribute_is_a_command_of_a_shell(form: str) -> None:
    """``eval "$(… --format='config[export]')"``: whoever publishes gives the attributes names."""
    terminal = Terminal(WorldBackend(), None)
    terminal.run("topics create flights")
    terminal.run("subscriptions create delays --topic=flights")
    terminal.run("""topics publish flights --attribute='x;echo $(id)\n`ls`-é=$(id)'""")
    shown = terminal.run(f"subscriptions pull delays --format={form}").stdout
    assert shown.count("message_attributes_x_echo") == 1
    for line in shown.splitlines():
        assert re.fullmatch(r"(export \w+=\S*|unset \w+)", line, re.ASCII), line
    ran = subprocess.run(["sh", "-c", shown], capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("", "")


@pytest.mark.parametrize("counted", [False, True])
def test_a_backlog_tells_attempts_where_they_are_counted(counted: bool) -> None:
    """Pub/Sub: `delivery_attempt` is 0 without a dead-letter policy, which JSON leaves out."""
    terminal = Terminal(WorldBackend(), None)
    terminal.run("topics create flights failed")
    policy = "--dead-letter-topic=failed" if counted else ""
    terminal.run(f"subscriptions create delays --topic=flights {policy}")
    terminal.run("topics publish flights --message=late")
    terminal.run("subscriptions pull delays")
    (found,) = json.loads(terminal.run("subscriptions backlog delays --format=json").stdout)
    assert found.get("deliveryAttempt") == (1 if counted else None)
    assert (found["message"]["data"], found["state"]) == ("bGF0ZQ==", "leased")


def test_a_list_is_sorted_by_what_it_does_not_show() -> None:
    """gcloud: "--sort-by: comma-separated list of resource field key names to sort by"."""
    assert names("--sort-by=~messageRetentionDuration,~labels.env")[0] == ["b2", "a1", "c3"]
    assert names("--sort-by=labels.env,~name")[0] == ["c3", "a1", "b2"]
    for key, found in (("labels.env", ["a1", "c3", "b2"]), ("~labels.env", ["b2", "a1", "c3"])):
        format_ = "--format=table[no-heading](name.basename())"
        shown = run(Paged(), "topics", "list", f"--sort-by={key}", format_)
        assert shown.stdout.split() == found
