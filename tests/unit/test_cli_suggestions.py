"""What is suggested instead of a command that does not exist."""

from __future__ import annotations

import click
import pytest

pytest.importorskip("click")

from pubsub_delta.cli.suggestions import suggest_command, suggest_resource


def command(name: str) -> click.Command:
    return click.Command(name)


TOPICS = click.Group("topics", {each: command(each) for each in ("create", "delete", "publish")})
SUBSCRIPTIONS = click.Group("subscriptions", {each: command(each) for each in ("pull", "create")})
ROOT = click.Group(
    "root", {"topics": TOPICS, "subscriptions": SUBSCRIPTIONS, "doctor": command("doctor")}
)


@pytest.mark.parametrize(
    ("group", "name", "suggested"),
    [
        (ROOT, "topic", "did you mean topics?"),
        (ROOT, "docter", "did you mean doctor?"),
        (ROOT, "publish", "did you mean topics publish?"),
        (ROOT, "create", "did you mean topics create or subscriptions create?"),
        (ROOT, "xyz", "there are doctor, subscriptions, topics"),
        (TOPICS, "creat", "did you mean create?"),
        (TOPICS, "pull", "did you mean subscriptions pull?"),
        (TOPICS, "doctor", "did you mean doctor?"),
        (TOPICS, "xyz", "there are create, delete, publish"),
        (SUBSCRIPTIONS, "delete", "did you mean topics delete?"),
    ],
)
def test_the_nearest_command_is_suggested_then_one_of_another_group(
    group: click.Group, name: str, suggested: str
) -> None:
    assert suggest_command(ROOT, group, name) == suggested


STORED = {
    "topics": ["projects/p/topics/flights", "projects/p/topics/delays"],
    "subscriptions": ["projects/p/subscriptions/delays", "projects/p/subscriptions/mine"],
    "snapshots": [],
}


@pytest.mark.parametrize(
    ("name", "project", "suggested"),
    [
        ("topics/flight", "p", "; did you mean flights?"),
        ("topics/flight", "other", "; did you mean projects/p/topics/flights?"),
        ("topics/mine", "p", "; there is a subscription of that name"),
        ("subscriptions/flights", "p", "; there is a topic of that name"),
        ("topics/xyz", "p", "; `pubsub-delta topics list` shows those that exist"),
        ("snapshots/mine", "p", "; there is a subscription of that name"),
        (
            "snapshots/xyz",
            "p",
            "; `pubsub-delta snapshots create xyz --subscription=SUBSCRIPTION` creates it",
        ),
        (
            "snapshots/xyz",
            "other",
            "; `pubsub-delta snapshots create projects/p/snapshots/xyz "
            "--subscription=SUBSCRIPTION` creates it",
        ),
    ],
)
def test_a_missing_resource_is_told_with_the_nearest_or_how_to_make_it(
    name: str, project: str, suggested: str
) -> None:
    asked: list[tuple[str, str]] = []

    def stored(collection: str, of: str) -> list[str]:
        asked.append((collection, of))
        return STORED[collection]

    beginning = f"{name.partition('/')[0][:-1]}: projects/p/{name} does not exist"
    found = suggest_resource(f"{beginning}; create it first", project, stored)
    assert found == beginning + suggested
    assert {of for _, of in asked} == {"p"}
    assert suggest_resource("the disk is full", project, stored) == "the disk is full"
