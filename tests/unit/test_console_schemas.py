"""The console and a topic with a schema: it is shown, and what does not fit is not published."""

from __future__ import annotations

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("fastavro")

from pubsub_delta import SchemaSettings
from tests.unit.browsing import Browser, words
from tests.unit.schema_cases import AVRO, NO_STATE, STATES, UTAH


@pytest.fixture
def browser() -> Browser:
    found = Browser()
    found.store.create_schema("states", "AVRO", AVRO)
    found.store.update_topic("flights", schema_settings=SchemaSettings("states", "JSON"))
    return found


def test_a_topic_tells_its_schema_and_revisions(browser: Browser) -> None:
    assert f"Schema {STATES}, in JSON" in words(browser.get("/topics/flights/details").text)
    first = browser.store.get_schema("states").revision_id
    settings = SchemaSettings("states", "JSON", first_revision_id=first)
    browser.store.update_topic("flights", schema_settings=settings)
    told = f"Schema {STATES}, in JSON, revisions {first} to the newest"
    assert told in words(browser.get("/topics/flights/details").text)
    browser.store.delete_schema("states")
    assert "Schema _deleted-schema_, in JSON" in words(browser.get("/topics/flights/details").text)


def test_what_does_not_fit_is_told_beside_the_form(browser: Browser) -> None:
    answer = browser.post("/topics/flights/publish", {"data": NO_STATE.decode()})
    assert answer.status_code == 400
    assert "it does not fit schema" in words(answer.text)
    assert browser.store.peek("first") == []
    browser.post("/topics/flights/publish", {"data": UTAH.decode()})
    assert [each.data for each in browser.store.peek("first")] == [UTAH]


def test_an_edit_of_a_topic_leaves_its_schema(browser: Browser) -> None:
    browser.post("/topics/flights/edit", {"labels": "team=maps"})
    found = browser.store.get_topic("flights")
    assert found.labels == {"team": "maps"}
    assert found.schema_settings == SchemaSettings(STATES, "JSON")
