"""The documentation site: nothing is missing in it, and nothing in it is made up.

Whether it can be built is seen by `make docs`; whether its examples run, by `make trial`.
"""

from __future__ import annotations

import ast
import html
import inspect
import re
import runpy
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

import pubsub_delta
from pubsub_delta import errors, session
from pubsub_delta.cli.main import cli

REPOSITORY = Path(__file__).resolve().parents[2]
DOCS = REPOSITORY / "docs"
SITE = (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8")
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
ERRORS = [page for page in PAGES if page.startswith("errors/") and page != "errors/index.md"]
TEXT = re.compile(r"^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHELL = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


def text_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def raised() -> set[str]:
    """Return the names of all errors and warnings that a user may see."""
    return {
        name
        for module in (errors, session)
        for name, each in inspect.getmembers(module, inspect.isclass)
        if issubclass(each, (errors.PubSubError, Warning))
    }


def page_of(error: str) -> str:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", error.replace("PubSub", "Pubsub")).lower()
    return f"errors/{words}.md"


def test_every_error_has_a_page_and_every_page_an_error() -> None:
    assert sorted(map(page_of, raised())) == ERRORS


@pytest.mark.parametrize("error", sorted(raised()))
def test_the_page_of_an_error_names_it_and_its_code(error: str) -> None:
    text = text_of(page_of(error))
    assert text.startswith(f"# {error}\n")
    code = getattr(getattr(errors, error, None), "code", None)
    assert code is None or error == "PubSubError" or f"\n`{code}`: " in text
    assert f"({Path(page_of(error)).name})" in text_of("errors/index.md")


def test_every_public_name_is_in_the_reference_once() -> None:
    told = [
        name
        for page in PAGES
        for name in re.findall(r"^::: pubsub_delta\.(\w+)$", text_of(page), re.MULTILINE)
    ]
    assert sorted(told) == sorted(pubsub_delta.__all__)


def test_the_navigation_names_every_page() -> None:
    named = re.findall(r"([\w/-]+\.md)$", SITE[SITE.index("\nnav:") :], re.MULTILINE)
    assert sorted(page for page in named if not page.startswith("source/")) == PAGES


def test_the_site_fetches_nothing() -> None:
    assert "font: false" in SITE
    assert not re.findall(r"https?://", SITE)
    for script in re.findall(r"assets/\S+\.js", SITE):
        assert (DOCS / script).is_file()


def templates() -> Iterator[str]:
    """Return the texts that the library may raise, with an ellipsis for what is filled in."""
    for path in (REPOSITORY / "pubsub_delta").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                yield "".join(
                    part.value
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                    else "…"
                    for part in node.values
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


@cache
def patterns() -> list[re.Pattern[str]]:
    """Return what a message of the library looks like; what is mostly filled in tells nothing."""
    telling = (each for each in templates() if len(each.replace("…", "")) >= 18)
    return [re.compile(".*".join(map(re.escape, each.split("…")))) for each in telling]


def messages(page: str) -> list[str]:
    return [line for block in TEXT.findall(text_of(page)) for line in block.splitlines()]


@pytest.mark.parametrize("page", [page for page in ERRORS if page != "errors/pubsub-error.md"])
def test_the_messages_of_an_error_page_are_those_of_the_library(page: str) -> None:
    shown = messages(page)
    assert shown
    for message in shown:
        assert any(pattern.fullmatch(message) for pattern in patterns()), message


def test_the_tree_of_errors_is_that_of_the_errors_module() -> None:
    drawn = [re.match(r"[├└]── \w+ +[A-Z_]+", line) for line in (errors.__doc__ or "").splitlines()]
    tree = [line[0] for line in drawn if line is not None]
    assert messages("errors/pubsub-error.md") == ["PubSubError", *tree]


def job_calls() -> Iterator[tuple[str, str]]:
    """Return each job that a page starts, and each option that it gives it."""
    for page in PAGES:
        for block in SHELL.findall(text_of(page)):
            for job, rest in re.findall(r"(jobs/\w+\.py)((?:\\\n|[^\n])*)", block):
                yield from ((job, option) for option in re.findall(r"(?<=\s)--[a-z-]+", rest))


def with_siblings(job: str) -> Iterator[str]:
    """Return the text of a job, and of the modules beside it that it imports."""
    text = (REPOSITORY / job).read_text(encoding="utf-8")
    yield text
    for module in re.findall(r"^(?:import|from) (\w+)", text, re.MULTILINE):
        sibling = REPOSITORY / "jobs" / f"{module}.py"
        if sibling.is_file():
            yield sibling.read_text(encoding="utf-8")


@pytest.mark.parametrize(("job", "option"), sorted(set(job_calls())))
def test_the_options_that_pages_give_to_jobs_exist(job: str, option: str) -> None:
    assert any(f'"{option}"' in text for text in with_siblings(job))


def test_the_page_of_the_command_line_lists_all_commands() -> None:
    rows = re.findall(
        r"^\| (?:`(\w+)` )?\| (`.+) \|$", text_of("guide/command-line.md"), re.MULTILINE
    )
    listed = {group: sorted(re.findall(r"`([\w-]+)`", commands)) for group, commands in rows}
    groups = {
        name: sorted(group.commands)
        for name, group in cli.commands.items()
        if isinstance(group, click.Group)
    }
    assert listed == {**groups, "": sorted(cli.commands.keys() - groups.keys())}


def test_the_recorded_session_is_of_its_script_and_fetches_nothing() -> None:
    """`python docs/record_session.py` records it anew."""
    drawn = (DOCS / "assets/demo-session.svg").read_text(encoding="utf-8")
    shown = html.unescape(re.sub(r"<[^>]+>", "", drawn)).replace("\N{NO-BREAK SPACE}", " ")
    for command in runpy.run_path(str(DOCS / "record_session.py"))["SESSION"]:
        assert command in shown
    assert "did you mean flights?" in shown
    assert "2 of 2 can be read" in shown
    assert re.findall(r"https?://[^\"]+", drawn) == ["http://www.w3.org/2000/svg"]
