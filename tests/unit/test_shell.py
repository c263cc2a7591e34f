"""The shell, against a store that only notes what it is asked."""

from __future__ import annotations

import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.history import InMemoryHistory

from pubsub_delta.cli import session
from pubsub_delta.cli.application import App
from pubsub_delta.cli.completion_names import ResourceNames
from pubsub_delta.cli.main import cli
from pubsub_delta.cli.prompt import LineCompleter, history_in
from pubsub_delta.cli.settings import Settings, read_settings
from pubsub_delta.cli.shell_lines import Read, Shell, commands
from pubsub_delta.clock import ManualClock
from pubsub_delta.errors import NotFound
from pubsub_delta.resources import Page, Topic
from tests.unit.test_cli_arguments import NOW, SNAPSHOT, SUBSCRIPTION, TOPIC, TOPICS, Noting

VARIABLES = {"PUBSUB_DELTA_ROOT": "/r", "PUBSUB_DELTA_PROJECT": "p"}


def topic(name: str) -> Topic:
    return Topic(name, None, None, {}, NOW, "u")


class ListMethod(Noting):
    """A store with some resources."""

    def __init__(self, **answers: Any) -> None:
        flights, failed = topic(TOPICS + "flights"), topic(TOPICS + "failed")
        super().__init__(
            **{
                "list_topics": Page([flights, failed, TOPIC]),
                "list_subscriptions": Page([SUBSCRIPTION]),
                "list_snapshots": Page([SNAPSHOT]),
                **answers,
            }
        )


def run(text: str, store: Any, *options: str) -> Result:
    """Run a shell whose standard input is a pipe."""
    app = App(lambda _: store, ManualClock(NOW), VARIABLES)
    return CliRunner().invoke(cli, ["shell", *options], obj=app, input=text)


def shell_of(store: Any, clock: ManualClock | None = None) -> Shell:
    app = App(lambda _: store, clock or ManualClock(NOW), VARIABLES)
    return Shell(cli, app)


def lines(*texts: str | BaseException) -> Read:
    left: Iterator[str | BaseException] = iter([*texts, EOFError()])

    def read(_: str) -> str:
        line = next(left)
        if isinstance(line, BaseException):
            raise line
        return line

    return read


@pytest.mark.parametrize("prefix", ["", "pubsub-delta ", "gcloud pubsub "])
def test_a_line_is_a_command_line(prefix: str) -> None:
    store = Noting()
    result = run(f"{prefix}topics describe 'ttt' --format='value(name)'\n", store)
    assert store.calls == [("get_topic", (TOPICS + "ttt",), {})]
    assert (result.exit_code, result.stdout, result.stderr) == (0, f"{TOPIC.name}\n", "")


def test_what_the_shell_is_told_holds_for_each_line_and_a_line_only_for_itself() -> None:
    store = Noting()
    text = "topics describe ttt --project=r\ntopics describe ttt\n"
    result = run(text, store, "--project=q", "--format=value(name)")
    named = [args[0] for _, args, _ in store.calls]
    assert named == ["projects/r/topics/ttt", "projects/q/topics/ttt"]
    assert result.stdout == f"{TOPIC.name}\n" * 2


def test_a_store_is_opened_once() -> None:
    opened: list[Settings] = []

    def opener(settings: Settings) -> Any:
        opened.append(settings)
        return Noting()

    text = "topics describe ttt\ntopics describe ttt --project=q\ntopics describe ttt\n"
    app = App(opener, ManualClock(NOW), VARIABLES)
    assert CliRunner().invoke(cli, ["shell"], obj=app, input=text).exit_code == 0
    assert [each.project for each in opened] == ["p", "q"]


def test_an_error_is_one_line_and_ends_nothing() -> None:
    store = Noting(get_topic=NotFound("topic ttt does not exist"))
    text = "topics describe ttt\nfrobnicate\ntopics describe 'ttt\ntopics create ttt\n"
    result = run(text, store)
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "ERROR: (pubsub-delta.topics.describe) NOT_FOUND: topic ttt does not exist",
        "ERROR: (pubsub-delta) No such command 'frobnicate'; there are completion, console, "
        "demo, doctor, maintain, schemas, serve, shell, snapshots, subscriptions, topics. "
        "See: pubsub-delta --help",
        "ERROR: (pubsub-delta.shell) no closing quotation: topics describe 'ttt",
        f"Created topic [{TOPIC.name}].",
    ]


def test_commands_may_be_a_file_of_windows() -> None:
    """U+FEFF "as a signature" of UTF-8 is not text."""
    store = ListMethod()
    assert run("\ufefftopics list\r\nsubscriptions list\r\n", store).exit_code == 0
    assert [name for name, _, _ in store.calls] == ["list_topics", "list_subscriptions"]


