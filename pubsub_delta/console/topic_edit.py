"""Creating, editing and deleting a topic."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response

from pubsub_delta.console import shown
from pubsub_delta.console.deleting import Deletion, confirm_page, is_confirmed
from pubsub_delta.console.editing import is_outdated, state_of, unless_crossed
from pubsub_delta.console.forms import (
    Form,
    Posted,
    duration,
    duration_values,
    pair_lines,
    pairs,
    shown_again,
)
from pubsub_delta.console.listing import listed
from pubsub_delta.console.pages import Changing, Console, done, of, page, run
from pubsub_delta.errors import PubSubError
from pubsub_delta.names import topic_name
from pubsub_delta.policy.fields import check_labels, check_topic_retention
from pubsub_delta.resources import Topic

router = APIRouter()

AT_FIELD = {
    "topic": "id",
    "message_retention_duration": "retention",
    "retention_days": "retention",
    "retention_hours": "retention",
    "retention_minutes": "retention",
    "labels": "labels",
}
_USUAL_RETENTION = timedelta(days=7)
_LONGEST_DAYS = 31


def _form_page(
    request: Request,
    form: Form,
    id_: str | None = None,
    status: int = 200,
    stored: Topic | None = None,
) -> Response:
    return page(
        request,
        "topic_form.html",
        400 if form.is_wrong else status,
        id=id_,
        form=form,
        longest_days=_LONGEST_DAYS,
        stored=[] if stored is None else _told_of(stored),
    )


@router.get("/topics/new")
def ask_new(request: Request, _: Changing) -> Response:
    """Show the form for a new topic."""
    return _form_page(request, Form(duration_values("retention", _USUAL_RETENTION)))


@router.post("/topics/new")
@shown_again(_form_page)
def create(request: Request, form: Posted) -> Response:
    """Create a topic."""
    console, name = of(request), form.text("id")
    form.attempt(lambda: topic_name(name, console.project), AT_FIELD)
    fields = _checked(form)
    if form.is_wrong:
        return _form_page(request, form)
    return run(
        request,
        f"Creating the topic {name}",
        lambda: console.store.create_topic(name, **fields),
        lambda asked, topic: done(
            asked, "The topic was created.", "topics", console.short(topic.name)
        ),
        lambda asked, error: _form_page(asked, _told(form, error)),
    )


@router.get("/topics/{id_}/edit")
def ask_edit(request: Request, id_: str, _: Changing) -> Response:
    """Show the form of a topic."""
    topic = of(request).store.get_topic(id_)
    return _form_page(request, Form(_values(topic)), id_)


@router.post("/topics/{id_}/edit")
@shown_again(_form_page)
def edit(request: Request, id_: str, form: Posted) -> Response:
    """Change a topic, unless somebody else has meanwhile."""
    store = of(request).store
    topic = store.get_topic(id_)

    def outdated(asked: Request, stored: Topic) -> Response:
        return _form_page(asked, form, id_, 409, stored)

    if is_outdated(form, topic):
        return outdated(request, topic)
    before = _read(Form(_values(topic)))
    fields = {name: value for name, value in _checked(form).items() if value != before[name]}
    if form.is_wrong:
        return _form_page(request, form, id_)
    return run(
        request,
        f"Updating the topic {id_}",
        lambda: store.update_topic(id_, if_unchanged=topic, **fields),
        lambda asked, _: done(asked, "The topic was updated.", "topics", id_),
        unless_crossed(
            form,
            partial(store.get_topic, id_),
            outdated,
            lambda asked, error: _form_page(asked, _told(form, error), id_),
        ),
    )


def _deletion(console: Console, id_: str) -> Deletion:
    store = console.store
    topic = store.get_topic(id_)
    number = sum(each.message_count for each in store.messages_by_day(id_))
    attached = listed(store.list_topic_subscriptions, id_)
    senders = [
        console.short(each.name)
        for each in listed(store.list_subscriptions)
        if each.dead_letter_policy and each.dead_letter_policy.dead_letter_topic == topic.name
    ]
    goes = f"The {shown.count(number)} messages that it stores go"
    if attached:
        goes += " once its subscriptions, which keep their backlog, are done with them"
    return Deletion(
        "topics",
        "topic",
        id_,
        [
            "Nobody can publish to it any more, and no snapshot of its subscriptions can be taken.",
            f"{goes}.",
            f"Its subscriptions ({len(attached)}) stay under _deleted-topic_: "
            f"{', '.join(console.short(each) for each in attached[:5]) or 'there is none'}"
            f"{', and others' * (len(attached) > 5)}.",
        ],
        senders,
        "These subscriptions forward their dead letters to it. It can be deleted once they have "
        "another dead-letter topic, or none:",
    )


@router.get("/topics/{id_}/delete")
def ask_delete(request: Request, id_: str, _: Changing) -> Response:
    """Ask whether a topic is to be deleted."""
    return confirm_page(request, _deletion(of(request), id_))


@router.post("/topics/{id_}/delete")
def delete(request: Request, id_: str, form: Posted) -> Response:
    """Delete a topic."""
    console = of(request)
    if not is_confirmed(form, id_):
        return confirm_page(request, _deletion(console, id_), form)
    return run(
        request,
        f"Deleting the topic {id_}",
        lambda: console.store.delete_topic(id_),
        lambda asked, _: done(asked, f"The topic {id_} was deleted.", "topics"),
    )


def _told(form: Form, error: PubSubError) -> Form:
    fields = dict(AT_FIELD)
    if error.code == "ALREADY_EXISTS":
        fields[""] = "id"
    return form.told(error, fields)


def _read(form: Form) -> dict[str, Any]:
    def kept() -> timedelta | None:
        return check_topic_retention(duration(form, "retention") if form.is_on("retain") else None)

    return {
        "message_retention_duration": form.attempt(kept, AT_FIELD),
        "labels": form.attempt(lambda: pairs(form, "labels"), AT_FIELD),
    }


def _checked(form: Form) -> dict[str, Any]:
    """Return the fields of a topic as a form says them, which tells all that is wrong."""
    fields = _read(form)
    if fields["labels"] is not None:
        form.attempt(lambda: check_labels(fields["labels"]), AT_FIELD)
    return fields


def _values(topic: Topic) -> dict[str, str]:
    kept = topic.message_retention_duration
    values: Mapping[str, str] = {
        "shown": state_of(topic),
        "retain": "" if kept is None else "on",
        "labels": pair_lines(topic.labels),
        **duration_values("retention", _USUAL_RETENTION if kept is None else kept),
    }
    return dict(values)


def _told_of(topic: Topic) -> list[tuple[str, str]]:
    kept = topic.message_retention_duration
    return [
        ("Message retention", "off" if kept is None else shown.span(kept)),
        ("Labels", pair_lines(topic.labels) or "none"),
        ("Schema", shown.schema(topic.schema_settings)),
    ]
