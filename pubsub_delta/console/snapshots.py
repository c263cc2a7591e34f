"""Snapshots: the list, one snapshot's page, and creating, editing and deleting."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response

from pubsub_delta.console import formatting
from pubsub_delta.console.context import Console, console_of
from pubsub_delta.console.forms import (
    Form,
    PostedForm,
    pairs,
    pairs_text,
    pairs_values,
    redisplay_with,
    utc_time,
    utc_time_values,
)
from pubsub_delta.console.lists import Column, list_all, list_page, store_columns
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
from pubsub_delta.console.responses import RequiresWrite, fragment, render, run_job
from pubsub_delta.errors import PubSubError
from pubsub_delta.names import snapshot_name
from pubsub_delta.operations.snapshot import who_can_seek
from pubsub_delta.policy.fields import check_labels
from pubsub_delta.resources import Snapshot

router = APIRouter()


@dataclass(frozen=True)
class Row:
    """A snapshot in the list."""

    id: str
    snapshot: Snapshot


COLUMNS: tuple[Column[Row], ...] = (
    Column("id", "Snapshot ID", lambda row: row.id),
    Column("topic", "Topic", lambda row: row.snapshot.topic.rpartition("/")[2], is_searched=True),
    Column("created", "Created", lambda row: row.snapshot.create_time),
    Column("expires", "Expires", lambda row: row.snapshot.expire_time),
    Column("labels", "Labels", lambda row: pairs_text(row.snapshot.labels), is_searched=True),
)

_ERROR_FIELDS = {
    "snapshot": "id",
    "subscription": "subscription",
    "labels": "labels",
    "expire_time": "expire",
}


def _new_page(request: Request, form: Form) -> Response:
    console = console_of(request)
    found = list_all(console.store.list_subscriptions)
    return render(
        request,
        "snapshot_new.html",
        400 if form.has_errors else 200,
        form=form,
        subscriptions=[console.short(each.name) for each in found],
    )


def _edit_page(
    request: Request, form: Form, id_: str, status: int = 200, stored: Snapshot | None = None
) -> Response:
    problems = []
    if stored is not None:
        problems = [
            ("Expires", formatting.timestamp(stored.expire_time)),
            ("Labels", pairs_text(stored.labels) or "none"),
        ]
    return render(
        request,
        "snapshot_edit.html",
        400 if form.has_errors else status,
        id=id_,
        form=form,
        stored=problems,
    )


@router.get("/snapshots")
def show_all(request: Request) -> Response:
    """List the snapshots of the project, by their expire time."""
    console = console_of(request)
    rows = [Row(console.short(each.name), each) for each in list_all(console.store.list_snapshots)]
    found = list_page(request, "/snapshots", rows, COLUMNS, "expires")
    response = render(request, "snapshots.html", found=found, now=console.at_present())
    return store_columns(request, response, "/snapshots")


@router.get("/snapshots/_new")
def new_form(request: Request, _: RequiresWrite, subscription: str = "") -> Response:
    """Show the form for a new snapshot."""
    return _new_page(request, Form({"subscription": subscription}))


@router.post("/snapshots/_new")
@redisplay_with(_new_page)
def create(request: Request, form: PostedForm) -> Response:
    """Take a snapshot of a subscription."""
    store, name, source = console_of(request).store, form.text("id"), form.text("subscription")
    labels = form.validate(lambda: check_labels(pairs(form, "labels")), _ERROR_FIELDS)
    form.validate(lambda: snapshot_name(name, console_of(request).project), _ERROR_FIELDS)
    if not source:
        form.errors["subscription"] = "none is chosen; one of the menu is accepted"
    if form.has_errors:
        return _new_page(request, form)

    def failed(asked: Request, error: PubSubError) -> Response:
        fields = dict(_ERROR_FIELDS)
        if str(error).startswith("snapshot "):
            fields[""] = "id"
        return _new_page(asked, form.add_error(error, fields))

    take = partial(store.create_snapshot, name, source, labels=labels)
    return create_resource(request, "snapshot", name, take, failed)


@router.get("/snapshots/{id_}")
def show(request: Request, id_: str) -> Response:
    """Show a snapshot."""
    console = console_of(request)
    snapshot = console.store.get_snapshot(id_)
    readers = who_can_seek(console.store.tables, snapshot, console.at_present())
    return render(
        request,
        "snapshot.html",
        id=id_,
        snapshot=snapshot,
        left=snapshot.expire_time - console.at_present(),
        readers=[console.short(each) for each in readers if console.link(each) is not None],
    )


@router.get("/snapshots/{id_}/metrics")
def show_metrics(request: Request, id_: str) -> Response:
    """Show the metrics of a snapshot: a part of its page."""
    return fragment(
        request,
        "Measuring what it holds",
        partial(console_of(request).metrics, "snapshots", id_),
        lambda asked, found: render(asked, "snapshot_metrics.html", id=id_, metrics=found),
    )


@router.get("/snapshots/{id_}/edit")
def edit_form(request: Request, id_: str, _: RequiresWrite) -> Response:
    """Show the form of a snapshot."""
    return _edit_page(request, Form(_values(console_of(request).store.get_snapshot(id_))), id_)


@router.post("/snapshots/{id_}/edit")
@redisplay_with(_edit_page)
def edit(request: Request, id_: str, form: PostedForm) -> Response:
    """Change the labels or the expire time of a snapshot."""
    store = console_of(request).store

    def changed_fields(stored: Snapshot) -> dict[str, Any]:
        return edited_fields(_fields(form), _fields(Form(_values(stored))), stored)

    return update_resource(
        request,
        form,
        "snapshot",
        id_,
        read=store.get_snapshot,
        changed_fields=changed_fields,
        update=lambda stored, fields: store.update_snapshot(id_, if_unchanged=stored, **fields),
        form_page=_edit_page,
        on_error=lambda asked, error: _edit_page(asked, form.add_error(error, _ERROR_FIELDS), id_),
    )


def _deletion(console: Console, id_: str) -> Deletion:
    snapshot = console.store.get_snapshot(id_)

    def held() -> str:
        number = console.metrics("snapshots", id_)["num_messages"]
        return f"It holds {formatting.count(number)} messages."

    discarded = (
        "Messages that only this snapshot holds can be discarded, and cannot be replayed any more."
    )
    return Deletion("snapshot", id_, snapshot, [f"{consequence(held)} {discarded}"])


@router.get("/snapshots/{id_}/delete")
def delete_form(request: Request, id_: str, _: RequiresWrite) -> Response:
    """Ask whether a snapshot is to be deleted."""
    console = console_of(request)
    return run_job(
        request,
        f"Measuring what {id_} holds",
        lambda: _deletion(console, id_),
        confirm_page,
    )


@router.post("/snapshots/{id_}/delete")
def delete(request: Request, id_: str, form: PostedForm) -> Response:
    """Delete a snapshot."""
    console = console_of(request)
    return delete_resource(
        request,
        form,
        "snapshot",
        id_,
        read=console.store.get_snapshot,
        deletion=lambda: _deletion(console, id_),
        delete=lambda name, stored: console.store.delete_snapshot(name, if_unchanged=stored),
    )


def _fields(form: Form) -> dict[str, Any]:
    return {
        "labels": form.validate(lambda: check_labels(pairs(form, "labels")), _ERROR_FIELDS),
        "expire_time": form.validate(lambda: utc_time(form, "expire"), _ERROR_FIELDS),
    }


def _values(snapshot: Snapshot) -> dict[str, str]:
    return {
        "fingerprint": fingerprint(snapshot),
        **pairs_values("labels", snapshot.labels),
        **utc_time_values("expire", snapshot.expire_time),
    }