def test_settings_may_be_a_file_of_windows(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(b'\xef\xbb\xbfroot = "/r"\r\n')
    assert read_settings({}, {"PUBSUB_DELTA_CONFIG": str(file)}).root == "/r"


def test_exit_ends_it_and_what_comes_after_is_not_run() -> None:
    for word in ("exit", "quit"):
        store = Noting()
        assert run(f"topics describe ttt\n{word}\ntopics describe ttt\n", store).exit_code == 0
        assert len(store.calls) == 1


@pytest.mark.parametrize("end", ["", "exit\n", "quit\n"])
def test_a_line_that_failed_is_the_exit_code_however_the_shell_ends(end: str) -> None:
    """A script sees that one of its commands failed: "return 1 if any failed"."""
    assert run(f"frobnicate\ntopics describe ttt\n{end}", Noting()).exit_code == 1
    assert run(f"topics describe ttt\n{end}", Noting()).exit_code == 0


def test_without_a_terminal_nothing_is_asked() -> None:
    # the next line is a command, not an answer
    store = Noting()
    result = run("topics delete ttt\ny\n", store)
    assert [each[0] for each in store.calls] == ["delete_topic"]
    assert "No such command 'y'" in result.stderr


def test_lines_go_on_after_a_backslash() -> None:
    # Google's own blocks are written so; comments and empty lines are passed over
    given = lines("# a # b\n", "\n", "topics create \\\n", "   ttt \\\n", "--labels=a=#1\n", "x")
    assert list(commands(given)) == ["topics create    ttt --labels=a=#1", "x"]
    assert list(commands(lines("topics \\", "list \\"))) == ["topics list"]


def test_a_line_goes_on_as_in_other_shells() -> None:
    # POSIX: a backslash and a line feed are removed; a backslash before it is a text
    given = lines("publish ttt --message=C:\\\\\n", "list\n", "publish --message=on\\\n", "time\n")
    told = ["publish ttt --message=C:\\\\", "list", "publish --message=ontime"]
    assert list(commands(given)) == told


def test_ctrl_c_forgets_what_was_begun() -> None:
    given = lines("topics delete \\", KeyboardInterrupt(), "topics list")
    assert list(commands(given)) == ["topics list"]


def test_help_works_inside() -> None:
    assert "pubsub-delta topics create flights" in run("help\n", Noting()).stdout
    assert "Usage: pubsub-delta topics history" in run("help topics history\n", Noting()).stdout
    assert "Usage: pubsub-delta topics" in run("topics --help\n", Noting()).stdout


def test_a_shell_in_a_shell_is_refused() -> None:
    result = run("shell\n", Noting())
    assert result.exit_code == 1
    assert "a shell runs already" in result.stderr


def test_a_line_cannot_change_the_session() -> None:
    store = Noting()
    result = run("topics describe ttt\ntopics describe ttt --remote=sc://h:1\n", store)
    assert (result.exit_code, len(store.calls)) == (1, 1)
    assert "FAILED_PRECONDITION: --remote: 'sc://h:1': this shell has a session with" in (
        result.stderr
    )


def completions(text: str, store: Any) -> list[str]:
    """Return the lines that Tab would make of one."""
    found = LineCompleter(shell_of(store), cli).get_completions(Document(text), CompleteEvent())
    return [text[: len(text) + each.start_position] + each.text for each in found]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("sub", ["subscriptions"]),
        ("topics de", ["delete", "describe", "detach-subscription"]),
        ("gcloud pubsub snapshots li", ["list"]),
        ("topics describe fl", ["flights"]),
        ("topics describe ", ["flights", "failed", "t"]),
        ("topics delete flights f", ["failed"]),
        ("topics describe projects/p/topics/fa", ["projects/p/topics/failed"]),
        ("topics create fl", []),
        ("subscriptions create sss --topic=fl", ["--topic=flights"]),
        ("subscriptions create sss --topic fl", ["flights"]),
        ("subscriptions update s --dead-letter-topic=fa", ["--dead-letter-topic=failed"]),
        ("subscriptions pull --auto-ack ", ["s"]),
        ("subscriptions pull s --au", ["--auto-ack"]),
        ("subscriptions watch ", ["s"]),
        ("topics detach-subscription ", ["s"]),
        ("topics add-iam-policy-binding fl", ["flights"]),
        ("subscriptions seek s --snapshot=", ["--snapshot=n"]),
        ("snapshots describe ", ["n"]),
        ("snapshots create nnn --subscription ", ["s"]),
        ("topics list --format=j", ["--format=json"]),
        ("topics publish flights --message='a ", []),
        ("hel", ["help"]),
        ("ex", ["exit"]),
    ],
)
def test_tab_completes_commands_options_and_names(text: str, found: list[str]) -> None:
    before = text[: text.rfind(" ") + 1]
    assert completions(text, ListMethod()) == [before + each for each in found]


