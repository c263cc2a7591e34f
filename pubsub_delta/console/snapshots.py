"""Snapshots: the list, one snapshot's page, and creating, editing and deleting."""

from __future__ import annotations

from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response

from pubsub_delta.console import shown
from pubsub_delta.console.editing import is_outdated, state_of, unless_crossed
from pubsub_delta.console.forms import (
    Form,
    Mistyped,
    Posted,
    moment,
    moment_values,
    pair_lines,
    pairs,
)
from pubsub_delta.console.listing import listed
from pubsub_delta.console.pages import address, go, of, page, part, run
from pubsub_delta.errors import PubSubError
from pubsub_delta.resources import Snapshot

router = APIRouter()

_AT_FIELD = {
    "snapshot": "id",
    "subscription": "subscription",
    "labels": "labels",
    "expire_time": "expire",
    "expire": "expire",
}


@router.get("/snapshots")
def show_all(request: Request, page_token: str = "") -> Response:
    """List the snapshots of the project."""
    console = of(request)
    found = console.store.list_snapshots(page_size=50, page_token=page_token or None)
    return page(request, "snapshots.html", snapshots=found, now=console.at_present())


@router.get("/snapshots/new")
def ask_new(request: Request, subscription: str = "") -> Response:
    """Show the form for a new snapshot."""
    return _new_page(request, Form({"subscription": subscription}))


@router.post("/snapshots/new")
def create(request: Request, form: Posted) -> Response:
    """Take a snapshot of a subscription."""
    store, name, source = of(request).store, form.text("id"), form.text("subscription")
    try:
        labels = pairs(form, "labels")
        if not source:
            raise Mistyped("subscription", "none is chosen; one of the menu is accepted")
    except Mistyped as error:
        return _new_page(request, form.told(error, _AT_FIELD))

    def failed(asked: Request, error: PubSubError) -> Response:
        fields = dict(_AT_FIELD)
        if str(error).startswith("snapshot "):
            fields[""] = "id"
        return _new_page(asked, form.told(error, fields))

    return run(
        request,
        f"Creating the snapshot {name}",
        lambda: store.create_snapshot(name, source, labels=labels),
        lambda _, made: go("snapshots", of(request).short(made.name), note="snapshot-created"),
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
def ask_edit(request: Request, id_: str) -> Response:
    """Show the form of a snapshot."""
    return _edit_page(request, Form(_values(of(request).store.get_snapshot(id_))), id_)


@router.post("/snapshots/{id_}/edit")
def edit(request: Request, id_: str, form: Posted) -> Response:
    """Change the labels of a snapshot, or when it expires."""
    store = of(request).store
    stored = store.get_snapshot(id_)

    def outdated(asked: Request, found: Snapshot) -> Response:
        return _edit_page(asked, form, id_, 409, found)

    if is_outdated(form, stored):
        return outdated(request, stored)
    try:
        before = _fields(Form(_values(stored)))
        fields = {name: value for name, value in _fields(form).items() if value != before[name]}
    except Mistyped as error:
        return _edit_page(request, form.told(error, _AT_FIELD), id_)
    return run(
        request,
        f"Updating the snapshot {id_}",
        lambda: store.update_snapshot(id_, if_unchanged=stored, **fields),
        lambda _, __: go("snapshots", id_, note="snapshot-updated"),
        unless_crossed(
            form,
            partial(store.get_snapshot, id_),
            outdated,
            lambda asked, error: _edit_page(asked, form.told(error, _AT_FIELD), id_),
        ),
    )


@router.get("/snapshots/{id_}/delete")
def ask_delete(request: Request, id_: str) -> Response:
    """Ask whether a snapshot is to be deleted."""
    of(request).store.get_snapshot(id_)
    return page(
        request,
        "confirm.html",
        title=f"Delete the snapshot {id_}?",
        back=address("snapshots", id_),
        verb="Delete",
        consequences=["Messages that only it held can be discarded, and never come back."],
    )


@router.post("/snapshots/{id_}/delete")
def delete(request: Request, id_: str) -> Response:
    """Delete a snapshot."""
    store = of(request).store
    return run(
        request,
        f"Deleting the snapshot {id_}",
        lambda: store.delete_snapshot(id_),
        lambda _, __: go("snapshots", note="snapshot-deleted"),
    )


def _fields(form: Form) -> dict[str, Any]:
    return {"labels": pairs(form, "labels"), "expire_time": moment(form, "expire")}


def _values(snapshot: Snapshot) -> dict[str, str]:
    return {
        "shown": state_of(snapshot),
        "labels": pair_lines(snapshot.labels),
        **moment_values("expire", snapshot.expire_time),
    }


def _new_page(request: Request, form: Form) -> Response:
    console = of(request)
    found = listed(console.store.list_subscriptions)
    return page(
        request,
        "snapshot_new.html",
        400 if form.errors or form.problem else 200,
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
    wrong = bool(form.errors or form.problem)
    return page(
        request, "snapshot_edit.html", 400 if wrong else status, id=id_, form=form, stored=told
    )
