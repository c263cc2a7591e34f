"""Publishing one message by hand."""

from __future__ import annotations

import base64
import binascii

from fastapi import APIRouter, Request, Response

from pubsub_delta.console.forms import Form, Mistyped, Posted, pairs, shown_again
from pubsub_delta.console.pages import Changing, done, of, page, run
from pubsub_delta.policy.messages import FIELD_OF_RULE, broken_rule
from pubsub_delta.resources import Message

router = APIRouter()

_FIELDS = {"data": "data", "attributes": "attributes", "ordering_key": "ordering_key"}


def _form_page(request: Request, form: Form, id_: str) -> Response:
    return page(request, "publish.html", 400 if form.is_wrong else 200, id=id_, form=form)


@router.get("/topics/{id_}/publish")
def ask_publish(request: Request, id_: str, _: Changing) -> Response:
    """Show the form for a message."""
    of(request).store.get_topic(id_)
    return _form_page(request, Form(), id_)


@router.post("/topics/{id_}/publish")
@shown_again(_form_page)
def publish(request: Request, id_: str, form: Posted) -> Response:
    """Publish one message."""
    store = of(request).store
    data = form.attempt(lambda: _data(form), _FIELDS)
    attributes = form.attempt(lambda: pairs(form, "attributes"), _FIELDS)
    message = Message(data or b"", attributes or {}, form["ordering_key"])
    rule = broken_rule(message)
    if rule is not None and FIELD_OF_RULE[rule] not in form.errors and not form.errors:
        form.errors[FIELD_OF_RULE[rule]] = f"{rule}; nothing was published"
    if form.is_wrong:
        return _form_page(request, form, id_)
    return run(
        request,
        f"Publishing a message to {id_}",
        lambda: store.publish(id_, [message]).message_ids[0],
        lambda asked, made: done(
            asked, f"The message was published. Its ID is {made}.", "topics", id_
        ),
        lambda asked, error: _form_page(asked, form.told(error, _FIELDS), id_),
    )


def _data(form: Form) -> bytes:
    if not form.is_on("is_base64"):
        return form["data"].encode(errors="surrogatepass")
    try:
        return base64.b64decode("".join(form["data"].split()), validate=True)
    except (binascii.Error, ValueError):
        raise Mistyped("data", "it is not Base64; letters, digits, + and / are accepted") from None