def test_tab_offers_options_where_nothing_else_can_stand() -> None:
    assert "topics list --limit" in completions("topics list ", ListMethod())


def test_names_are_of_the_project_that_is_meant() -> None:
    for text, project in (
        ("topics describe f", "p"),
        ("--project=q topics describe f", "q"),
        ("topics --project q describe f", "q"),
        ("subscriptions create sss --topic-project=r --topic=f", "r"),
    ):
        store = ListMethod()
        assert len(completions(text, store)) == 2
        assert [named["project"] for _, _, named in store.calls] == [project]


def test_names_are_remembered_for_a_while_and_forgotten_after_a_command() -> None:
    store, clock = ListMethod(), ManualClock(NOW)
    shell = shell_of(store, clock)

    def looks() -> int:
        assert TOPICS + "flights" in shell.names("topics", "p")
        return sum(name == "list_topics" for name, _, _ in store.calls)

    assert [looks(), looks()] == [1, 1]
    clock.advance(11)
    assert [looks(), looks()] == [2, 2]
    shell.run("snapshots describe nnn")
    assert [looks(), looks()] == [3, 3]


def test_all_pages_are_names_and_a_store_that_fails_has_none() -> None:
    class Paged:
        def list_topics(self, *, project: str, page_token: str | None = None) -> Page[Topic]:
            if page_token is None:
                return Page([topic(f"projects/{project}/topics/one")], "more")
            return Page([topic(f"projects/{project}/topics/two")])

    paged: Any = Paged()
    names = ResourceNames(lambda: paged, lambda: NOW)
    assert list(names("topics", "p")) == [TOPICS + "one", TOPICS + "two"]
    assert list(names("snapshots", "p")) == []
    assert completions("topics describe f", ListMethod(list_topics=NotFound("gone"))) == []


def test_names_that_do_not_come_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pubsub_delta.cli.completion_names.TIMEOUT_SECONDS", 0.05)
    answered = threading.Event()

    class Silent:
        def list_topics(self, **_: Any) -> Page[Topic]:
            answered.wait(60)
            return Page([TOPIC])

    silent: Any = Silent()
    assert ResourceNames(lambda: silent, lambda: NOW)("topics", "p") == ()
    answered.set()


def test_history_is_kept_where_state_belongs_and_is_private(tmp_path: Path) -> None:
    kept = history_in({"HOME": str(tmp_path)})
    kept.append_string("topics list")
    file = tmp_path / ".local/state/pubsub_delta/history"
    assert "topics list" in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(history_in({"HOME": str(tmp_path)}).load_history_strings()) == ["topics list"]
    state = tmp_path / "state"
    history_in({"HOME": str(tmp_path), "XDG_STATE_HOME": str(state)})
    assert (state / "pubsub_delta/history").exists()
    (tmp_path / "file").touch()
    for nowhere in ({}, {"HOME": str(tmp_path / "file")}):
        assert isinstance(history_in(nowhere), InMemoryHistory)


def test_a_server_is_named_by_option_environment_or_file(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('remote = "sc://file:1"\n')
    environment = {"PUBSUB_DELTA_CONFIG": str(file)}
    assert read_settings({}, environment).remote == "sc://file:1"
    environment["PUBSUB_DELTA_REMOTE"] = "sc://environment:1"
    assert read_settings({}, environment).remote == "sc://environment:1"
    assert read_settings({"remote": "sc://option:1"}, environment).remote == "sc://option:1"


@pytest.mark.parametrize("address", ["localhost:15002", "http://localhost", "sc://", "sc:/h:1"])
def test_what_is_no_address_of_a_server_is_refused(address: str) -> None:
    result = CliRunner().invoke(
        cli, ["topics", "list", f"--remote={address}"], obj=App(environment=VARIABLES)
    )
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert f"INVALID_ARGUMENT: remote: '{address}' is not the address" in result.stderr


def test_without_the_extra_a_server_cannot_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pubsub_delta.session.find_spec", lambda name: None)  # as without it
    result = CliRunner().invoke(
        cli, ["topics", "list", "--remote=sc://localhost:1"], obj=App(environment=VARIABLES)
    )
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    told = "FAILED_PRECONDITION: sc://localhost:1: the Spark Connect client needs grpc"
    assert told in result.stderr
    assert "pip install 'pubsub-delta[connect]'" in result.stderr


def test_a_server_that_is_not_there_is_told_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("zstandard", reason="needs pubsub-delta[connect]")
    monkeypatch.setattr(session, "ANSWER_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as taken:  # listens, and never answers
        address = f"sc://127.0.0.1:{taken.getsockname()[1]}"
        result = CliRunner().invoke(
            cli, ["topics", "list", "--remote", address], obj=App(environment=VARIABLES)
        )
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert f"no Spark Connect server answers at '{address}'" in result.stderr
