"""Creating, editing and deleting a subscription."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request, Response

from pubsub_delta.console.context import Console, console_of
from pubsub_delta.console.dead_letters import prompt
from pubsub_delta.console.error_texts import readable
from pubsub_delta.console.formatting import count
from pubsub_delta.console.forms import Form, PostedForm, redisplay_with
from pubsub_delta.console.lists import list_all
from pubsub_delta.console.resource_changes import (
    Deletion,
    confirm_page,
    consequence,
    create_resource,
    delete_resource,
    fingerprint,
    update_resource,
)
from pubsub_delta.console.responses import RequiresWrite, render, run_job
from pubsub_delta.console.subscription_form import (
    ERROR_FIELDS,
    NEW_TOPIC,
    OTHER_TOPIC,
    changed_fields,
    check_new,
    check_update,
    chosen_topic,
    creation_fields,
    dead_letter_subscription_id,
    default_values,
    editable_fields,
    form_values,
    shows_more_options,
)
from pubsub_delta.console.subscriptions import field_rows
from pubsub_delta.errors import FailedPrecondition, InvalidArgument, NotFound, PubSubError
from pubsub_delta.names import subscription_name
from pubsub_delta.policy.fields import MAX_SUBSCRIPTION_RETENTION
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
    console = console_of(request)
    topics = [console.short(each.name) for each in list_all(console.store.list_topics)]
    return render(
        request,
        "subscription_form.html",
        400 if form.has_errors else status,
        id=id_,
        form=form,
        topics=topics,
        new_topic=NEW_TOPIC,
        other_topic=OTHER_TOPIC,
        prompt=prompt(console, form),
        stored=[] if stored is None else field_rows(console, stored),
        more=shows_more_options(form),
        longest_days=MAX_SUBSCRIPTION_RETENTION.days,
    )


@router.get("/subscriptions/_new")
def new_form(request: Request, _: RequiresWrite, topic: str = "") -> Response:
    """Show the form for a new subscription."""
    return _form_page(request, Form(default_values(topic)), None)


@router.post("/subscriptions/_new")
@redisplay_with(_form_page)
def create(request: Request, form: PostedForm) -> Response:
    """Create a subscription, and the new topics that its form names."""
    console, name = console_of(request), form.text("id")
    fields = {**editable_fields(form), **creation_fields(form)}
    topic = form.validate(lambda: chosen_topic(form, "topic"), ERROR_FIELDS)
    check_new(form, name, topic, fields, console.project)  # before a topic is created for nothing
    if "id" not in form.errors:
        _check_free(console, form, name, "id")
    _check_dead_letter_subscription(console, form, name)
    if form.has_errors:
        return _form_page(request, form, None)
    assert topic is not None

    def work() -> Subscription:
        _create_topics(console, form, fields)
        found = console.store.create_subscription(name, topic, **fields)
        _create_dead_letter_subscription(console, form, found)
        return found

    return create_resource(request, "subscription", name, work, _on_error(form, None))


def _check_free(console: Console, form: Form, name: str, field: str) -> None:
    try:
        console.store.get_subscription(name)
    except NotFound:
        return
    form.errors[field] = f"a subscription {name} exists already; choose another ID"


def _check_dead_letter_subscription(console: Console, form: Form, own: str) -> None:
    """Add the error of the new subscription for dead letters; ``own``: whose letters it keeps."""
    name, field = dead_letter_subscription_id(form), "dead_letter_subscription_id"
    if name is None:
        return
    form.validate(lambda: subscription_name(name, console.project), {"subscription": field})
    if name == own:
        form.errors[field] = "it is the ID of the subscription itself; choose another ID"
    elif field not in form.errors:
        _check_free(console, form, name, field)


@router.get("/subscriptions/{id_}/edit")
def edit_form(request: Request, id_: str, _: RequiresWrite) -> Response:
    """Show the form of a subscription."""
    console = console_of(request)
    subscription = console.store.get_subscription(id_)
    return _form_page(request, Form(form_values(subscription, console.project)), id_)


@router.post("/subscriptions/{id_}/edit")
@redisplay_with(_form_page)
def edit(request: Request, id_: str, form: PostedForm) -> Response:
    """Change the edited fields, unless another writer has changed the subscription meanwhile."""
    console = console_of(request)

    def fields_to_change(stored: Subscription) -> dict[str, Any]:
        fields = changed_fields(form, stored, console.project)
        check_update(form, fields, stored, console.project)
        _check_dead_letter_subscription(console, form, id_)
        if dead_letter_subscription_id(form) is not None:  # it is asked for, if nothing else is
            fields.setdefault("dead_letter_policy", stored.dead_letter_policy)
        return fields

    def update(stored: Subscription, fields: dict[str, Any]) -> None:
        _create_topics(console, form, fields)
        changed = console.store.update_subscription(id_, if_unchanged=stored, **fields)
        form.values["fingerprint"] = fingerprint(changed)
        _create_dead_letter_subscription(console, form, changed)

    return update_resource(
        request,
        form,
        "subscription",
        id_,
        read=console.store.get_subscription,
        changed_fields=fields_to_change,
        update=update,
        form_page=_form_page,
        on_error=_on_error(form, id_),
    )


def _deletion(console: Console, id_: str) -> Deletion:
    subscription = console.store.get_subscription(id_)

    def lost() -> str:
        if subscription.detached:
            return "It has no backlog."
        number = console.store.subscription_metrics(id_).num_undelivered_messages
        some = f"{count(number)} unacknowledged {'message is' if number == 1 else 'messages are'}"
        return f"Its backlog is lost: {some} in it, and no other subscription has a part in that."

    consequences = [consequence(lost), "Its snapshots stay until they expire."]
    return Deletion("subscription", id_, subscription, consequences)


@router.get("/subscriptions/{id_}/delete")
def delete_form(request: Request, id_: str, _: RequiresWrite) -> Response:
    """Ask whether a subscription is to be deleted."""
    console = console_of(request)
    return run_job(
        request,
        f"Counting the backlog of {id_}",
        lambda: _deletion(console, id_),
        confirm_page,
    )


@router.post("/subscriptions/{id_}/delete")
def delete(request: Request, id_: str, form: PostedForm) -> Response:
    """Delete a subscription."""
    console = console_of(request)
    return delete_resource(
        request,
        form,
        "subscription",
        id_,
        read=console.store.get_subscription,
        deletion=lambda: _deletion(console, id_),
        delete=lambda name, stored: console.store.delete_subscription(name, if_unchanged=stored),
    )


@router.get("/filters/check")
def check_filter(request: Request, filter: str = "") -> Response:
    """Show the error of a filter while it is typed, as a fragment."""
    try:
        wording, is_wrong = "Every message is in the backlog.", False
        if parse_filter(filter) is not None:
            wording = "The filter can be read."
    except InvalidArgument as error:
        wording, is_wrong = readable(str(error).removeprefix("filter: ")), True
    return render(request, "filter_part.html", wording=wording, is_wrong=is_wrong)


def _create_topics(console: Console, form: Form, fields: dict[str, Any]) -> None:
    """Create the new topics of the form, which then names them as chosen topics."""
    letters: DeadLetterPolicy | None = fields.get("dead_letter_policy")
    for name in ("topic", "dead_letter_topic"):
        if form[name] != NEW_TOPIC or (name == "dead_letter_topic" and letters is None):
            continue
        created = console.store.create_topic(chosen_topic(form, name))
        form.values[name] = console.short(created.name)


def _create_dead_letter_subscription(
    console: Console, form: Form, subscription: Subscription
) -> None:
    """Create the subscription for the dead letters, if the form asks for one."""
    name, letters = dead_letter_subscription_id(form), subscription.dead_letter_policy
    if name is None or letters is None:
        return
    try:
        console.store.create_subscription(name, letters.dead_letter_topic)
    except PubSubError as error:
        raise FailedPrecondition(
            f"{console.short(subscription.name)} is saved, but the subscription {name} for its "
            f"dead letters was not created: {error}"
        ) from None


def _on_error(form: Form, id_: str | None) -> Callable[[Request, PubSubError], Response]:
    def answer(request: Request, error: PubSubError) -> Response:
        named = str(error)
        fields = dict(ERROR_FIELDS)
        if named.startswith(("topic projects/", "topic _")):
            fields[""] = "topic"
        elif named.startswith("subscription ") and not isinstance(error, NotFound):
            fields[""] = "id" if id_ is None else ""
        return _form_page(request, form.add_error(error, fields), id_)

    return answer
