"""Replay messages: seek to a time or to a snapshot, after a preview of what that changes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from fastapi import APIRouter, Request, Response

from pubsub_delta.console.editing import state_of
from pubsub_delta.console.forms import Form, Mistyped, Posted, moment, moment_values
from pubsub_delta.console.listing import listed
from pubsub_delta.console.pages import Console, go, of, page, run
from pubsub_delta.errors import PubSubError
from pubsub_delta.names import DELETED_TOPIC
from pubsub_delta.resources import Subscription

router = APIRouter()

_AT_FIELD = {"time": "time", "snapshot": "snapshot"}
_MEANWHILE = (
    "Somebody changed the subscription after this preview was made. Nothing was replayed; look at "
    "the preview anew."
)


@router.get("/subscriptions/{id_}/replay")
def ask(request: Request, id_: str, snapshot: str = "") -> Response:
    """Ask where to seek to."""
    console = of(request)
    console.store.get_subscription(id_)
    values = {
        "target": "snapshot" if snapshot else "time",
        "snapshot": snapshot,
        **moment_values("time", console.at_present() - timedelta(hours=1)),
    }
    return _form_page(request, Form(values), id_)


@router.post("/subscriptions/{id_}/replay/preview")
def preview(request: Request, id_: str, form: Posted) -> Response:
    """Count what a seek would change, and ask whether it is to be done."""
    console = of(request)
    try:
        target = _target(form)
    except Mistyped as error:
        return _form_page(request, form.told(error, _AT_FIELD), id_)
    subscription = console.store.get_subscription(id_)
    shown = {
        "subscription": subscription,
        "target": target,
        "is_ahead": target.get("time", console.at_present()) > console.at_present(),
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
            **shown,
        ),
        lambda asked, error: _form_page(asked, _told(form, error), id_),
    )


@router.post("/subscriptions/{id_}/replay")
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
        lambda _, __: go("subscriptions", id_, note="sought"),
        lambda asked, error: _form_page(asked, _told(form, error), id_),
    )


def _target(form: Form) -> dict[str, Any]:
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


def _form_page(request: Request, form: Form, id_: str, status: int = 200) -> Response:
    console = of(request)
    subscription = console.store.get_subscription(id_)
    return page(
        request,
        "replay.html",
        400 if form.errors or form.problem else status,
        id=id_,
        form=form,
        subscription=subscription,
        restores_acked=_restores_acked(subscription),
        snapshots=snapshots_of(console, subscription),
    )
