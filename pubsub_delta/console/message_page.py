"""The pages of one message: its data and attributes, its download, and publishing it again."""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from fastapi import APIRouter, Request, Response

from pubsub_delta.console.context import Console, address, console_of
from pubsub_delta.console.dead_letters import DEAD_LETTER_PREFIX, DeadLetter, dead_letter_of
from pubsub_delta.console.error_texts import readable
from pubsub_delta.console.formatting import visible
from pubsub_delta.console.forms import NOT_IN_LINES, PostedForm, fits_line, pairs_text
from pubsub_delta.console.lists import list_all
from pubsub_delta.console.message_data import MAX_TEXT_BYTES, DataView, data_views, schema_view
from pubsub_delta.console.message_search import Kind, search_of
from pubsub_delta.console.responses import RequiresWrite, redirect_with_flash, render, run_job
from pubsub_delta.console.search_form import search_fields
from pubsub_delta.errors import FailedPrecondition, InvalidArgument, NotFound, PubSubError
from pubsub_delta.operations.find import FoundMessage, MessageSearch
from pubsub_delta.policy.ack_ids import is_message_id
from pubsub_delta.policy.message_queries import MessageQuery
from pubsub_delta.policy.messages import refused_message
from pubsub_delta.policy.schemas.validation import (
    ATTRIBUTES,
    ENCODING_ATTRIBUTE,
    NAME_ATTRIBUTE,
    REVISION_ATTRIBUTE,
)
from pubsub_delta.resources import Message, Topic
from pubsub_delta.schemas import Encoding

router = APIRouter()

MOST = 1_000


def message_of(
    console: Console, kind: str, id_: str, number: str, *, most: int, of: str | None = None
) -> FoundMessage:
    """Return a message with ``most`` bytes of its data; NotFound if it is not stored."""
    return _searched(console, kind, id_, number, most=most, of=of)[1]


def _searched(
    console: Console, kind: str, id_: str, number: str, *, most: int, of: str | None
) -> tuple[MessageSearch, FoundMessage]:
    """Return a message, and the search that has found it.

    ``of``: the uid of the topic whose message a page has shown. Another topic that has its name
    now has other messages under these IDs.
    """
    if not is_message_id(number):
        raise NotFound(f"message {number!r} is not a message ID; up to 19 digits are accepted")
    search = search_of(console, kind, id_, MessageQuery(message_id=int(number)))
    if of is not None and search.topic_uid != of:
        raise NotFound(
            f"message {number} was of a topic that was deleted; {id_} has other messages now: "
            "search again"
        )
    found = next(search.messages(max_bytes=most), None)
    if found is None:
        raise NotFound(f"message {number} is not stored; retention may have deleted it")
    return search, found


@router.get("/{kind}/{id_}/messages/{number}")
def show(request: Request, kind: Kind, id_: str, number: str) -> Response:
    """Show a message: as a fragment in a list, or as a page."""
    console = console_of(request)
    search, found = _searched(console, kind, id_, number, most=MAX_TEXT_BYTES, of=None)
    letter = dead_letter_of(console, search, found)
    return render(
        request,
        "message_details.html" if "hx-request" in request.headers else "message.html",
        kind=kind,
        id=id_,
        message=found,
        bodies=[*_by_schema(console, found), *data_views(found.data, found.data_size)],
        letter=letter,
        of=search.topic_uid,
        publish_at=console.link(_topic_of(console, kind, id_) if letter is None else letter.topic),
    )


def _by_schema(console: Console, found: FoundMessage) -> list[DataView]:
    """Return the view of binary data by the schema of the message, or of the error.

    JSON data has its own view.
    """
    pairs = found.attributes
    is_binary = pairs.get(ENCODING_ATTRIBUTE) == Encoding.BINARY.value
    if not is_binary or NAME_ATTRIBUTE not in pairs or len(found.data) < found.data_size:
        return []
    name = f"{console.short(pairs[NAME_ATTRIBUTE])}@{pairs.get(REVISION_ATTRIBUTE, '')}"
    try:
        return [schema_view(console.store.message_fields(found.data, pairs), name)]
    except PubSubError as why:  # the schema is gone, or its extra is not installed
        return [
            DataView("schema", f"By schema {name}", note=f"It cannot be read: {readable(str(why))}")
        ]


@router.get("/{kind}/{id_}/messages/{number}/data")
def download(request: Request, kind: Kind, id_: str, number: str) -> Response:
    """Download the data of a message."""
    found = message_of(console_of(request), kind, id_, number, most=2**31)
    headers = {"Content-Disposition": f'attachment; filename="message-{found.message_id}"'}
    return Response(found.data, 200, headers, "application/octet-stream")


@dataclass(frozen=True)
class Republish:
    """Messages to publish again to one topic. ``readers``: the subscriptions of the topic."""

    topic: Topic
    messages: tuple[FoundMessage, ...]
    letters: tuple[DeadLetter, ...]
    readers: tuple[str, ...]


def _topic_of(console: Console, kind: str, id_: str) -> str:
    if kind == "topics":
        return console.store.get_topic(id_).name
    return console.store.get_subscription(id_).topic


def _topic_uid(console: Console, kind: str, id_: str) -> str:
    return search_of(console, kind, id_, MessageQuery()).topic_uid


