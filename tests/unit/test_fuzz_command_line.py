"""Command lines from anywhere: an exit code and a message in one line, never a traceback."""

from __future__ import annotations

import shlex
from typing import Any

import click
import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

from pubsub_delta.cli.application import App
from pubsub_delta.cli.formats import parse_format
from pubsub_delta.cli.main import cli
from pubsub_delta.cli.printing import render
from pubsub_delta.cli.session import connect
from pubsub_delta.cli.shell_lines import Shell
from pubsub_delta.clock import ManualClock
from pubsub_delta.ids import Ids
from pubsub_delta.operations.maintain import MaintenanceReport
from pubsub_delta.resources import AckResult, Page
from tests.unit.hostile import is_refusal, outcome, texts
from tests.unit.test_cli_arguments import NOW, SCHEMA, SNAPSHOT, TOPIC, Noting
from tests.unit.test_cli_formats import subscription
from tests.unit.test_cli_pull import Pulled

ENDLESS = {"console", "serve", "shell", "watch"}
"""Commands that go on until somebody ends them."""
LOOKING = {"backlog", "history", "metrics"}
"""Commands that show a DataFrame or figures, which a store that only notes has not."""


class Published:
    message_ids = Ids.of(["7"])


def leaves(group: click.Group, *path: str) -> list[tuple[tuple[str, ...], click.Command]]:
    found = []
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            found += leaves(command, *path, name)
        elif name not in ENDLESS | LOOKING:
            found.append(((*path, name), command))
    return found


COMMANDS = leaves(cli)
option_names = sorted({name for _, each in COMMANDS for p in each.params for name in p.opts})
hostile = texts.map(lambda text: text.replace("\0", "").encode("utf-8", "ignore").decode())
likely = st.sampled_from(
    [
        *("ttt", "1", "0", "-1", "600", "7d", "-p1d", "P", "true", "a=b", "a", "never", "default"),
        *("json", "table[box](name)", "value(a.²)", "csv[separator=](a)", "2026-11-20", "--", "="),
        *("projects/p/topics/ttt", "projects/p/subscriptions/sss", "^;^a;b", "^^", "\udcff"),
    ]
)
words = st.one_of(likely, hostile)
options = st.one_of(
    words.map(lambda word: [word]),
    st.tuples(st.sampled_from([n for n in option_names if n.startswith("-")]), words).map(
        lambda pair: [f"{pair[0]}={pair[1]}"]
    ),
    st.tuples(st.sampled_from(option_names), words).map(list),
)
command_lines = st.builds(
    lambda path, given: [*path, *(word for each in given for word in each)],
    st.sampled_from([path for path, _ in COMMANDS]),
    st.lists(options, max_size=4),
)


def answering() -> Any:
    return Noting(
        publish=Published,
        pull=Pulled(),
        acknowledge=AckResult(Ids.of(["a"]), Ids.of([]), Ids.of([])),
        modify_ack_deadline=AckResult(Ids.of([]), Ids.of(["a"]), Ids.of([])),
        list_topics=Page([TOPIC]),
        list_subscriptions=Page([subscription()]),
        list_snapshots=Page([SNAPSHOT]),
        list_schemas=Page([SCHEMA]),
        list_schema_revisions=Page([SCHEMA]),
        list_topic_subscriptions=Page(["projects/p/subscriptions/sss"]),
        list_topic_snapshots=Page([SNAPSHOT.name]),
        maintain=MaintenanceReport(),
    )


def app_of(**environment: str) -> App:
    variables = {"PUBSUB_DELTA_ROOT": "/r", "PUBSUB_DELTA_PROJECT": "p", **environment}
    return App(lambda _: answering(), ManualClock(NOW), variables)


