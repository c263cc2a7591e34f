"""Snapshots: the list, one snapshot's page, and creating, editing and deleting."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response

from pubsub_delta.console import shown
from pubsub_delta.console.deleting import Deletion, confirm_page, is_confirmed
from pubsub_delta.console.editing import is_outdated, state_of, unless_crossed
from pubsub_delta.console.forms import (
    Form,
    Posted,
    moment,
    moment_values,
    pair_lines,
    pairs,
    shown_again,
)
from pubsub_delta.console.listing import listed
from pubsub_delta.console.lists import Column, chosen, remember
from pubsub_delta.console.pages import Changing, Console, done, of, page, part, run
from pubsub_delta.errors import PubSubError
from pubsub_delta.names import snapshot_name
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
    Column("topic", "Topic", lambda row: row.snapshot.topic),
    Column("created", "Created", lambda row: row.snapshot.create_time),
    Column("expires", "Expires", lambda row: row.snapshot.expire_time),
    Column("labels", "Labels", lambda row: str(row.snapshot.labels)),
)

_AT_FIELD = {
    "snapshot": "id",
    "subscription": "subscription",
    "labels": "labels",
    "expire_time": "expire",
    "expire": "expire",
}


def _new_page(request: Request, form: Form) -> Response:
    console = of(request)
    found = listed(console.store.list_subscriptions)
    return page(
        request,
        "snapshot_new.html",
        400 if form.is_wrong else 200,
        form=form,
        subscriptions=[console.short(each.name) for each in found],
    )


def _edit_page(
    request: Request, form: Form, id_: str, status: int = 200, stored: Snapshot | None = None
) -> Response:
    told = []
    if stored is not None:
        told = [
            ("Expires", shown.instant(stored.expire_time)),
            ("Labels", pair_lines(stored.labels) or "none"),
        ]
    return page(
        request,
        "snapshot_edit.html",
        400 if form.is_wrong else status,
        id=id_,
        form=form,
        stored=told,
    )


@router.get("/snapshots")
def show_all(request: Request) -> Response:
    """List the snapshots of the project, the one that expires first before the others."""
    console = of(request)
    rows = [Row(console.short(each.name), each) for each in listed(console.store.list_snapshots)]
    found = chosen(request, "/snapshots", rows, COLUMNS, "expires")
    answer = page(request, "snapshots.html", found=found, now=console.at_present())
    return remember(request, answer, "/snapshots")


@router.get("/snapshots/new")
def ask_new(request: Request, _: Changing, subscription: str = "") -> Response:
    """Show the form for a new snapshot."""
    return _new_page(request, Form({"subscription": subscription}))


@router.post("/snapshots/new")
@shown_again(_new_page)
def create(request: Request, form: Posted) -> Response:
    """Take a snapshot of a subscription."""
    store, name, source = of(request).store, form.text("id"), form.text("subscription")
    labels = form.attempt(lambda: check_labels(pairs(form, "labels")), _AT_FIELD)
    form.attempt(lambda: snapshot_name(name, of(request).project), _AT_FIELD)
    if not source:
        form.errors["subscription"] = "none is chosen; one of the menu is accepted"
    if form.is_wrong:
        return _new_page(request, form)

    def failed(asked: Request, error: PubSubError) -> Response:
        fields = dict(_AT_FIELD)
        if str(error).startswith("snapshot "):
            fields[""] = "id"
        return _new_page(asked, form.told(error, fields))

    return run(
        request,
        f"Creating the snapshot {name}",
        lambda: store.create_snapshot(name, source, labels=labels),
        lambda asked, made: done(
            asked, "The snapshot was created.", "snapshots", of(asked).short(made.name)
        ),
        failed,
    )


@router.get("/snapshots/{id_}")
def show(request: Request, id_: str) -> Response:
    """Show a snapshot."""
    console = of(request)
    snapshot = console.store.get_snapshot(id_)
    readers = []
    if console.link(snapshot.topic) is not None:
        readers = listed(console.store.list_topic_subscriptions, snapshot.topic)
    return page(
        request,
        "snapshot.html",
        id=id_,
        snapshot=snapshot,
        left=snapshot.expire_time - console.at_present(),
        readers=[console.short(each) for each in readers],
    )


@router.get("/snapshots/{id_}/figures")
def show_figures(request: Request, id_: str) -> Response:
    """Show the metrics of a snapshot: a part of its page."""
    return part(
        request,
        "Measuring what it holds",
        partial(of(request).metrics, "snapshots", id_),
        lambda asked, found: page(asked, "snapshot_figures.html", id=id_, figures=found),
    )


@router.get("/snapshots/{id_}/edit")
def ask_edit(request: Request, id_: str, _: Changing) -> Response:
    """Show the form of a snapshot."""
    return _edit_page(request, Form(_values(of(request).store.get_snapshot(id_))), id_)


@router.post("/snapshots/{id_}/edit")
@shown_again(_edit_page)
def edit(request: Request, id_: str, form: Posted) -> Response:
    """Change the labels of a snapshot, or when it expires."""
    store = of(request).store
    stored = store.get_snapshot(id_)

    def outdated(asked: Request, found: Snapshot) -> Response:
        return _edit_page(asked, form, id_, 409, found)

    if is_outdated(form, stored):
        return outdated(request, stored)
    before = _fields(Form(_values(stored)))
    fields = {name: value for name, value in _fields(form).items() if value != before[name]}
    if form.is_wrong:
        return _edit_page(request, form, id_)
    return run(
        request,
        f"Updating the snapshot {id_}",
        lambda: store.update_snapshot(id_, if_unchanged=stored, **fields),
        lambda asked, _: done(asked, "The snapshot was updated.", "snapshots", id_),
        unless_crossed(
            form,
            partial(store.get_snapshot, id_),
            outdated,
            lambda asked, error: _edit_page(asked, form.told(error, _AT_FIELD), id_),
        ),
    )


def _deletion(console: Console, id_: str) -> Deletion:
    number = console.metrics("snapshots", id_)["num_messages"]
    return Deletion(
        "snapshots",
        "snapshot",
        id_,
        [
            f"It holds {shown.count(number)} messages. Those that only it held can be discarded, "
            "and never come back."
        ],
    )


@router.get("/snapshots/{id_}/delete")
def ask_delete(request: Request, id_: str, _: Changing) -> Response:
    """Ask whether a snapshot is to be deleted."""
    console = of(request)
    return run(
        request,
        f"Measuring what {id_} holds",
        lambda: _deletion(console, id_),
        lambda asked, found: confirm_page(asked, found),
    )


@router.post("/snapshots/{id_}/delete")
def delete(request: Request, id_: str, form: Posted) -> Response:
    """Delete a snapshot."""
    console = of(request)
    if not is_confirmed(form, id_):
        return confirm_page(request, _deletion(console, id_), form)
    store = console.store
    return run(
        request,
        f"Deleting the snapshot {id_}",
        lambda: store.delete_snapshot(id_),
        lambda asked, _: done(asked, f"The snapshot {id_} was deleted.", "snapshots"),
    )


def _fields(form: Form) -> dict[str, Any]:
    return {
        "labels": form.attempt(lambda: check_labels(pairs(form, "labels")), _AT_FIELD),
        "expire_time": form.attempt(lambda: moment(form, "expire"), _AT_FIELD),
    }


def _values(snapshot: Snapshot) -> dict[str, str]:
    return {
        "shown": state_of(snapshot),
        "labels": pair_lines(snapshot.labels),
        **moment_values("expire", snapshot.expire_time),
    }