def _republishes(
    console: Console, kind: str, id_: str, numbers: Iterable[str], most: int, of: str
) -> tuple[list[Republish], list[str]]:
    """Return the messages by topic, and the IDs of messages whose topic is gone.

    ``of``: the uid of the topic that a page has shown.
    """
    own = _own_topic(console, kind, id_, of)
    by_topic: dict[str, list[tuple[FoundMessage, DeadLetter | None]]] = defaultdict(list)
    topics: dict[str, Topic] = {}
    without_topic = []
    for number in list(dict.fromkeys(numbers))[:MOST]:
        search, message = _searched(console, kind, id_, number, most=most, of=of)
        letter = dead_letter_of(console, search, message)
        topic = own if letter is None else letter.source_topic
        if topic is None:
            without_topic.append(number)
        else:
            topics[topic.uid] = topic
            by_topic[topic.uid].append((message, letter))
    groups = []
    for uid, found in by_topic.items():
        readers = list_all(console.store.list_topic_subscriptions, topics[uid].name)
        messages = tuple(message for message, _ in found)
        letters = tuple(letter for _, letter in found if letter is not None)
        groups.append(Republish(topics[uid], messages, letters, tuple(map(console.short, readers))))
    return groups, without_topic


def _own_topic(console: Console, kind: str, id_: str, of: str) -> Topic | None:
    """Return the topic of a page; None if it was deleted, and another one may have its name."""
    try:
        topic = console.store.get_topic(_topic_of(console, kind, id_))
    except (NotFound, InvalidArgument):  # the name of a deleted topic is no name of a topic
        return None
    return topic if topic.uid == of else None


@router.get("/{kind}/{id_}/publish-again")
def confirm_publish_again(request: Request, kind: Kind, id_: str, _: RequiresWrite) -> Response:
    """Show the messages that will be published again, and their subscriptions."""
    console = console_of(request)
    numbers = request.query_params.getlist("message_id")
    search = request.query_params.get("search", "")
    of = request.query_params.get("of") or _topic_uid(console, kind, id_)
    return run_job(
        request,
        "Reading the messages",
        lambda: _republishes(console, kind, id_, numbers, 200, of),
        lambda asked, found: render(
            asked,
            "publish_again.html",
            kind=kind,
            id=id_,
            groups=found[0],
            without_topic=found[1],
            search=search,
            of=of,
            found_at=address(kind, id_, "messages", **search_fields(search)),
        ),
    )


@router.post("/{kind}/{id_}/publish-again")
def publish_again(
    request: Request, kind: Literal["topics", "subscriptions"], id_: str, form: PostedForm
) -> Response:
    """Publish messages again; a dead letter to its source, without the added attributes.

    The page that the browser comes to has the search in which the messages were chosen.
    """
    console = console_of(request)
    numbers = form.multi.get("message_id", [])
    search = search_fields(form["search"])

    def work() -> str:
        groups, _ = _republishes(console, kind, id_, numbers, 2**31, form["of"])
        if not groups:
            raise FailedPrecondition(
                "no chosen message has a topic that exists; choose other messages"
            )
        pairs: list[str] = []
        for group in groups:
            try:
                result = console.store.publish(
                    group.topic.name, list(map(_original, group.messages)), if_unchanged=group.topic
                )
            except PubSubError as error:
                named = _with_id(error, group.messages)
                if not pairs:
                    raise named from None
                pairs.append(  # an error alone would invite to publish the others twice
                    f"{len(group.messages):,} not published to {console.short(group.topic.name)}: "
                    f"{readable(str(named))}"
                )
                continue
            pairs.append(
                f"{len(group.messages):,} published again to {console.short(group.topic.name)} "
                f"({', '.join(result.message_ids[:3])}{', …' * (len(group.messages) > 3)})"
            )
        return f"{'; '.join(pairs)}."

    return run_job(
        request,
        "Publishing messages again",
        work,
        lambda asked, note: redirect_with_flash(asked, note, kind, id_, "messages", **search),
    )


def _with_id(error: PubSubError, messages: Sequence[FoundMessage]) -> PubSubError:
    """Return the error of a publish; one that names a message of it names that by its ID."""
    refused = refused_message(str(error))
    if refused is None:
        return error
    index, why = refused
    return InvalidArgument(f"message {messages[index].message_id}: {why}")


def _original(message: FoundMessage) -> Message:
    """Return a message as it was sent, without what forwarding and a schema have added."""
    sent = {k: v for k, v in message.attributes.items() if k not in ATTRIBUTES}
    kept = {k: v for k, v in sent.items() if not k.startswith(DEAD_LETTER_PREFIX)}
    if not kept and not message.data:  # an empty message is not accepted
        kept = sent
    return Message(message.data, kept, message.ordering_key)


def editable(message: FoundMessage) -> tuple[dict[str, str], list[str]]:
    """Return a message as the fields of the form that publishes one, and what these cannot hold.

    Attributes that forwarding and schemas have added are left out. The message has all its data.
    """
    original = _original(message)
    text = _text_in_form(original.data)
    values = {"data": text} if text is not None else {
        "data": base64.b64encode(original.data).decode(), "is_base64": "on"
    }  # fmt: skip
    pairs, left_out = {}, []
    for key, value in original.attributes.items():
        if fits_line(key, value):
            pairs[key] = value
        else:
            left_out.append(f"the attribute {visible(key)}")
    if NOT_IN_LINES.isdisjoint(original.ordering_key):
        values["ordering_key"] = original.ordering_key
    else:
        left_out.append("the ordering key")
    return {**values, "attributes": pairs_text(pairs)}, left_out


def _text_in_form(data: bytes) -> str | None:
    """Return data as text; None if a browser would change it, or would not show all of it."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if visible(text) == text else None
