"""What every command tells of itself, and what shells complete, over the whole command tree."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from benchmarks import command_line
from pubsub_delta.cli.application import App
from pubsub_delta.cli.arguments import ResourceType
from pubsub_delta.cli.commands import Command, Group
from pubsub_delta.cli.completion import VARIABLE
from pubsub_delta.cli.main import cli

Path = tuple[str, ...]


def tree(command: click.Command = cli, path: Path = ()) -> Iterator[tuple[Path, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from tree(below, (*path, name))


COMMANDS = dict(tree())
EXAMPLES = [
    (path, example)
    for path, command in COMMANDS.items()
    if isinstance(command, (Command, Group))
    for example in command.examples
]

each_command = pytest.mark.parametrize("path", COMMANDS, ids=" ".join)


def test_the_tree_is_whole() -> None:
    # what gcloud pubsub cannot do, as far as it is here
    ours = {
        ("topics", "history"),
        ("subscriptions", "backlog"),
        ("subscriptions", "metrics"),
        ("subscriptions", "watch"),
        ("maintain",),
        ("shell",),
        ("completion",),
    }
    assert ours <= set(COMMANDS)
    assert all(isinstance(command, (Command, Group)) for command in COMMANDS.values())


@each_command
def test_a_listing_shows_the_whole_sentence_of_a_command(path: Path) -> None:
    below = COMMANDS[path]
    sentences = [
        (name, command.get_short_help_str())
        for name, command in (below.commands.items() if isinstance(below, click.Group) else ())
    ]
    assert [name for name, sentence in sentences if sentence.endswith("...")] == []


@each_command
def test_help_has_an_example_of_the_command_itself(path: Path) -> None:
    result = CliRunner().invoke(cli, [*path, "--help"])
    assert result.exit_code == 0
    _, heading, examples = result.stdout.partition("\nExamples:\n")
    assert heading
    shown = examples.splitlines()
    assert shown
    assert all(f"{line} ".startswith(f"  {' '.join(['pubsub-delta', *path])} ") for line in shown)


def test_options_that_commands_share_are_shown_in_the_order_of_their_group() -> None:
    shown = CliRunner().invoke(cli, ["topics", "list", "--help"]).stdout
    names = re.findall(r"^  (--[\w-]+)", shown.partition("\nGlobal options:\n")[0], re.MULTILINE)
    assert names == ["--filter", "--sort-by", "--page-size", "--limit", "--uri", "--help"]


@pytest.mark.parametrize(("path", "example"), EXAMPLES, ids=str)
def test_examples_are_right_command_lines(path: Path, example: str) -> None:
    """Each is read as it would be typed, redirection left out, and not run."""
    words = shlex.split(example.partition(" > ")[0].partition(" < ")[0])
    ctx = cli.make_context("pubsub-delta", words, obj=App(environment={}))
    command: click.Command = cli
    while isinstance(command, click.Group):
        name, below, words = command.resolve_command(ctx, [*ctx._protected_args, *ctx.args])
        assert below is not None
        assert name is not None
        ctx, command = below.make_context(name, words, parent=ctx), below


@each_command
def test_every_parameter_has_help(path: Path) -> None:
    options = [each for each in COMMANDS[path].params if isinstance(each, click.Option)]
    assert [each.name for each in options if not each.help] == []


OF_RESOURCES = {
    "topic": "topics",
    "dead_letter_topic": "topics",
    "subscription": "subscriptions",
    "snapshot": "snapshots",
    "schema": "schemas",
    "schema_name": "schemas",
}


@each_command
def test_the_name_of_a_resource_that_there_is_is_completed(path: Path) -> None:
    """ "They also complete the names of topics, subscriptions and snapshots"; not of a new one."""
    group, verb = (*path, "", "")[:2]
    names = {**OF_RESOURCES, "name": group}
    new = group.removesuffix("s") if verb == "create" else None
    of = {each.name: each.type for each in COMMANDS[path].params if each.name in names}
    found = {
        name: type_.collection if isinstance(type_, ResourceType) else None
        for name, type_ in of.items()
    }
    assert found == {name: None if name == new else names[name or ""] for name in of}


@each_command
def test_what_is_said_to_be_repeatable_can_be_given_twice(path: Path) -> None:
    options = [each for each in COMMANDS[path].params if isinstance(each, click.Option)]
    said = {each.name for each in options if "Repeatable" in (each.help or "")}
    assert said <= {each.name for each in options if each.multiple}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_the_script_of_a_shell(shell: str) -> None:
    result = CliRunner().invoke(cli, ["completion", shell])
    assert result.exit_code == 0
    assert f"{VARIABLE}={shell}_complete" in result.stdout
    assert "pubsub-delta" in result.stdout
    wrong = CliRunner().invoke(cli, ["completion", "tcsh"])
    assert (wrong.exit_code, wrong.stderr.count("\n")) == (2, 1)


def test_the_script_of_bash_is_answered() -> None:
    words = {"COMP_WORDS": "pubsub-delta subscriptions wa", "COMP_CWORD": "2"}
    result = CliRunner().invoke(
        cli, prog_name="pubsub-delta", env={VARIABLE: "bash_complete", **words}
    )
    assert (result.exit_code, result.stdout) == (0, "plain,watch\n")


@pytest.mark.parametrize(
    ("words", "word", "found"),
    [
        ([], "sn", ["snapshots"]),
        (["subscriptions", "pull", "delays"], "--auto", ["--auto-ack"]),
        (["topics", "list"], "--format=t", ["text", "table"]),
        (["topics", "list", "--log-level"], "w", ["warning"]),
        (["topics", "describe"], "f", []),  # no store is named
    ],
)
def test_a_shell_completes_what_the_program_knows(
    words: list[str], word: str, found: list[str]
) -> None:
    items = ShellComplete(cli, {}, "pubsub-delta", VARIABLE).get_completions(words, word)
    assert [item.value for item in items] == found


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["topics", "delete"], ["flights", "failed"]),
        (["topics", "delete", "flights"], ["failed"]),
        (["topics", "delete", "flights", "failed"], []),
    ],
)
def test_names_that_were_given_already_are_not_proposed(
    monkeypatch: pytest.MonkeyPatch, words: list[str], found: list[str]
) -> None:
    names = ["projects/p/topics/flights", "projects/p/topics/failed"]
    monkeypatch.setattr(App, "completion_names", lambda *_: names)
    items = ShellComplete(cli, {}, "pubsub-delta", VARIABLE).get_completions(words, "f")
    assert [item.value for item in items] == found


def test_every_command_that_ends_by_itself_is_timed() -> None:
    verbs = {" ".join(path) for path, each in COMMANDS.items() if not isinstance(each, click.Group)}
    assert verbs == {*command_line.COMMANDS, *command_line.RUN_ON}
    for name, line in command_line.COMMANDS.items():
        assert line.startswith(name)
