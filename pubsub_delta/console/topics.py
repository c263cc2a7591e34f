"""Topics: the list, one topic's page, and creating, editing, deleting and publishing."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response

from pubsub_delta.console import charts, shown
from pubsub_delta.console.editing import is_outdated, state_of, unless_crossed
from pubsub_delta.console.forms import (
    Form,
    Mistyped,
    Posted,
    duration,
    duration_values,
    pair_lines,
    pairs,
)
from pubsub_delta.console.listing import listed
from pubsub_delta.console.pages import address, go, of, page, part, run
from pubsub_delta.errors import PubSubError
from pubsub_delta.metrics import Metrics
from pubsub_delta.policy.messages import FIELD_OF_RULE, broken_rule
from pubsub_delta.resources import Message, Topic
from pubsub_delta.schemas import Encoding, SchemaSettings

router = APIRouter()

_FIELDS = {
    "topic": "id",
    "message_retention_duration": "retention",
    "retention_days": "retention",
    "retention_hours": "retention",
    "retention_minutes": "retention",
    "labels": "labels",
}
_MESSAGE_FIELDS = {"data": "data", "attributes": "attributes", "ordering_key": "ordering_key"}
_USUAL_RETENTION = timedelta(days=7)
_LONGEST_DAYS = 31


@router.get("/topics")
def show_all(request: Request, page_token: str = "") -> Response:
    """List the topics of the project."""
    console = of(request)
    found = console.store.list_topics(page_size=50, page_token=page_token or None)
    return page(request, "topics.html", topics=found)


@router.get("/topics/new")
def ask_new(request: Request) -> Response:
    """Show the form for a new topic."""
    return _form_page(request, Form(duration_values("retention", _USUAL_RETENTION)), None)


@router.post("/topics/new")
def create(request: Request, form: Posted) -> Response:
    """Create a topic."""
    try:
        fields = _fields(form)
    except Mistyped as error:
        return _form_page(request, form.told(error, _FIELDS), None)
    name, store = form.text("id"), of(request).store
    return run(
        request,
        f"Creating the topic {name}",
        lambda: store.create_topic(name, **fields),
        lambda _, topic: go("topics", of(request).short(topic.name), note="topic-created"),
        lambda asked, error: _form_page(asked, _told(form, error), None),
    )


@router.get("/topics/{id_}")
def show(request: Request, id_: str) -> Response:
    """Show a topic with its subscriptions and snapshots."""
    store = of(request).store
    topic = store.get_topic(id_)
    return page(
        request,
        "topic.html",
        id=id_,
        topic=topic,
        schema=_told_of_schema(topic.schema_settings),
        subscriptions=listed(store.list_topic_subscriptions, id_),
        snapshots=listed(store.list_topic_snapshots, id_),
    )


@router.get("/topics/{id_}/figures")
def show_figures(request: Request, id_: str) -> Response:
    """Show how much a topic stores: a part of its page."""
    console = of(request)

    def measure() -> tuple[Metrics, charts.Days]:
        figures, days = console.metrics("topics", id_), console.store.messages_by_day(id_)
        return figures, charts.by_day(days, console.at_present().date())

    return part(
        request,
        "Counting messages",
        measure,
        lambda asked, found: page(
            asked, "topic_figures.html", id=id_, figures=found[0], days=found[1]
        ),
    )


@router.get("/topics/{id_}/edit")
def ask_edit(request: Request, id_: str) -> Response:
    """Show the form of a topic."""
    topic = of(request).store.get_topic(id_)
    return _form_page(request, Form(_values(topic)), id_)


@router.post("/topics/{id_}/edit")
def edit(request: Request, id_: str, form: Posted) -> Response:
    """Change a topic, unless somebody else has meanwhile."""
    store = of(request).store
    topic = store.get_topic(id_)

    def outdated(asked: Request, stored: Topic) -> Response:
        return _form_page(asked, form, id_, 409, stored)

    if is_outdated(form, topic):
        return outdated(request, topic)
    try:
        fields = _changes(form, topic)
    except Mistyped as error:
        return _form_page(request, form.told(error, _FIELDS), id_)
    return run(
        request,
        f"Updating the topic {id_}",
        lambda: store.update_topic(id_, if_unchanged=topic, **fields),
        lambda _, __: go("topics", id_, note="topic-updated"),
        unless_crossed(
            form,
            partial(store.get_topic, id_),
            outdated,
            lambda asked, error: _form_page(asked, _told(form, error), id_),
        ),
    )


@router.get("/topics/{id_}/delete")
def ask_delete(request: Request, id_: str) -> Response:
    """Ask whether a topic is to be deleted."""
    store = of(request).store
    store.get_topic(id_)
    attached = len(listed(store.list_topic_subscriptions, id_))
    return page(
        request,
        "confirm.html",
        title=f"Delete the topic {id_}?",
        back=address("topics", id_),
        verb="Delete",
        consequences=[
            "Nobody can publish to it any more, and no snapshot of its subscriptions can be taken.",
            f"Its subscriptions ({attached}) keep their backlog under _deleted-topic_.",
        ],
    )


@router.post("/topics/{id_}/delete")
def delete(request: Request, id_: str) -> Response:
    """Delete a topic."""
    store = of(request).store
    return run(
        request,
        f"Deleting the topic {id_}",
        lambda: store.delete_topic(id_),
        lambda _, __: go("topics", note="topic-deleted"),
    )


@router.get("/topics/{id_}/publish")
def ask_publish(request: Request, id_: str) -> Response:
    """Show the form for a message."""
    of(request).store.get_topic(id_)
    return page(request, "publish.html", id=id_, form=Form())


@router.post("/topics/{id_}/publish")
def publish(request: Request, id_: str, form: Posted) -> Response:
    """Publish one message."""
    store = of(request).store
    try:
        message = _message(form)
    except Mistyped as error:
        form.told(error, _MESSAGE_FIELDS)
        return page(request, "publish.html", 400, id=id_, form=form)

    def failed(asked: Request, error: PubSubError) -> Response:
        form.told(error, _MESSAGE_FIELDS)
        return page(asked, "publish.html", 400, id=id_, form=form)

    return run(
        request,
        f"Publishing a message to {id_}",
        lambda: store.publish(id_, [message]),
        lambda _, __: go("topics", id_, note="published"),
        failed,
    )


def _message(form: Form) -> Message:
    data = form["data"].encode(errors="surrogatepass")
    if form.is_on("is_base64"):
        try:
            data = base64.b64decode("".join(form["data"].split()), validate=True)
        except (binascii.Error, ValueError):
            raise Mistyped(
                "data", "it is not Base64; letters, digits, + and / are accepted"
            ) from None
    message = Message(data, pairs(form, "attributes"), form["ordering_key"])
    rule = broken_rule(message)
    if rule is not None:
        raise Mistyped(FIELD_OF_RULE[rule], f"{rule}; nothing was published")
    return message


def _form_page(
    request: Request,
    form: Form,
    id_: str | None,
    status: int = 200,
    stored: Topic | None = None,
) -> Response:
    wrong = bool(form.errors or form.problem)
    return page(
        request,
        "topic_form.html",
        400 if wrong else status,
        id=id_,
        form=form,
        longest_days=_LONGEST_DAYS,
        stored=[] if stored is None else _told_of(stored),
    )


def _told(form: Form, error: PubSubError) -> Form:
    fields = dict(_FIELDS)
    if error.code == "ALREADY_EXISTS":
        fields[""] = "id"
    return form.told(error, fields)


def _fields(form: Form) -> dict[str, Any]:
    retention = duration(form, "retention") if form.is_on("retain") else None
    return {"message_retention_duration": retention, "labels": pairs(form, "labels")}


def _values(topic: Topic) -> dict[str, str]:
    kept = topic.message_retention_duration
    return {
        "shown": state_of(topic),
        "retain": "" if kept is None else "on",
        "labels": pair_lines(topic.labels),
        **duration_values("retention", _USUAL_RETENTION if kept is None else kept),
    }


def _changes(form: Form, topic: Topic) -> dict[str, Any]:
    """Return the fields that the reader has changed, and no other."""
    before: Mapping[str, Any] = _fields(Form(_values(topic)))
    return {name: value for name, value in _fields(form).items() if value != before[name]}


def _told_of(topic: Topic) -> list[tuple[str, str]]:
    kept = topic.message_retention_duration
    return [
        ("Message retention", "off" if kept is None else shown.span(kept)),
        ("Labels", pair_lines(topic.labels) or "none"),
        ("Schema", _told_of_schema(topic.schema_settings)),
    ]


def _told_of_schema(settings: SchemaSettings | None) -> str:
    if settings is None:
        return "none"
    first, last = settings.first_revision_id, settings.last_revision_id
    bounds = f", revisions {first or 'the first'} to {last or 'the newest'}"
    told = f"{settings.schema}, in {Encoding(settings.encoding).value}"
    return told + (bounds if first or last else "")
