"""One message: opened in a list or on a page, downloaded, and published again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from fastapi import APIRouter, Request, Response

from pubsub_delta.console.bodies import SHOWN, Body, bodies, by_schema
from pubsub_delta.console.finding import Kind, search_of
from pubsub_delta.console.forms import Posted
from pubsub_delta.console.listing import listed
from pubsub_delta.console.pages import Changing, Console, done, of, page, run
from pubsub_delta.console.phrases import plain
from pubsub_delta.errors import FailedPrecondition, InvalidArgument, NotFound, PubSubError
from pubsub_delta.names import DELETED_TOPIC
from pubsub_delta.operations.find import FoundMessage, MessageQuery
from pubsub_delta.policy.schemas.validation import (
    ENCODING_ATTRIBUTE,
    NAME_ATTRIBUTE,
    REVISION_ATTRIBUTE,
)
from pubsub_delta.resources import Message
from pubsub_delta.schemas import Encoding

router = APIRouter()

LETTER = "CloudPubSubDeadLetterSource"
"""What the attributes begin with that forwarding adds to a dead letter."""
MOST = 1_000


@dataclass(frozen=True)
class Letter:
    """What a dead letter tells of itself. ``topic``: of its source, "" where that is gone."""

    subscription: str
    attempts: str
    published: str
    topic: str


def letter_of(console: Console, message: FoundMessage) -> Letter | None:
    """Return where a dead letter comes from, None where a message is none."""
    told = message.attributes
    name = told.get(f"{LETTER}Subscription")
    if not name:
        return None
    project = told.get(f"{LETTER}SubscriptionProject") or console.project
    full = f"projects/{project}/subscriptions/{name}"
    try:
        topic = console.store.get_subscription(full).topic
    except (NotFound, InvalidArgument):  # an attribute is whatever its publisher wrote
        topic = ""
    return Letter(
        full,
        told.get(f"{LETTER}DeliveryCount", "?"),
        told.get(f"{LETTER}TopicPublishTime", ""),
        "" if topic == DELETED_TOPIC else topic,
    )


def _message(console: Console, kind: str, id_: str, number: str, most: int) -> FoundMessage:
    if not (number.isdecimal() and number.isascii() and len(number) <= 18):
        raise NotFound(f"{number!r} is not a message ID")
    search = search_of(console, kind, id_, MessageQuery(message_id=int(number)))
    found = next(search.messages(max_bytes=most), None)
    if found is None:
        raise NotFound(f"message {number} is not stored; it may have been deleted by retention")
    return found


@router.get("/{kind}/{id_}/messages/{number}")
def show(request: Request, kind: Kind, id_: str, number: str) -> Response:
    """Show a message: a part of a list, or a page of its own."""
    console = of(request)
    found = _message(console, kind, id_, number, SHOWN)
    return page(
        request,
        "opened.html" if "hx-request" in request.headers else "message.html",
        kind=kind,
        id=id_,
        message=found,
        bodies=[*_by_schema(console, found), *bodies(found.data, found.data_size)],
        letter=letter_of(console, found),
    )


def _by_schema(console: Console, found: FoundMessage) -> list[Body]:
    """Return what the schema of a message makes of its data, or why it makes nothing.

    In JSON the data shows its fields itself.
    """
    told = found.attributes
    is_binary = told.get(ENCODING_ATTRIBUTE) == Encoding.BINARY.value
    if not is_binary or NAME_ATTRIBUTE not in told or len(found.data) < found.data_size:
        return []
    name = f"{console.short(told[NAME_ATTRIBUTE])}@{told.get(REVISION_ATTRIBUTE, '')}"
    try:
        return [by_schema(console.store.message_fields(found.data, told), name)]
    except PubSubError as why:  # its schema is gone, or what reads it is not installed
        return [Body("schema", f"By schema {name}", note=f"It cannot be read: {plain(str(why))}")]


@router.get("/{kind}/{id_}/messages/{number}/data")
def download(request: Request, kind: Kind, id_: str, number: str) -> Response:
    """Send the data of a message as it is."""
    found = _message(of(request), kind, id_, number, 2**31)
    headers = {"Content-Disposition": f'attachment; filename="message-{found.message_id}"'}
    return Response(found.data, 200, headers, "application/octet-stream")


@dataclass(frozen=True)
class Again:
    """Messages that are to be published again to a topic, and who then receives them."""

    topic: str
    messages: tuple[FoundMessage, ...]
    letters: tuple[Letter, ...]
    readers: tuple[str, ...]


def _again(
    console: Console, kind: str, id_: str, numbers: Iterable[str], most: int
) -> tuple[list[Again], list[str]]:
    """Return what goes to which topic, and the ids of messages that have nowhere to go."""
    own = console.store.get_topic(id_).name if kind == "topics" else (
        console.store.get_subscription(id_).topic
    )  # fmt: skip
    by_topic: dict[str, list[tuple[FoundMessage, Letter | None]]] = defaultdict(list)
    homeless = []
    for number in list(dict.fromkeys(numbers))[:MOST]:
        message = _message(console, kind, id_, number, most)
        letter = letter_of(console, message)
        topic = own if letter is None else letter.topic
        if topic in ("", DELETED_TOPIC):
            homeless.append(number)
        else:
            by_topic[topic].append((message, letter))
    return [
        Again(
            topic,
            tuple(message for message, _ in found),
            tuple(letter for _, letter in found if letter is not None),
            tuple(map(console.short, listed(console.store.list_topic_subscriptions, topic))),
        )
        for topic, found in by_topic.items()
    ], homeless


@router.get("/{kind}/{id_}/publish-again")
def ask_again(request: Request, kind: Kind, id_: str, _: Changing) -> Response:
    """Ask whether messages are to be published again, and say who receives them."""
    console = of(request)
    numbers = request.query_params.getlist("message_id")
    return run(
        request,
        "Reading the messages",
        lambda: _again(console, kind, id_, numbers, 200),
        lambda asked, found: page(
            asked, "publish_again.html", kind=kind, id=id_, groups=found[0], homeless=found[1]
        ),
    )


@router.post("/{kind}/{id_}/publish-again")
def publish_again(
    request: Request, kind: Literal["topics", "subscriptions"], id_: str, form: Posted
) -> Response:
    """Publish messages again: a dead letter to its source, without what forwarding added."""
    console = of(request)
    numbers = form.many.get("message_id", [])

    def work() -> str:
        groups, _ = _again(console, kind, id_, numbers, 2**31)
        if not groups:
            raise FailedPrecondition("no message was chosen that has a topic to go to")
        told = []
        for group in groups:
            result = console.store.publish(group.topic, list(map(_as_it_was, group.messages)))
            told.append(
                f"{len(group.messages):,} published again to {console.short(group.topic)} "
                f"({', '.join(result.message_ids[:3])}{', …' * (len(group.messages) > 3)})"
            )
        return f"{'; '.join(told)}."

    return run(
        request,
        "Publishing messages again",
        work,
        lambda asked, note: done(asked, note, kind, id_, "messages"),
    )


def _as_it_was(message: FoundMessage) -> Message:
    kept = {k: v for k, v in message.attributes.items() if not k.startswith(LETTER)}
    if not kept and not message.data:  # it must have something
        kept = message.attributes
    return Message(message.data, kept, message.ordering_key)
