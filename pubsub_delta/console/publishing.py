"""Publishing one message by hand."""

from __future__ import annotations

import base64
import binascii

from fastapi import APIRouter, Request, Response

from pubsub_delta.console.context import console_of
from pubsub_delta.console.forms import Form, InvalidField, PostedForm, pairs, redisplay_with
from pubsub_delta.console.responses import RequiresWrite, redirect_with_flash, render, run_job
from pubsub_delta.policy.messages import FIELD_OF_RULE, broken_rule
from pubsub_delta.resources import Message

router = APIRouter()

_FIELDS = {"data": "data", "attributes": "attributes", "ordering_key": "ordering_key"}


def _form_page(request: Request, form: Form, id_: str) -> Response:
    return render(request, "publish.html", 400 if form.has_errors else 200, id=id_, form=form)


@router.get("/topics/{id_}/publish")
def ask_publish(request: Request, id_: str, _: RequiresWrite) -> Response:
    """Show the form for a message."""
    console_of(request).store.get_topic(id_)
    return _form_page(request, Form(), id_)


@router.post("/topics/{id_}/publish")
@redisplay_with(_form_page)
def publish(request: Request, id_: str, form: PostedForm) -> Response:
    """Publish one message."""
    store = console_of(request).store
    data = form.validate(lambda: _data(form), _FIELDS)
    attributes = form.validate(lambda: pairs(form, "attributes"), _FIELDS)
    message = Message(data or b"", attributes or {}, form["ordering_key"])
    rule = broken_rule(message)
    if rule is not None and FIELD_OF_RULE[rule] not in form.errors and not form.errors:
        form.errors[FIELD_OF_RULE[rule]] = f"{rule}; nothing was published"
    if form.has_errors:
        return _form_page(request, form, id_)
    return run_job(
        request,
        f"Publishing a message to {id_}",
        lambda: store.publish(id_, [message]).message_ids[0],
        lambda asked, made: redirect_with_flash(
            asked, f"The message was published. Its ID is {made}.", "topics", id_
        ),
        lambda asked, error: _form_page(asked, form.add_error(error, _FIELDS), id_),
    )


def _data(form: Form) -> bytes:
    if not form.is_on("is_base64"):
        return form["data"].encode(errors="surrogatepass")
    try:
        return base64.b64decode("".join(form["data"].split()), validate=True)
    except (binascii.Error, ValueError):
        raise InvalidField(
            "data", "it is not Base64; letters, digits, + and / are accepted"
        ) from None
