"""Pulling in the console: lease messages, then acknowledge, nack or extend them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from fastapi import APIRouter, Request, Response

from pubsub_delta.console.context import Console, console_of
from pubsub_delta.console.forms import Form, InvalidField, PostedForm, integer
from pubsub_delta.console.leased_batches import LeasedBatch, LeasedMessage
from pubsub_delta.console.message_search import summary
from pubsub_delta.console.responses import (
    RequiresWrite,
    error_page,
    redirect,
    redirect_with_flash,
    redirect_with_problem,
    render,
    run_job,
)
from pubsub_delta.errors import PubSubError
from pubsub_delta.operations.find import FoundMessage
from pubsub_delta.policy.fields import MAX_ACK_DEADLINE_SECONDS
from pubsub_delta.resources import AckResult, ReceivedMessage

router = APIRouter()

MOST_PULLED = 100
EXTENSION = 60
"""Seconds by which a deadline is extended, up to the longest one from now."""
_PREVIEW_BYTES = 300
_UNKNOWN_BATCH = (
    "This batch is not kept any more. Messages that were not acknowledged are delivered again when "
    "their lease is over."
)


def _form_page(request: Request, form: Form, id_: str) -> Response:
    subscription = console_of(request).store.get_subscription(id_)
    return render(
        request,
        "pull.html",
        400 if form.has_errors else 200,
        id=id_,
        form=form,
        subscription=subscription,
    )


@router.get("/subscriptions/{id_}/pull")
def pull_form(request: Request, id_: str, _: RequiresWrite) -> Response:
    """Show the form for a pull."""
    return _form_page(request, Form({"max_messages": "10"}), id_)


@router.post("/subscriptions/{id_}/pull")
def pull(request: Request, id_: str, form: PostedForm) -> Response:
    """Pull messages, and redirect to their page, which can be reloaded without another pull."""
    console = console_of(request)
    meaning = f"a number from 1 to {MOST_PULLED}"
    try:
        number = integer(form, "max_messages", meaning)
        if not 1 <= number <= MOST_PULLED:
            raise InvalidField("max_messages", f"{number} is out of range; {meaning} is accepted")
    except InvalidField as error:
        return _form_page(request, form.add_error(error, {}), id_)

    def work() -> LeasedBatch:
        batch = console.store.pull(id_, number)
        try:
            messages = [LeasedMessage(each.ack_id, _pulled(each)) for each in batch]
        except Exception:  # no page shows them
            batch.give_back()
            raise
        return console.leased_batches.add(id_, messages, batch.ack_deadline)

    return run_job(
        request,
        f"Pulling from {id_}",
        work,
        lambda _, held: redirect("subscriptions", id_, "pull", held.id),
        lambda asked, error: _form_page(asked, form.add_error(error, {}), id_),
    )


@router.get("/subscriptions/{id_}/pull/{batch_id}")
def show(request: Request, id_: str, batch_id: str, _: RequiresWrite) -> Response:
    """Show the messages of a batch that are not acknowledged."""
    console = console_of(request)
    held = console.leased_batches.find(batch_id, id_)
    if held is None:
        return error_page(request, _UNKNOWN_BATCH, 404)
    return render(
        request,
        "pulled.html",
        id=id_,
        subscription=console.store.get_subscription(id_),
        held=held,
        seconds=_seconds_left(console, held),
        rows=[(each.ack_id, summary(each.message)) for each in held.messages],
        extension=EXTENSION,
    )


@router.post("/subscriptions/{id_}/pull/{batch_id}")
def update_leases(request: Request, id_: str, batch_id: str, form: PostedForm) -> Response:
    """Acknowledge or nack the chosen messages, or extend the deadline of all."""
    console, verb = console_of(request), form["verb"]
    held = console.leased_batches.find(batch_id, id_)
    if held is None:
        return error_page(request, _UNKNOWN_BATCH, 404)
    at = ("subscriptions", id_, "pull", batch_id)
    known = {each.ack_id for each in held.messages}
    ack_ids = [each for each in form.multi.get("ack_id", []) if each in known]
    if verb == "extend":
        ack_ids = [each.ack_id for each in held.messages]
    if not ack_ids:
        return redirect_with_problem(request, "No message was selected; select one or more.", *at)
    is_left = _seconds_left(console, held)
    longest = min(is_left + EXTENSION, MAX_ACK_DEADLINE_SECONDS)

    def work() -> tuple[AckResult, datetime]:
        until = console.at_present() + timedelta(seconds=longest)
        if verb == "ack":
            return console.store.acknowledge(id_, ack_ids), until
        seconds = longest if verb == "extend" else 0
        return console.store.modify_ack_deadline(id_, ack_ids, seconds), until

    def then(asked: Request, done: tuple[AckResult, datetime]) -> Response:
        result, until = done  # the page may be asked for later, and again
        counts = result.counts
        # Another page of the batch may have changed it since.
        kept = console.leased_batches.find(batch_id, id_) or held
        left = kept.without(ack_ids)
        if verb == "extend":
            left = replace(kept, until=until if counts["success"] else kept.until)
        console.leased_batches.change(left)
        return redirect_with_flash(asked, _note(verb, counts, longest - is_left), *at)

    def failed(asked: Request, error: PubSubError) -> Response:
        return redirect_with_problem(asked, str(error), *at)

    return run_job(request, "Acknowledging pulled messages", work, then, failed)


def _seconds_left(console: Console, held: LeasedBatch) -> int:
    """Return for how many whole seconds a batch is leased still."""
    left = timedelta(0) if held.until is None else held.until - console.at_present()
    return max(0, int(left.total_seconds()))


def _note(verb: str, counts: dict[str, int], more: int) -> str:
    """Return what was done. ``more``: the seconds by which an extended deadline is later."""
    done = {"ack": "acknowledged", "extend": f"kept for {more} s more"}
    parts = [f"{counts['success']:,} {done.get(verb, 'nacked')}"]
    if counts["expired"]:
        parts.append(f"of {counts['expired']:,} the lease was over")
    if counts["invalid"]:
        parts.append(f"{counts['invalid']:,} were no live lease of this subscription")
    return f"{'; '.join(parts)}."


def _pulled(message: ReceivedMessage) -> FoundMessage:
    return FoundMessage(
        message.message_id,
        message.publish_time,
        message.data[:_PREVIEW_BYTES],
        len(message.data),
        dict(message.attributes),
        message.ordering_key,
        "leased",
        message.delivery_attempt,
    )
