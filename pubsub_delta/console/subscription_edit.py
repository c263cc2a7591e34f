"""Creating, editing and deleting a subscription."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response

from pubsub_delta.console.dead_letters import prompt
from pubsub_delta.console.deleting import Deletion, confirm_page, is_confirmed
from pubsub_delta.console.editing import is_outdated, unless_crossed
from pubsub_delta.console.forms import Form, Posted, shown_again
from pubsub_delta.console.listing import listed
from pubsub_delta.console.pages import Changing, Console, done, of, page, run
from pubsub_delta.console.phrases import plain
from pubsub_delta.console.shown import count
from pubsub_delta.console.subscription_form import (
    AT_FIELD,
    NEW_TOPIC,
    OTHER_TOPIC,
    changes,
    check_new,
    check_update,
    chosen_topic,
    fields_of,
    fixed_fields_of,
    letters_id,
    more_options,
    new_values,
    values_of,
)
from pubsub_delta.console.subscriptions import facts_of
from pubsub_delta.errors import InvalidArgument, NotFound, PubSubError
from pubsub_delta.policy.filters import parse_filter
from pubsub_delta.resources import DeadLetterPolicy, Subscription

router = APIRouter()


def _form_page(
    request: Request,
    form: Form,
    id_: str | None = None,
    status: int = 200,
    stored: Subscription | None = None,
) -> Response:
    console = of(request)
    topics = [console.short(each.name) for each in listed(console.store.list_topics)]
    return page(
        request,
        "subscription_form.html",
        400 if form.is_wrong else status,
        id=id_,
        form=form,
        topics=topics,
        new_topic=NEW_TOPIC,
        other_topic=OTHER_TOPIC,
        prompt=prompt(console, form),
        stored=[] if stored is None else facts_of(console, stored),
        more=more_options(form),
    )


@router.get("/subscriptions/new")
def ask_new(request: Request, _: Changing, topic: str = "") -> Response:
    """Show the form for a new subscription."""
    return _form_page(request, Form(new_values(topic)), None)


@router.post("/subscriptions/new")
@shown_again(_form_page)
def create(request: Request, form: Posted) -> Response:
    """Create a subscription, and the topics that it names and that are yet to be created."""
    console, name = of(request), form.text("id")
    fields = {**fields_of(form), **fixed_fields_of(form)}
    topic = form.attempt(lambda: chosen_topic(form, "topic"), AT_FIELD)
    check_new(form, name, topic, fields, console.project)  # before a topic is created for nothing
    if "id" not in form.errors:
        _check_free(console, form, name)
    if form.is_wrong:
        return _form_page(request, form, None)
    assert topic is not None

    def work() -> Subscription:
        _create_topics(console, form, fields)
        found = console.store.create_subscription(name, topic, **fields)
        _keep_letters(console, form, found)
        return found

    return run(
        request,
        f"Creating the subscription {name}",
        work,
        lambda asked, found: done(
            asked, "The subscription was created.", "subscriptions", console.short(found.name)
        ),
        _failed(form, None),
    )


def _check_free(console: Console, form: Form, name: str) -> None:
    try:
        console.store.get_subscription(name)
    except NotFound:
        return
    form.errors["id"] = f"a subscription {name} exists already; choose another ID"


@router.get("/subscriptions/{id_}/edit")
def ask_edit(request: Request, id_: str, _: Changing) -> Response:
    """Show the form of a subscription."""
    console = of(request)
    subscription = console.store.get_subscription(id_)
    return _form_page(request, Form(values_of(subscription, console.project)), id_)


@router.post("/subscriptions/{id_}/edit")
@shown_again(_form_page)
def edit(request: Request, id_: str, form: Posted) -> Response:
    """Change the fields that were edited, unless somebody else has changed any meanwhile."""
    console = of(request)
    stored = console.store.get_subscription(id_)

    def outdated(asked: Request, found: Subscription) -> Response:
        return _form_page(asked, form, id_, 409, found)

    if is_outdated(form, stored):
        return outdated(request, stored)
    fields = changes(form, stored, console.project)
    check_update(form, fields, stored, console.project)
    if form.is_wrong:
        return _form_page(request, form, id_)

    def work() -> None:
        if fields:
            _create_topics(console, form, fields)
            changed = console.store.update_subscription(id_, if_unchanged=stored, **fields)
            _keep_letters(console, form, changed)

    note = "The subscription was updated." if fields else "Nothing was changed."
    return run(
        request,
        f"Updating the subscription {id_}",
        work,
        lambda asked, _: done(asked, note, "subscriptions", id_),
        unless_crossed(
            form, partial(console.store.get_subscription, id_), outdated, _failed(form, id_)
        ),
    )


def _deletion(console: Console, id_: str) -> Deletion:
    subscription = console.store.get_subscription(id_)
    lost = "It has no backlog."
    if not subscription.detached:
        number = console.store.subscription_figures(id_).num_undelivered_messages
        some = f"{count(number)} unacknowledged {'message is' if number == 1 else 'messages are'}"
        lost = f"Its backlog is lost: {some} in it, and no other subscription has a part in that."
    return Deletion(
        "subscriptions",
        "subscription",
        id_,
        [lost, "Its snapshots stay until they expire."],
    )


@router.get("/subscriptions/{id_}/delete")
def ask_delete(request: Request, id_: str, _: Changing) -> Response:
    """Ask whether a subscription is to be deleted."""
    console = of(request)
    return run(
        request,
        f"Counting the backlog of {id_}",
        lambda: _deletion(console, id_),
        lambda asked, found: confirm_page(asked, found),
    )


@router.post("/subscriptions/{id_}/delete")
def delete(request: Request, id_: str, form: Posted) -> Response:
    """Delete a subscription."""
    console = of(request)
    if not is_confirmed(form, id_):
        return confirm_page(request, _deletion(console, id_), form)
    return run(
        request,
        f"Deleting the subscription {id_}",
        lambda: console.store.delete_subscription(id_),
        lambda asked, _: done(asked, f"The subscription {id_} was deleted.", "subscriptions"),
    )


@router.get("/filters/check")
def check_filter(request: Request, filter: str = "") -> Response:
    """Tell what is wrong with a filter, while it is typed: a part of the form."""
    try:
        told, is_wrong = "Every message is in the backlog.", False
        if parse_filter(filter) is not None:
            told = "The filter can be read."
    except InvalidArgument as error:
        told, is_wrong = plain(str(error).removeprefix("filter: ")), True
    return page(request, "filter_part.html", told=told, is_wrong=is_wrong)


def _create_topics(console: Console, form: Form, fields: dict[str, Any]) -> None:
    """Create the topics that the form says are new; from then on it names them as chosen."""
    letters: DeadLetterPolicy | None = fields.get("dead_letter_policy")
    for name in ("topic", "dead_letter_topic"):
        if form[name] != NEW_TOPIC or (name == "dead_letter_topic" and letters is None):
            continue
        created = console.store.create_topic(chosen_topic(form, name))
        form.values[name] = console.short(created.name)


def _keep_letters(console: Console, form: Form, subscription: Subscription) -> None:
    """Create the subscription that is to keep the dead letters, where the form asks for it."""
    name, letters = letters_id(form), subscription.dead_letter_policy
    if name is not None and letters is not None:
        console.store.create_subscription(name, letters.dead_letter_topic)


def _failed(form: Form, id_: str | None) -> Callable[[Request, PubSubError], Response]:
    def answer(request: Request, error: PubSubError) -> Response:
        named = str(error)
        fields = dict(AT_FIELD)
        if named.startswith(("topic projects/", "topic _")):
            fields[""] = "topic"
        elif named.startswith("subscription ") and not isinstance(error, NotFound):
            fields[""] = "id" if id_ is None else ""
        return _form_page(request, form.told(error, fields), id_)

    return answer