@given(command_lines)
@example(["subscriptions", "pull", "sss", "--format=value(ackId.decode(base64))"])
@example(["topics", "publish", "ttt", "--message=\udcff"])
@example(["topics", "create", "ttt", "--labels=a=\udcff"])
@example(["topics", "list", "--project=\udcff"])
@example(["subscriptions", "create", "sss", "--expiration-period=999999999d"])
def test_a_command_line_is_run_or_refused_in_one_line(line: list[str]) -> None:
    result = CliRunner().invoke(cli, line, obj=app_of(), input="")
    assert result.exit_code in (0, 1, 2)
    assert isinstance(result.exception, (SystemExit, type(None))), repr(result.exception)
    assert "Traceback" not in result.output
    assert "(unexpected" not in result.stderr, result.stderr
    if result.exit_code and line[:1] != ["doctor"]:  # it tells what it finds, and that is a result
        assert any(each.startswith(("ERROR: (", "Usage: ")) for each in result.stderr.splitlines())


@given(st.one_of(texts, command_lines.map(shlex.join), st.lists(words, max_size=4).map(" ".join)))
@example("topics create 'ttt")
@example("help \ud800")
def test_a_line_of_a_shell_never_ends_it(line: str) -> None:
    first = line.split()[:1]
    shell = Shell(cli, app_of())
    if not first or not {"exit", "quit"} & set(shlex_words(line)):
        assert shell.run(line) in (0, 1, 2)


def shlex_words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return []


@given(st.sampled_from(["ROOT", "PROJECT", "REMOTE", "CONFIG"]), hostile)
@example("CONFIG", "/")
@example("CONFIG", "\0")
def test_what_the_environment_says_is_taken_or_refused_in_one_line(name: str, text: str) -> None:
    result = CliRunner().invoke(
        cli, ["topics", "describe", "ttt"], obj=app_of(**{f"PUBSUB_DELTA_{name}": text})
    )
    assert result.exit_code in (0, 1, 2)
    assert isinstance(result.exception, (SystemExit, type(None))), repr(result.exception)
    assert "(unexpected" not in result.stderr, result.stderr


@given(
    st.one_of(
        texts,
        st.builds(
            "{}[{}]({})".format,
            st.sampled_from(["table", "json", "yaml", "csv", "value"]),
            st.sampled_from(["", "box", "no-heading", "separator=';'", "separator=", "x"]),
            st.text("ab1²٣.,:()[]'\"= decolist", max_size=16),
        ),
    )
)
@example("value(:)")
@example("value(a.²)")
@example("value(a.99999999999999999999)")
@example("value(b.decode(base64))")
@example("csv[separator='\n'](a)")
@example("table(name:sort=²)")
@example("table(name:width=²)")
@example("table(name:wrap=²)")
@example("table[pad=²](name)")
@example("value(name.map(²).len())")
@example(f"table(name:sort={'9' * 5_000})")
@example(f"table(name:width={'9' * 20})")
@example(f"table(name:wrap={'9' * 5_000})")
@example(f"table[pad={'9' * 20}](name)")
@example(f"table[pad={'9' * 5_000}](name)")
@example(f"value(name.map({'9' * 5_000}).len())")
def test_a_format_shows_records_or_is_refused(text: str) -> None:
    records = [{"name": "n", "a": [1, {"b": "c"}], "b": "\ud800\x1b[2J", "1": {"1": True}}]
    told = outcome(lambda: render(records, parse_format(text)))
    if isinstance(told, Exception):
        assert str(told).startswith("format: ")
        assert "accepted" in str(told) or "not closed" in str(told)


@pytest.mark.parametrize("text", ["x", "", "c²=", 7])
def test_what_is_no_base64_is_told_by_its_field(text: object) -> None:
    told = outcome(lambda: render([{"a": text}], parse_format("value(a.decode(base64))")))
    assert told == "\n" or is_refusal(told, str(text))


@given(st.one_of(texts.filter(lambda text: not text.startswith("sc:")), st.just("sc://")))
@example("sc://[")
@example("sc://[::1")
@example("sc:///path")
def test_what_names_no_server_is_refused(remote: str) -> None:
    assert is_refusal(outcome(lambda: connect(remote)), remote)
