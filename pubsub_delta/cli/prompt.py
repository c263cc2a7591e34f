"""The prompt of the shell on a terminal, with history and completion."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
from click.shell_completion import CompletionItem, ShellComplete, split_arg_string
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.output import create_output

from pubsub_delta.cli.application import App
from pubsub_delta.cli.arguments import Switch, expand_switches
from pubsub_delta.cli.shell_lines import LEAVING, Read, Shell, without_prefix

HISTORY = "pubsub_delta/history"
"""The history file below XDG_STATE_HOME or ``~/.local/state``."""


class LineCompleter(Completer):
    """Completes commands, options, their values, and names of resources."""

    def __init__(self, shell: Shell, root: click.Command) -> None:
        self._shell = shell
        self._root = root
        self._switches = set(_switches(root))

    def get_completions(self, document: Document, _: CompleteEvent) -> Iterator[Completion]:
        """Yield the completions of the word before the cursor."""
        words, word = _last_word(document.text_before_cursor)
        if not document.text_before_cursor.endswith(word):  # a quoted word, which no name needs
            return
        for item in self.items(without_prefix(words), word):
            begun = word
            if word.startswith("-") and not item.value.startswith("-"):
                begun = word.partition("=")[2]  # the value of --option=…
            yield Completion(item.value, start_position=-len(begun), display_meta=item.help or "")

    def items(self, words: list[str], word: str) -> list[CompletionItem[str]]:
        """Return click's completions of a word after other words; options if there are none."""
        before = list(expand_switches(words, self._switches))
        found = self._completions(before, word)
        if not words:
            inside = [name for name in ("help", *LEAVING) if name.startswith(word)]
            found += [CompletionItem(name) for name in inside]
        return found if found or word else self._completions(before, "--")

    def _completions(self, words: list[str], word: str) -> list[CompletionItem[str]]:
        app = self._shell.app_of_line()
        asked = ShellComplete(self._root, {"obj": app}, "pubsub-delta", "")
        try:
            return asked.get_completions(list(words), word)
        except Exception:  # the shell reports a wrong line when it is run
            return []


def prompting(shell: Shell, root: click.Command, app: App) -> Read:
    """Return a function that reads lines from the terminal."""
    session: PromptSession[str] = PromptSession(
        history=history_in(app.environment),
        completer=LineCompleter(shell, root),  # not in a thread, so that Enter waits for completion
        complete_while_typing=False,
        enable_history_search=True,
        output=create_output(always_prefer_tty=True),
    )
    return session.prompt


def history_in(environment: Mapping[str, str]) -> History:
    """Return the history file, readable by its owner only; in memory without a home."""
    state, home = environment.get("XDG_STATE_HOME"), environment.get("HOME")
    if not state and not home:
        return InMemoryHistory()
    path = (Path(state) if state else Path(home or "", ".local/state")) / HISTORY
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600))
    except OSError:
        return InMemoryHistory()
    return FileHistory(path)


def _switches(command: click.Command) -> Iterator[str]:
    yield from (n for each in command.params if isinstance(each, Switch) for n in each.opts)
    if isinstance(command, click.Group):
        for below in command.commands.values():
            yield from _switches(below)


def _last_word(text: str) -> tuple[list[str], str]:
    """Split a line into complete words and the last, unfinished one.

    >>> _last_word("topics de"), _last_word("topics "), _last_word("publish --message='a ")
    ((['topics'], 'de'), (['topics'], ''), (['publish'], '--message=a '))
    """
    *words, last = split_arg_string(text + "x")
    return words, last[:-1]
