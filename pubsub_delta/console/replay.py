"""Replay messages: seek to a time or a snapshot, after a preview."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from fastapi import APIRouter, Request, Response

from pubsub_delta.client import PubSub
from pubsub_delta.clock import from_micros
from pubsub_delta.console import ack_state_chart, formatting
from pubsub_delta.console.context import Console, console_of
from pubsub_delta.console.forms import (
    Form,
    InvalidField,
    PostedForm,
    form_from_pairs,
    redisplay_with,
    utc_time,
    utc_time_values,
)
from pubsub_delta.console.resource_changes import fingerprint
from pubsub_delta.console.responses import redirect_with_flash, render, run_job
from pubsub_delta.errors import Aborted, PubSubError
from pubsub_delta.names import subscription_name
from pubsub_delta.operations.seek import SeekPreview
from pubsub_delta.operations.snapshot import that_can_be_sought
from pubsub_delta.resources import Subscription

router = APIRouter()

_ERROR_FIELDS = {"time": "time", "snapshot": "snapshot"}
_CHANGED_SINCE_PREVIEW = (
    "Somebody changed the subscription or the snapshot after this preview. Nothing was replayed; "
    "preview the seek again."
)


def _form_page(request: Request, form: Form, id_: str, status: int = 200) -> Response:
    console = console_of(request)
    subscription = console.store.get_subscription(id_)
    return render(
        request,
        "replay.html",
        400 if form.has_errors else status,
        id=id_,
        form=form,
        subscription=subscription,
        restores_acked=_restores_acked(subscription),
        snapshots=snapshots_of(console, subscription),
    )


@router.get("/subscriptions/{id_}/replay")
def replay_form(request: Request, id_: str, snapshot: str = "", at: str = "") -> Response:
    """Show the form of a seek. ``at``: a time chosen in the chart, in microseconds."""
    console = console_of(request)
    time = console.at_present() - timedelta(hours=1)
    if at.isdecimal() and at.isascii() and len(at) <= 17:
        time = from_micros(int(at))
    values = {
        "target": "snapshot" if snapshot else "time",
        "snapshot": snapshot,
        **utc_time_values("time", time),
    }
    return _form_page(request, Form(values), id_)


@router.get("/subscriptions/{id_}/replay/preview")
def preview(request: Request, id_: str) -> Response:
    """Show what a seek would change."""
    console = console_of(request)
    form = form_from_pairs(request.query_params.multi_items())
    try:
        target = _target(form)
    except InvalidField as error:
        return _form_page(request, form.add_error(error, _ERROR_FIELDS), id_)
    subscription = console.store.get_subscription(id_)
    try:
        shown = _fingerprint(console.store, subscription, target)
    except PubSubError as error:  # the snapshot
        return _form_page(request, _with_error(form, error), id_)
    now = console.at_present()
    ahead = target.get("time", now) - now
    shown_values: dict[str, Any] = {
        "subscription": subscription,
        "target": target,
        "ahead": formatting.duration(ahead) if ahead > timedelta(0) else "",
        "restores_acked": _restores_acked(subscription),
    }
    return run_job(
        request,
        f"Counting what replaying {id_} would change",
        lambda: console.store.preview_seek(id_, **target),
        lambda asked, counted: render(
            asked,
            "replay_preview.html",
            id=id_,
            form=Form({**form.values, "fingerprint": shown}),
            counted=counted,
            charts=_charts(counted),
            **shown_values,
        ),
        lambda asked, error: _form_page(asked, _with_error(form, error), id_),
    )


@router.post("/subscriptions/{id_}/replay")
@redisplay_with(_form_page)
def seek(request: Request, id_: str, form: PostedForm) -> Response:
    """Seek, unless the subscription has changed since the preview."""
    store = console_of(request).store
    try:
        target = _target(form)
    except InvalidField as error:
        return _form_page(request, form.add_error(error, _ERROR_FIELDS), id_)

    def conflict(asked: Request) -> Response:
        form.warning = _CHANGED_SINCE_PREVIEW
        return _form_page(asked, form, id_, 409)

    def failed(asked: Request, error: PubSubError) -> Response:
        if isinstance(error, Aborted) and fingerprint(store.get_subscription(id_)) != before:
            return conflict(asked)
        return _form_page(asked, _with_error(form, error), id_)

    stored = store.get_subscription(id_)
    before = fingerprint(stored)
    try:
        shown = _fingerprint(store, stored, target)
    except PubSubError as error:  # the snapshot
        return failed(request, error)
    if form["fingerprint"] != shown:
        return conflict(request)
    return run_job(
        request,
        f"Replaying messages of {id_}",
        lambda: store.seek(id_, **target, if_unchanged=stored),
        lambda asked, _: redirect_with_flash(
            asked, "The messages were replayed.", "subscriptions", id_
        ),
        failed,
    )


def _fingerprint(store: PubSub, subscription: Subscription, target: Mapping[str, Any]) -> str:
    """Return a text that changes with the subscription, and with the snapshot of a seek."""
    found = fingerprint(subscription)
    if "snapshot" in target:
        found += fingerprint(store.get_snapshot(target["snapshot"]))
    return found


def _charts(counted: SeekPreview) -> list[tuple[str, ack_state_chart.AckStateChart]]:
    if counted.before is None or counted.after is None:
        return []
    before, after = ack_state_chart.draw_change(counted.before, counted.after)
    return [("Now", before), ("After it", after)]


def _target(form: Form) -> Mapping[str, Any]:
    """Return the target of a seek, by the name of its argument."""
    if form["target"] == "snapshot":
        if not form.text("snapshot"):
            raise InvalidField("snapshot", "no snapshot is chosen; choose one of the menu")
        return {"snapshot": form.text("snapshot")}
    return {"time": utc_time(form, "time")}


def _restores_acked(subscription: Subscription) -> bool:
    """Return whether a seek into the past can bring back acknowledged messages."""
    kept = subscription.topic_message_retention_duration
    return subscription.retain_acked_messages or kept is not None


def _with_error(form: Form, error: PubSubError) -> Form:
    fields = dict(_ERROR_FIELDS)
    if str(error).startswith("snapshot "):
        fields[""] = "snapshot"
    return form.add_error(error, fields)


def snapshots_of(console: Console, subscription: Subscription) -> list[str]:
    """Return the snapshots that a subscription can seek to."""
    name, tables = subscription_name(subscription.name, console.project), console.store.tables
    found = that_can_be_sought(tables, name, console.at_present())
    return [console.short(each) for each in found]
