"""Subscriptions: the list, one subscription's page, and creating, editing and deleting."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response

from pubsub_delta.console import charts, picture, shown
from pubsub_delta.console.dead_letters import action_items, prompt
from pubsub_delta.console.editing import is_outdated, unless_crossed
from pubsub_delta.console.forms import Form, Posted
from pubsub_delta.console.listing import listed
from pubsub_delta.console.pages import Console, address, go, of, page, part, run
from pubsub_delta.console.subscription_form import (
    AT_FIELD,
    NEW_TOPIC,
    OTHER_TOPIC,
    changes,
    check_new,
    chosen_topic,
    fields_of,
    fixed_fields_of,
    letters_id,
    new_values,
    values_of,
)
from pubsub_delta.errors import InvalidArgument, NotFound, PubSubError
from pubsub_delta.policy.fields import check_subscription_update
from pubsub_delta.policy.filters import parse_filter
from pubsub_delta.resources import DeadLetterPolicy, Subscription

router = APIRouter()


@router.get("/subscriptions")
def show_all(request: Request, page_token: str = "") -> Response:
    """List the subscriptions of the project."""
    found = of(request).store.list_subscriptions(page_size=50, page_token=page_token or None)
    return page(request, "subscriptions.html", subscriptions=found)


@router.get("/subscriptions/new")
def ask_new(request: Request, topic: str = "") -> Response:
    """Show the form for a new subscription."""
    return _form_page(request, Form(new_values(topic)), None)


@router.post("/subscriptions/new")
def create(request: Request, form: Posted) -> Response:
    """Create a subscription, and the topics that it names and that are yet to be created."""
    console, name = of(request), form.text("id")
    try:
        fields = {**fields_of(form), **fixed_fields_of(form)}
        topic = chosen_topic(form, "topic")
        check_new(name, topic, fields, console.project)  # before a topic is created for nothing
    except InvalidArgument as error:
        return _form_page(request, form.told(error, AT_FIELD), None)

    def work() -> Subscription:
        _create_topics(console, form, fields)
        found = console.store.create_subscription(name, topic, **fields)
        _keep_letters(console, form, found)
        return found

    return run(
        request,
        f"Creating the subscription {name}",
        work,
        lambda _, found: go(
            "subscriptions", console.short(found.name), note="subscription-created"
        ),
        _failed(form, None),
    )


@router.get("/subscriptions/{id_}")
def show(request: Request, id_: str) -> Response:
    """Show a subscription."""
    console = of(request)
    subscription = console.store.get_subscription(id_)
    return page(
        request,
        "subscription.html",
        id=id_,
        subscription=subscription,
        facts=facts_of(console, subscription),
        actions=action_items(console, subscription),
    )


@router.get("/subscriptions/{id_}/figures")
def show_figures(request: Request, id_: str) -> Response:
    """Show the metrics of a subscription: a part of its page."""
    return part(
        request,
        "Measuring the backlog",
        partial(of(request).metrics, "subscriptions", id_),
        lambda asked, found: page(asked, "subscription_figures.html", id=id_, figures=found),
    )


@router.get("/subscriptions/{id_}/picture")
def show_picture(request: Request, id_: str) -> Response:
    """Show the ack state of a subscription as a picture: a part of its page."""
    return part(
        request,
        "Drawing the ack state",
        partial(of(request).store.survey_ack_state, id_),
        lambda asked, survey: page(
            asked, "picture.html", id=id_, survey=survey, picture=picture.drawn(survey)
        ),
    )


@router.get("/subscriptions/{id_}/history")
def show_history(request: Request, id_: str) -> Response:
    """Show the figures of a subscription over time: a part of its page."""
    return part(
        request,
        "Reading the versions of the ack state",
        partial(of(request).store.subscription_history, id_),
        lambda asked, told: page(
            asked, "subscription_history.html", id=id_, moments=told, figures=charts.over_time(told)
        ),
    )


@router.get("/subscriptions/{id_}/edit")
def ask_edit(request: Request, id_: str) -> Response:
    """Show the form of a subscription."""
    console = of(request)
    subscription = console.store.get_subscription(id_)
    return _form_page(request, Form(values_of(subscription, console.project)), id_)


@router.post("/subscriptions/{id_}/edit")
def edit(request: Request, id_: str, form: Posted) -> Response:
    """Change the fields that were edited, unless somebody else has changed any meanwhile."""
    console = of(request)
    stored = console.store.get_subscription(id_)

    def outdated(asked: Request, found: Subscription) -> Response:
        return _form_page(asked, form, id_, 409, found)

    if is_outdated(form, stored):
        return outdated(request, stored)
    try:
        fields = changes(form, stored, console.project)
        check_subscription_update(fields, stored, console.project)
    except InvalidArgument as error:
        return _form_page(request, form.told(error, AT_FIELD), id_)

    def work() -> None:
        if fields:
            _create_topics(console, form, fields)
            changed = console.store.update_subscription(id_, if_unchanged=stored, **fields)
            _keep_letters(console, form, changed)

    note = "subscription-updated" if fields else "subscription-unchanged"
    return run(
        request,
        f"Updating the subscription {id_}",
        work,
        lambda _, __: go("subscriptions", id_, note=note),
        unless_crossed(
            form, partial(console.store.get_subscription, id_), outdated, _failed(form, id_)
        ),
    )


@router.get("/subscriptions/{id_}/delete")
def ask_delete(request: Request, id_: str) -> Response:
    """Ask whether a subscription is to be deleted."""
    of(request).store.get_subscription(id_)
    return page(
        request,
        "confirm.html",
        title=f"Delete the subscription {id_}?",
        back=address("subscriptions", id_),
        verb="Delete",
        consequences=[
            "Its backlog is lost: no other subscription has a part in it.",
            "Its snapshots stay until they expire.",
        ],
    )


@router.post("/subscriptions/{id_}/delete")
def delete(request: Request, id_: str) -> Response:
    """Delete a subscription."""
    store = of(request).store
    return run(
        request,
        f"Deleting the subscription {id_}",
        lambda: store.delete_subscription(id_),
        lambda _, __: go("subscriptions", note="subscription-deleted"),
    )


@router.get("/filters/check")
def check_filter(request: Request, filter: str = "") -> Response:
    """Tell what is wrong with a filter, while it is typed: a part of the form."""
    try:
        told, is_wrong = "Every message is in the backlog.", False
        if parse_filter(filter) is not None:
            told = "The filter can be read."
    except InvalidArgument as error:
        told, is_wrong = str(error), True
    return page(request, "filter_part.html", told=told, is_wrong=is_wrong)


def facts_of(console: Console, subscription: Subscription) -> list[tuple[str, str]]:
    """Return what a page tells of the fields of a subscription."""
    letters, retry = subscription.dead_letter_policy, subscription.retry_policy
    ttl, push = subscription.expiration_policy.ttl, subscription.push_config
    backoff = "Immediately"
    if retry is not None:
        backoff = (
            f"After exponential backoff, {_told(retry.minimum_backoff)} "
            f"to {_told(retry.maximum_backoff)}"
        )
    kept = "and acknowledged ones" if subscription.retain_acked_messages else "unacknowledged only"
    return [
        ("Delivery", "Pull" if push is None else f"Push to {push.push_endpoint}"),
        ("Acknowledgement deadline", f"{subscription.ack_deadline_seconds} s"),
        ("Message retention", f"{shown.span(subscription.message_retention_duration)}, {kept}"),
        ("Expires", "Never" if ttl is None else f"After {_told(ttl)} without use"),
        ("Filter", subscription.filter or "None"),
        ("Message ordering", _on(subscription.enable_message_ordering)),
        ("Exactly-once delivery", _on(subscription.enable_exactly_once_delivery)),
        (
            "Dead lettering",
            "Off"
            if letters is None
            else f"To {console.short(letters.dead_letter_topic)} "
            f"after {letters.max_delivery_attempts} delivery attempts",
        ),
        ("Redelivery", backoff),
        ("Labels", ", ".join(f"{k}={v}" for k, v in subscription.labels.items()) or "None"),
        ("Created", shown.instant(subscription.create_time)),
        ("Last change", shown.instant(subscription.update_time)),
    ]


def _told(duration: Any) -> str:
    return shown.span(duration)


def _on(is_on: bool) -> str:
    return "On" if is_on else "Off"


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


def _form_page(
    request: Request,
    form: Form,
    id_: str | None,
    status: int = 200,
    stored: Subscription | None = None,
) -> Response:
    console = of(request)
    topics = [console.short(each.name) for each in listed(console.store.list_topics)]
    wrong = bool(form.errors or form.problem)
    return page(
        request,
        "subscription_form.html",
        400 if wrong else status,
        id=id_,
        form=form,
        topics=topics,
        new_topic=NEW_TOPIC,
        other_topic=OTHER_TOPIC,
        prompt=prompt(console, form),
        stored=[] if stored is None else facts_of(console, stored),
    )
