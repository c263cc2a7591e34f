"""Creating, editing and deleting a topic."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from fastapi import APIRouter, Request, Response

from pubsub_delta.console import formatting
from pubsub_delta.console.context import Console, console_of
from pubsub_delta.console.forms import (
    Form,
    PostedForm,
    duration,
    duration_values,
    pairs,
    pairs_text,
    pairs_values,
    redisplay_with,
)
from pubsub_delta.console.lists import list_all
from pubsub_delta.console.resource_changes import (
    Deletion,
    confirm_page,
    consequence,
    create_resource,
    delete_resource,
    edited_fields,
    fingerprint,
    update_resource,
)
from pubsub_delta.console.responses import RequiresWrite, render
from pubsub_delta.errors import PubSubError
from pubsub_delta.names import topic_name
from pubsub_delta.policy.fields import (
    MAX_TOPIC_RETENTION,
    check_labels,
    check_topic_retention,
)
from pubsub_delta.resources import Topic

router = APIRouter()

ERROR_FIELDS = {
    "topic": "id",
    "message_retention_duration": "retention",
    "retention_days": "retention",
    "retention_hours": "retention",
    "retention_minutes": "retention",
    "labels": "labels",
}
_DEFAULT_RETENTION = timedelta(days=7)


def _form_page(
    request: Request,
    form: Form,
    id_: str | None = None,
    status: int = 200,
    stored: Topic | None = None,
) -> Response:
    return render(
        request,
        "topic_form.html",
        400 if form.has_errors else status,
        id=id_,
        form=form,
        longest_days=MAX_TOPIC_RETENTION.days,
        stored=[] if stored is None else _field_rows(stored),
    )


@router.get("/topics/_new")
def new_form(request: Request, _: RequiresWrite) -> Response:
    """Show the form for a new topic."""
    return _form_page(request, Form(duration_values("retention", _DEFAULT_RETENTION)))


@router.post("/topics/_new")
@redisplay_with(_form_page)
def create(request: Request, form: PostedForm) -> Response:
    """Create a topic."""
    console, name = console_of(request), form.text("id")
    form.validate(lambda: topic_name(name, console.project), ERROR_FIELDS)
    fields = _checked(form)
    if form.has_errors:
        return _form_page(request, form)
    return create_resource(
        request,
        "topic",
        name,
        lambda: console.store.create_topic(name, **fields),
        lambda asked, error: _form_page(asked, _with_error(form, error)),
    )


@router.get("/topics/{id_}/edit")
def edit_form(request: Request, id_: str, _: RequiresWrite) -> Response:
    """Show the form of a topic."""
    topic = console_of(request).store.get_topic(id_)
    return _form_page(request, Form(_values(topic)), id_)


@router.post("/topics/{id_}/edit")
@redisplay_with(_form_page)
def edit(request: Request, id_: str, form: PostedForm) -> Response:
    """Update a topic, unless another writer has changed it meanwhile."""
    store = console_of(request).store

    def changed_fields(stored: Topic) -> dict[str, Any]:
        return edited_fields(_checked(form), _read(Form(_values(stored))), stored)

    return update_resource(
        request,
        form,
        "topic",
        id_,
        read=store.get_topic,
        changed_fields=changed_fields,
        update=lambda stored, fields: store.update_topic(id_, if_unchanged=stored, **fields),
        form_page=_form_page,
        on_error=lambda asked, error: _form_page(asked, _with_error(form, error), id_),
    )


def _deletion(console: Console, id_: str) -> Deletion:
    store = console.store
    topic = store.get_topic(id_)
    attached = list_all(store.list_topic_subscriptions, id_)
    senders = [
        console.short(each.name)
        for each in list_all(store.list_subscriptions)
        if each.dead_letter_policy and each.dead_letter_policy.dead_letter_topic == topic.name
    ]

    def goes() -> str:
        number = sum(each.message_count for each in store.messages_by_day(id_))
        then = " once its subscriptions, which keep their backlog, are done with them" * bool(
            attached
        )
        return f"The {formatting.count(number)} messages that it stores go{then}."

    return Deletion(
        "topic",
        id_,
        topic,
        [
            "Nobody can publish to it any more, and no snapshot of its subscriptions can be taken.",
            consequence(goes),
            f"Its subscriptions ({len(attached)}) stay under _deleted-topic_: "
            f"{', '.join(console.short(each) for each in attached[:5]) or 'there is none'}"
            f"{', and others' * (len(attached) > 5)}.",
        ],
        senders,
        "These subscriptions forward their dead letters to it. It can be deleted once they have "
        "another dead-letter topic, or none:",
    )


@router.get("/topics/{id_}/delete")
def delete_form(request: Request, id_: str, _: RequiresWrite) -> Response:
    """Ask whether a topic is to be deleted."""
    return confirm_page(request, _deletion(console_of(request), id_))


@router.post("/topics/{id_}/delete")
def delete(request: Request, id_: str, form: PostedForm) -> Response:
    """Delete a topic."""
    console = console_of(request)
    return delete_resource(
        request,
        form,
        "topic",
        id_,
        read=console.store.get_topic,
        deletion=lambda: _deletion(console, id_),
        delete=lambda name, stored: console.store.delete_topic(name, if_unchanged=stored),
    )


def _with_error(form: Form, error: PubSubError) -> Form:
    fields = dict(ERROR_FIELDS)
    if error.code == "ALREADY_EXISTS":
        fields[""] = "id"
    return form.add_error(error, fields)


def _read(form: Form) -> dict[str, Any]:
    def kept() -> timedelta | None:
        return check_topic_retention(duration(form, "retention") if form.is_on("retain") else None)

    return {
        "message_retention_duration": form.validate(kept, ERROR_FIELDS),
        "labels": form.validate(lambda: pairs(form, "labels"), ERROR_FIELDS),
    }


def _checked(form: Form) -> dict[str, Any]:
    """Return the fields of a topic from a form, and add the errors of all of them to it."""
    fields = _read(form)
    if fields["labels"] is not None:
        form.validate(lambda: check_labels(fields["labels"]), ERROR_FIELDS)
    return fields


def _values(topic: Topic) -> dict[str, str]:
    kept = topic.message_retention_duration
    return {
        "fingerprint": fingerprint(topic),
        "retain": "" if kept is None else "on",
        **pairs_values("labels", topic.labels),
        **duration_values("retention", _DEFAULT_RETENTION if kept is None else kept),
    }


def _field_rows(topic: Topic) -> list[tuple[str, str]]:
    kept = topic.message_retention_duration
    return [
        ("Message retention", "off" if kept is None else formatting.duration(kept)),
        ("Labels", pairs_text(topic.labels) or "none"),
        ("Schema", formatting.schema(topic.schema_settings)),
    ]
