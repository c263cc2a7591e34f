"""Replay messages: seek to a time or to a snapshot, after a preview of what that changes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from fastapi import APIRouter, Request, Response

from pubsub_delta.clock import from_micros
from pubsub_delta.console import picture, shown
from pubsub_delta.console.editing import state_of
from pubsub_delta.console.forms import (
    Form,
    Mistyped,
    Posted,
    form_of,
    moment,
    moment_values,
    shown_again,
)
from pubsub_delta.console.listing import listed
from pubsub_delta.console.pages import Console, done, of, page, run
from pubsub_delta.errors import PubSubError
from pubsub_delta.names import DELETED_TOPIC
from pubsub_delta.operations.seek import SeekPreview
from pubsub_delta.resources import Subscription

router = APIRouter()

_AT_FIELD = {"time": "time", "snapshot": "snapshot"}
_MEANWHILE = (
    "Somebody changed the subscription after this preview was made. Nothing was replayed; look at "
    "the preview anew."
)


def _form_page(request: Request, form: Form, id_: str, status: int = 200) -> Response:
    console = of(request)
    subscription = console.store.get_subscription(id_)
    return page(
        request,
        "replay.html",
        400 if form.is_wrong else status,
        id=id_,
        form=form,
        subscription=subscription,
        restores_acked=_restores_acked(subscription),
        snapshots=snapshots_of(console, subscription),
    )


@router.get("/subscriptions/{id_}/replay")
def ask(request: Request, id_: str, snapshot: str = "", at: str = "") -> Response:
    """Ask where to seek to. ``at``: a time that was chosen in the picture, in microseconds."""
    console = of(request)
    time = console.at_present() - timedelta(hours=1)
    if at.isdecimal() and at.isascii() and len(at) <= 17:
        time = from_micros(int(at))
    values = {
        "target": "snapshot" if snapshot else "time",
        "snapshot": snapshot,
        **moment_values("time", time),
    }
    return _form_page(request, Form(values), id_)


@router.get("/subscriptions/{id_}/replay/preview")
def preview(request: Request, id_: str) -> Response:
    """Count what a seek would change, and ask whether it is to be done."""
    console = of(request)
    form = form_of(request.query_params.multi_items())
    try:
        target = _target(form)
    except Mistyped as error:
        return _form_page(request, form.told(error, _AT_FIELD), id_)
    subscription = console.store.get_subscription(id_)
    now = console.at_present()
    ahead = target.get("time", now) - now
    told: dict[str, Any] = {
        "subscription": subscription,
        "target": target,
        "ahead": shown.span(ahead) if ahead > timedelta(0) else "",
        "restores_acked": _restores_acked(subscription),
    }
    return run(
        request,
        f"Counting what replaying {id_} would change",
        lambda: console.store.preview_seek(id_, **target),
        lambda asked, counted: page(
            asked,
            "replay_preview.html",
            id=id_,
            form=Form({**form.values, "shown": state_of(subscription)}),
            counted=counted,
            pictures=_pictures(counted),
            **told,
        ),
        lambda asked, error: _form_page(asked, _told(form, error), id_),
    )


@router.post("/subscriptions/{id_}/replay")
@shown_again(_form_page)
def seek(request: Request, id_: str, form: Posted) -> Response:
    """Seek, as it was previewed."""
    store = of(request).store
    try:
        target = _target(form)
    except Mistyped as error:
        return _form_page(request, form.told(error, _AT_FIELD), id_)
    if form["shown"] != state_of(store.get_subscription(id_)):
        form.warning = _MEANWHILE
        return _form_page(request, form, id_, 409)
    return run(
        request,
        f"Replaying messages of {id_}",
        lambda: store.seek(id_, **target),
        lambda asked, _: done(asked, "The messages were replayed.", "subscriptions", id_),
        lambda asked, error: _form_page(asked, _told(form, error), id_),
    )


def _pictures(counted: SeekPreview) -> list[tuple[str, picture.Picture]]:
    if counted.before is None or counted.after is None:
        return []
    before, after = picture.change(counted.before, counted.after)
    return [("Now", before), ("After it", after)]


def _target(form: Form) -> Mapping[str, Any]:
    """Return the target of a seek, by the name of its argument."""
    if form["target"] == "snapshot":
        if not form.text("snapshot"):
            raise Mistyped("snapshot", "no snapshot is chosen; one of the menu is accepted")
        return {"snapshot": form.text("snapshot")}
    return {"time": moment(form, "time")}


def _restores_acked(subscription: Subscription) -> bool:
    """Tell whether a seek into the past can bring back messages that were acknowledged."""
    kept = subscription.topic_message_retention_duration
    return subscription.retain_acked_messages or kept is not None


def _told(form: Form, error: PubSubError) -> Form:
    fields = dict(_AT_FIELD)
    if str(error).startswith("snapshot "):
        fields[""] = "snapshot"
    return form.told(error, fields)


def snapshots_of(console: Console, subscription: Subscription) -> list[str]:
    """Return the snapshots that a subscription can seek to."""
    if subscription.topic == DELETED_TOPIC:
        return []
    found = listed(console.store.list_topic_snapshots, subscription.topic)
    return [console.short(name) for name in found]
