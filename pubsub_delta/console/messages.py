"""The messages of a subscription: peeked at without a lease, or pulled and answered."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial

from fastapi import APIRouter, Request, Response

from pubsub_delta.console import shown
from pubsub_delta.console.forms import Form, Mistyped, Posted, whole_number
from pubsub_delta.console.pages import of, page, part, run
from pubsub_delta.errors import PubSubError
from pubsub_delta.operations.survey import PeekedMessage
from pubsub_delta.resources import AckResult, ReceivedMessage

router = APIRouter()

MOST_PEEKED = 100
MOST_PULLED = 100
_USUAL = 10


@dataclass(frozen=True)
class ShownMessage:
    """A message as a row of a table. ``ack_id`` is empty where nothing was leased."""

    message_id: str
    publish_time: datetime
    data: shown.ShownData
    attributes: dict[str, str]
    ordering_key: str
    state: str
    delivery_attempt: int | None
    ack_id: str = ""


@router.get("/subscriptions/{id_}/messages")
def show(request: Request, id_: str) -> Response:
    """Show the page of a subscription's messages."""
    of(request).store.get_subscription(id_)
    return page(request, "messages.html", id=id_, form=Form({"max_messages": str(_USUAL)}))


@router.get("/subscriptions/{id_}/messages/peek")
def peek(request: Request, id_: str, max_messages: str = str(_USUAL)) -> Response:
    """Show the first unacknowledged messages, leasing none: a part of the page."""
    form = Form({"max_messages": max_messages})
    number = _number(form, MOST_PEEKED)
    return part(
        request,
        "Reading messages",
        partial(of(request).store.peek, id_, number, max_bytes=shown.SHOWN_BYTES),
        lambda asked, found: page(
            asked, "messages_part.html", id=id_, messages=list(map(_peeked, found)), asked=number
        ),
    )


@router.post("/subscriptions/{id_}/messages/pull")
def pull(request: Request, id_: str, form: Posted) -> Response:
    """Lease messages, and show them with what can be said of them."""
    store = of(request).store
    try:
        number = _number(form, MOST_PULLED)
    except Mistyped as error:
        return _page_with(request, id_, form.told(error, {"max_messages": "max_messages"}))

    def work() -> tuple[list[ShownMessage], datetime | None]:
        batch = store.pull(id_, number)
        return [_pulled(each) for each in batch], batch.ack_deadline

    def then(asked: Request, found: tuple[list[ShownMessage], datetime | None]) -> Response:
        return page(asked, "pulled.html", id=id_, messages=found[0], until=found[1])

    def failed(asked: Request, error: PubSubError) -> Response:
        return _page_with(asked, id_, form.told(error, {}))

    return run(request, f"Pulling from {id_}", work, then, failed)


@router.post("/subscriptions/{id_}/messages/answer")
def answer(request: Request, id_: str, form: Posted) -> Response:
    """Acknowledge messages that were pulled, or give them back."""
    store, ack_ids = of(request).store, form.many.get("ack_id", [])
    acks = form["verb"] == "ack"
    if not ack_ids:
        form.problem = "No message was chosen; check the box of one or more. Their leases go on."
        return _page_with(request, id_, form)

    def work() -> AckResult:
        if acks:
            return store.acknowledge(id_, ack_ids)
        return store.modify_ack_deadline(id_, ack_ids, 0)

    def then(asked: Request, result: AckResult) -> Response:
        return page(asked, "answered.html", id=id_, acks=acks, counts=result.counts)

    def failed(asked: Request, error: PubSubError) -> Response:
        return _page_with(asked, id_, form.told(error, {}))

    return run(
        request, f"{'Acknowledging' if acks else 'Giving back'} messages", work, then, failed
    )


def _page_with(request: Request, id_: str, form: Form) -> Response:
    form.values.setdefault("max_messages", str(_USUAL))
    return page(request, "messages.html", 400, id=id_, form=form)


def _number(form: Form, most: int) -> int:
    meaning = f"a number from 1 to {most}"
    number = whole_number(form, "max_messages", meaning)
    if not 1 <= number <= most:
        raise Mistyped("max_messages", f"{number} is out of range; {meaning} is accepted")
    return number


def _peeked(message: PeekedMessage) -> ShownMessage:
    return ShownMessage(
        message.message_id,
        message.publish_time,
        shown.data(message.data, message.data_size),
        message.attributes,
        message.ordering_key,
        message.state,
        message.delivery_attempt,
    )


def _pulled(message: ReceivedMessage) -> ShownMessage:
    return ShownMessage(
        message.message_id,
        message.publish_time,
        shown.data(message.data),
        dict(message.attributes),
        message.ordering_key,
        "leased",
        message.delivery_attempt,
        message.ack_id,
    )
