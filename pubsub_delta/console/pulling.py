"""Pulling by hand: lease some messages, and acknowledge them, give them back, or keep them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from fastapi import APIRouter, Request, Response

from pubsub_delta.console.finding import summary
from pubsub_delta.console.forms import Form, Mistyped, Posted, whole_number
from pubsub_delta.console.held import HeldBatch, HeldMessage
from pubsub_delta.console.pages import Changing, done, go, of, page, problem_page, run
from pubsub_delta.errors import PubSubError
from pubsub_delta.operations.find import FoundMessage
from pubsub_delta.resources import AckResult, ReceivedMessage

router = APIRouter()

MOST_PULLED = 100
EXTENSION = 60
"""Seconds by which a lease is extended at a time."""
_BEGINNING = 300
_FORGOTTEN = (
    "What was pulled is not known any more. What was not acknowledged is delivered again when its "
    "lease is over."
)


def _form_page(request: Request, form: Form, id_: str) -> Response:
    subscription = of(request).store.get_subscription(id_)
    return page(
        request,
        "pull.html",
        400 if form.is_wrong else 200,
        id=id_,
        form=form,
        subscription=subscription,
    )


@router.get("/subscriptions/{id_}/pull")
def ask(request: Request, id_: str, _: Changing) -> Response:
    """Ask how many messages are to be pulled."""
    return _form_page(request, Form({"max_messages": "10"}), id_)


@router.post("/subscriptions/{id_}/pull")
def pull(request: Request, id_: str, form: Posted) -> Response:
    """Lease messages, and lead to the page that holds them: to load that again pulls nothing."""
    console = of(request)
    meaning = f"a number from 1 to {MOST_PULLED}"
    try:
        number = whole_number(form, "max_messages", meaning)
        if not 1 <= number <= MOST_PULLED:
            raise Mistyped("max_messages", f"{number} is out of range; {meaning} is accepted")
    except Mistyped as error:
        return _form_page(request, form.told(error, {"max_messages": "max_messages"}), id_)

    def work() -> HeldBatch:
        batch = console.store.pull(id_, number)
        messages = [HeldMessage(each.ack_id, _pulled(each)) for each in batch]
        return console.held.add(id_, messages, batch.ack_deadline)

    return run(
        request,
        f"Pulling from {id_}",
        work,
        lambda _, held: go("subscriptions", id_, "pull", held.id),
        lambda asked, error: _form_page(asked, form.told(error, {}), id_),
    )


@router.get("/subscriptions/{id_}/pull/{batch_id}")
def show(request: Request, id_: str, batch_id: str, _: Changing) -> Response:
    """Show what was pulled and is not answered yet."""
    console = of(request)
    held = console.held.find(batch_id, id_)
    if held is None:
        return problem_page(request, _FORGOTTEN, 404)
    left = timedelta(0) if held.until is None else held.until - console.at_present()
    return page(
        request,
        "pulled.html",
        id=id_,
        subscription=console.store.get_subscription(id_),
        held=held,
        seconds=max(0, int(left.total_seconds())),
        rows=[(each.ack_id, summary(each.message)) for each in held.messages],
        extension=EXTENSION,
    )


@router.post("/subscriptions/{id_}/pull/{batch_id}")
def answer(request: Request, id_: str, batch_id: str, form: Posted) -> Response:
    """Acknowledge messages that were pulled, give them back, or keep all of them longer."""
    console, verb = of(request), form["verb"]
    held = console.held.find(batch_id, id_)
    if held is None:
        return problem_page(request, _FORGOTTEN, 404)
    at = ("subscriptions", id_, "pull", batch_id)
    known = {each.ack_id for each in held.messages}
    ack_ids = [each for each in form.many.get("ack_id", []) if each in known]
    if verb == "extend":
        ack_ids = [each.ack_id for each in held.messages]
    if not ack_ids:
        return done(request, "No message was chosen; check the box of one or more.", *at)

    def work() -> AckResult:
        if verb == "ack":
            return console.store.acknowledge(id_, ack_ids)
        seconds = EXTENSION if verb == "extend" else 0
        return console.store.modify_ack_deadline(id_, ack_ids, seconds)

    def then(asked: Request, result: AckResult) -> Response:
        counts = result.counts
        left = held.without(ack_ids)
        if verb == "extend":
            until = console.at_present() + timedelta(seconds=EXTENSION)
            left = replace(held, until=until if counts["success"] else held.until)
        console.held.change(left)
        return done(asked, _note(verb, counts), *at)

    def failed(asked: Request, error: PubSubError) -> Response:
        return done(asked, str(error), *at)

    return run(request, "Answering for messages that were pulled", work, then, failed)


_DONE = {"ack": "acknowledged", "nack": "given back", "extend": f"kept for {EXTENSION} s more"}


def _note(verb: str, counts: dict[str, int]) -> str:
    told = [f"{counts['success']:,} {_DONE.get(verb, 'given back')}"]
    if counts["expired"]:
        told.append(f"of {counts['expired']:,} the lease was over")
    if counts["invalid"]:
        told.append(f"{counts['invalid']:,} were no live lease of this subscription")
    return f"{'; '.join(told)}."


def _pulled(message: ReceivedMessage) -> FoundMessage:
    return FoundMessage(
        message.message_id,
        message.publish_time,
        message.data[:_BEGINNING],
        len(message.data),
        dict(message.attributes),
        message.ordering_key,
        "leased",
        message.delivery_attempt,
    )
