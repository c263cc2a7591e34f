"""What the console calls fields and maintenance."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("fastapi")

from pubsub_delta.console.responses import LABELS
from pubsub_delta.operations.history import TopicCommit
from tests.unit.browsing import words
from tests.unit.builders import at
from tests.unit.test_console_columns import busy

PAGES = (
    *("/topics/_new", "/topics/flights/edit", "/topics/flights/publish"),
    *("/subscriptions/_new", "/subscriptions/late/edit", "/subscriptions/late/pull"),
    *("/subscriptions/late/replay", "/snapshots/_new", "/snapshots/held/edit"),
    *("/topics/flights/messages", "/subscriptions/late/messages"),
)
IN_GROUPS = {"expiration_days", "time"}
"""Fields whose label is that of a group of fields."""


@pytest.mark.parametrize("page", PAGES)
def test_the_list_of_problems_calls_a_field_as_the_form_does(page: str) -> None:
    """ "There is a problem", then each field by its label: who reads it looks for that label."""
    html = busy().get(page).text
    shown = dict(re.findall(r'<label for="([^"]*)"[^>]*>(.*?)</label>', html, re.DOTALL))
    for group in re.findall(r"<fieldset.*?</fieldset>", html, re.DOTALL):
        first = re.search(r' name="([a-z_]+)_(?:date|days)"', group)
        legend = re.search(r"<legend[^>]*>(.*?)</legend>", group, re.DOTALL)
        if first is not None and legend is not None:
            shown[first[1]] = legend[1]
    named = {name: words(text).lower() for name, text in shown.items() if name in LABELS}
    odd = [name for name, text in named.items() if LABELS[name].lower() not in text]
    assert set(odd) <= IN_GROUPS
    assert named, page


def test_a_problem_of_a_search_is_told_at_its_field() -> None:
    browser = busy()
    for field, label in (("earliest", "Published from"), ("latest", "Published until")):
        told = words(browser.client.get("/topics/flights/messages", params={field: "x"}).text)
        assert f"There is a problem {label}: 'x' is not a time" in told


@pytest.mark.parametrize(
    ("operation", "told"),
    [
        ("delete", "Messages were deleted by retention"),
        ("optimize", "Small files were joined"),
        ("vacuum end", "Files that nobody needs were removed"),
        ("vacuum start", None),  # it may have failed since
        ("publish", None),
        ("create table", None),
    ],
)
def test_maintenance_is_told_when_it_is_over(
    monkeypatch: pytest.MonkeyPatch, operation: str, told: str | None
) -> None:
    browser = busy()
    commit = TopicCommit(7, at(60), operation, None)
    monkeypatch.setattr(browser.store, "topic_history", lambda *_: [commit])
    page = words(browser.get("/maintenance").text)
    assert (told or "The topics' table histories have no maintenance") in page
