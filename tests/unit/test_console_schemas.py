"""The console and a topic with a schema: it is shown, and what does not fit is not published."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("fastavro")

from pubsub_delta import Encoding, InvalidArgument, Message, NotFound, SchemaSettings
from pubsub_delta.console import message_page
from pubsub_delta.console.message_data import schema_view
from tests.unit.browsing import Browser, words
from tests.unit.schema_cases import (
    AVRO,
    AVRO_WITH_AREA,
    NO_STATE,
    PROTO,
    STATES,
    UTAH,
    avro_bytes,
    compiled,
)


@pytest.fixture
def browser() -> Browser:
    found = Browser()
    found.store.create_schema("states", "AVRO", AVRO)
    found.store.update_topic("flights", schema_settings=SchemaSettings("states", "JSON"))
    return found


def test_a_topic_tells_its_schema_and_revisions(browser: Browser) -> None:
    assert "Schema states in JSON" in words(browser.get("/topics/flights/details").text)
    first = browser.store.get_schema("states").revision_id
    settings = SchemaSettings("states", "JSON", first_revision_id=first)
    browser.store.update_topic("flights", schema_settings=settings)
    told = f"Schema states in JSON, revisions {first} to the newest"
    assert told in words(browser.get("/topics/flights/details").text)
    browser.store.delete_schema("states")
    assert "Schema _deleted-schema_ in JSON" in words(browser.get("/topics/flights/details").text)


def test_what_does_not_fit_is_told_beside_the_form(browser: Browser) -> None:
    answer = browser.post("/topics/flights/publish", {"data": NO_STATE.decode()})
    assert answer.status_code == 400
    assert "it does not fit schema" in words(answer.text)
    assert browser.store.peek("first") == []
    browser.post("/topics/flights/publish", {"data": UTAH.decode()})
    assert [each.data for each in browser.store.peek("first")] == [UTAH]


def test_what_does_not_fit_is_told_at_its_field(browser: Browser) -> None:
    answer = browser.post("/topics/flights/publish", {"data": NO_STATE.decode()})
    assert "This could not be done" not in words(answer.text)
    (told,) = re.findall(r'<p class="error"[^>]*>([^<]*does not fit[^<]*)</p>', answer.text)
    assert told.startswith("it does not fit schema projects/local/schemas/states in JSON: ")
    assert told.endswith("; nothing was published")


def test_messages_of_a_topic_with_a_schema_are_published_again(browser: Browser) -> None:
    """Console: a message is published again as its publisher sent it: the topic adds the rest."""
    sent = Message(UTAH, {"n": "1"}, "k")
    (number,) = browser.store.publish("flights", [sent]).message_ids
    browser.store.commit_schema("states", AVRO)
    answer = browser.post(f"/topics/flights/publish-again?message_id={number}")
    assert "1 published again" in words(answer.text)
    first, again = browser.store.pull("first")
    assert (again.data, again.ordering_key) == (UTAH, "k")
    assert again.attributes.keys() == first.attributes.keys()
    revisions = [each.attributes["googclient_schemarevisionid"] for each in (first, again)]
    assert revisions[0] != revisions[1]


def test_a_message_that_is_refused_when_it_is_published_again_is_named_by_its_id(
    browser: Browser,
) -> None:
    numbers = [browser.store.publish("flights", [UTAH]).message_ids[0]]
    browser.store.update_topic("flights", schema_settings=None)
    numbers += browser.store.publish("flights", [NO_STATE]).message_ids
    settings = SchemaSettings("states", "JSON")
    browser.store.update_topic("flights", schema_settings=settings)
    ids = "&".join(f"message_id={each}" for each in numbers)
    answer = browser.post(f"/topics/flights/publish-again?{ids}")
    assert answer.status_code == 400
    assert f"message {numbers[1]}: data: it does not fit schema" in words(answer.text)
    assert "messages[" not in answer.text
    assert len(browser.store.peek("first")) == 2


def test_an_edit_of_a_topic_leaves_its_schema(browser: Browser) -> None:
    browser.post("/topics/flights/edit", {"labels": "team=maps"})
    found = browser.store.get_topic("flights")
    assert found.labels == {"team": "maps"}
    assert found.schema_settings == SchemaSettings(STATES, "JSON")


def published(browser: Browser, definition: str, datum: dict[str, object]) -> str:
    """Publish a datum in Avro's encoding to a topic of that schema; return the message's page."""
    browser.store.update_topic("flights", schema_settings=SchemaSettings("states", "BINARY"))
    data = avro_bytes(definition, datum)
    (number,) = browser.store.publish("flights", [data]).message_ids
    return f"/topics/flights/messages/{number}"


def test_a_message_in_binary_is_shown_by_the_revision_that_it_fits(browser: Browser) -> None:
    browser.store.commit_schema("states", AVRO_WITH_AREA)
    newest = browser.store.get_schema("states").revision_id
    at = published(browser, AVRO_WITH_AREA, {"name": "<b>Ohio</b>", "area": 116_096})
    text = browser.get(at).text
    assert f"By schema states@{newest} 2 fields name <b>Ohio</b> area 116096" in words(text)
    assert "<b>Ohio" not in text


def test_a_message_whose_schema_is_gone_tells_so_and_is_shown_without_it(browser: Browser) -> None:
    at = published(browser, AVRO, {"name": "Ohio"})
    browser.store.delete_schema("states")
    told = words(browser.get(at).text)
    assert f"It cannot be read: schema {STATES} does not exist" in told
    assert "Hexadecimal" in told


def test_a_message_in_json_is_shown_as_json_alone(browser: Browser) -> None:
    (number,) = browser.store.publish("flights", [UTAH]).message_ids
    told = words(browser.get(f"/topics/flights/messages/{number}").text)
    assert "By schema" not in told
    assert "JSON 1 field name Utah" in told


@pytest.mark.parametrize(
    ("attributes", "size"),
    [
        ({}, 1),
        ({"googclient_schemaencoding": "BINARY"}, 1),
        ({"googclient_schemaencoding": "JSON", "googclient_schemaname": STATES}, 1),
        ({"googclient_schemaencoding": "BINARY", "googclient_schemaname": STATES}, 2),
    ],
)
def test_what_is_no_whole_message_in_binary_is_not_read_by_a_schema(
    browser: Browser, attributes: dict[str, str], size: int
) -> None:
    """Another program may have written one attribute alone; of large data a page has the start."""
    found: Any = SimpleNamespace(attributes=attributes, data=b"a", data_size=size)
    console: Any = SimpleNamespace(store=browser.store, short=str)
    assert message_page._by_schema(console, found) == []


def test_schemas_are_listed_with_the_topics_that_ask_for_them(browser: Browser) -> None:
    browser.store.create_schema("counties", "PROTOCOL_BUFFER", PROTO)
    told = words(browser.get("/schemas").text)
    state, county = (browser.store.get_schema(each) for each in ("states", "counties"))
    assert f"counties Protocol Buffers {county.revision_id}" in told
    assert f"states Avro {state.revision_id}" in told
    found = words(browser.get("/schemas?q=stat").text)
    assert ("counties" in found, "1 in all" in found or "1 of 2" in found) == (False, True)


def test_a_schema_shows_its_revisions_and_topics(browser: Browser) -> None:
    first = browser.store.get_schema("states").revision_id
    browser.store.commit_schema("states", AVRO_WITH_AREA)
    second = browser.store.get_schema("states").revision_id
    told = words(browser.get("/schemas/states").text)
    assert "Topics flights Revisions" in told
    assert told.index(second) < told.index(first)
    assert '"name": "area"' in told
    assert browser.client.get("/schemas/absent").status_code == 404


def test_a_revision_shows_what_it_changed(browser: Browser) -> None:
    first = browser.store.get_schema("states").revision_id
    browser.store.commit_schema("states", AVRO_WITH_AREA)
    page = browser.get("/schemas/states").text
    changed, told = page.partition("Definition")[0], words(page)
    assert f"Changes since {first}" in told
    assert "+ &#34;name&#34;: &#34;area&#34;" in re.sub(r"\s+", " ", changed)
    assert told.count("Changes since") == 1, "the first revision has none before it"


def test_a_store_without_a_schema_tells_how_one_is_made() -> None:
    told = words(Browser().get("/schemas").text)
    assert "There is no schema" in told
    assert "pubsub-delta schemas create states --type=avro" in told


def test_the_fields_of_a_message_are_those_of_its_own_revision(browser: Browser) -> None:
    store = browser.store
    store.update_topic("flights", schema_settings=SchemaSettings("states", "BINARY"))
    store.publish("flights", [avro_bytes(AVRO, {"name": "Utah"})])
    store.commit_schema("states", AVRO_WITH_AREA)
    (found,) = store.peek("first")
    assert store.message_fields(found.data, found.attributes) == {"name": "Utah"}
    with pytest.raises(InvalidArgument, match="googclient_schemaname is absent"):
        store.message_fields(found.data, {})
    with pytest.raises(InvalidArgument, match="it does not fit revision"):
        store.message_fields(b"\xff", found.attributes)
    store.delete_schema("states")
    with pytest.raises(NotFound, match=r"schema .* does not exist"):
        store.message_fields(found.data, found.attributes)


def test_fields_in_protocol_buffers_are_read_too(browser: Browser) -> None:
    store, codec = browser.store, compiled(PROTO)
    store.create_schema("counties", "PROTOCOL_BUFFER", PROTO)
    store.update_topic("flights", schema_settings=SchemaSettings("counties", "BINARY"))
    data = b"\x0a\x04Utah"
    assert codec.values(data, Encoding.BINARY, codec) == {"name": "Utah"}
    (number,) = store.publish("flights", [data]).message_ids
    assert "1 field name Utah" in words(browser.get(f"/topics/flights/messages/{number}").text)


def test_fields_of_every_type_are_shown() -> None:
    """Maps are shown by their keys, lists by their places, and bytes as hexadecimal."""
    view = schema_view({"by": [("k", 1)], "list": [1, "x"], "raw": b"\x01\xff", "no": None}, "s")
    assert view.tree is not None
    found = {each.name: each for each in view.tree.parts}
    assert [(each.name, each.text) for each in found["by"].parts] == [("k", "1")]
    assert [each.text for each in found["list"].parts] == ["1", "x"]
    assert found["raw"].text == "01 ff"
