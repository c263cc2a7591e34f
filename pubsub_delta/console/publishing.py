"""Publishing one message by hand."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import partial

from fastapi import APIRouter, Request, Response

from pubsub_delta.console.context import console_of
from pubsub_delta.console.forms import Form, InvalidField, PostedForm, pairs, redisplay_with
from pubsub_delta.console.message_page import editable, message_of
from pubsub_delta.console.responses import RequiresWrite, redirect_with_flash, render, run_job
from pubsub_delta.errors import FailedPrecondition, InvalidArgument, NotFound, PubSubError
from pubsub_delta.policy.messages import FIELD_OF_RULE, broken_rule, refused_message
from pubsub_delta.resources import Message

router = APIRouter()

_FIELDS = {"data": "data", "attributes": "attributes", "ordering_key": "ordering_key"}


MAX_COPIED_BYTES = 1_000_000
"""Bytes of data that a form may be filled in with."""


def _form_page(
    request: Request, form: Form, id_: str, copied: str = "", left_out: Sequence[str] = ()
) -> Response:
    status = 400 if form.has_errors else 200
    return render(
        request, "publish.html", status, id=id_, form=form, copied=copied, left_out=left_out
    )


@router.get("/topics/{id_}/publish")
def publish_form(request: Request, id_: str, _: RequiresWrite, copy_of: str = "") -> Response:
    """Show the form for a message. ``copy_of``: a message to fill it in with."""
    console = console_of(request)
    console.store.get_topic(id_)
    if not copy_of:
        return _form_page(request, Form(), id_)
    kind, rest = copy_of.partition("/")[::2]
    of, number = rest.partition("/")[::2]
    if kind not in ("topics", "subscriptions"):
        raise NotFound(f"{copy_of!r} is not a message; topics/ID/MESSAGE_ID is accepted")
    found = message_of(console, kind, of, number, most=MAX_COPIED_BYTES)
    if found.data_size > MAX_COPIED_BYTES:
        raise FailedPrecondition(
            f"message {number} has {found.data_size:,} bytes of data, and a form holds up to "
            f"{MAX_COPIED_BYTES:,}; download it, and publish it by a command"
        )
    values, left_out = editable(found)
    return _form_page(request, Form(values), id_, number, left_out)


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
        partial(_published, id_=id_, stays=form["next"] == "another"),
        lambda asked, error: _form_page(asked, form.add_error(_of_field(error), _FIELDS), id_),
    )


def _of_field(error: PubSubError) -> PubSubError:
    """Return the error of a publish; one of the form's message begins with its field."""
    refused = refused_message(str(error))
    return error if refused is None else InvalidArgument(f"{refused[1]}; nothing was published")


def _published(request: Request, made: str, id_: str, stays: bool) -> Response:
    note = f"The message was published. Its ID is {made}."
    if stays:
        copied = f"topics/{id_}/{made}"
        return redirect_with_flash(request, note, "topics", id_, "publish", copy_of=copied)
    return redirect_with_flash(request, note, "topics", id_)


def _data(form: Form) -> bytes:
    if not form.is_on("is_base64"):
        return form["data"].encode(errors="surrogatepass")
    try:
        return base64.b64decode("".join(form["data"].split()), validate=True)
    except ValueError:  # binascii.Error is one
        raise InvalidField(
            "data", "it is not Base64; letters, digits, + and / are accepted"
        ) from None
