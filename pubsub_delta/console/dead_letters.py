"""Dead lettering: what there is to do about it, and the subscription that keeps the letters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response

from pubsub_delta.console.forms import Form, Posted
from pubsub_delta.console.listing import listed
from pubsub_delta.console.pages import Console, done, go, of, page, run
from pubsub_delta.console.subscription_form import NEW_TOPIC, OTHER_TOPIC
from pubsub_delta.errors import InvalidArgument, NotFound, PubSubError
from pubsub_delta.resources import Subscription

router = APIRouter()


@dataclass(frozen=True)
class ActionItem:
    """Something about dead lettering that is in order, or not.

    ``suggested_id``: of the subscription that a button creates to put it in order.
    """

    is_done: bool
    text: str
    suggested_id: str = ""


def action_items(console: Console, subscription: Subscription) -> list[ActionItem]:
    """Return what a subscription's dead lettering needs; nothing where it is off."""
    policy = subscription.dead_letter_policy
    if policy is None:
        return []
    name = console.short(policy.dead_letter_topic)
    try:
        readers = listed(console.store.list_topic_subscriptions, policy.dead_letter_topic)
    except NotFound:
        return [ActionItem(False, f"The dead-letter topic {name} does not exist. Create it.")]
    items = [ActionItem(True, f"The dead-letter topic {name} exists.")]
    if readers:
        names = ", ".join(console.short(each) for each in readers[:3])
        more = f" and {len(readers) - 3} more" if len(readers) > 3 else ""
        return [*items, ActionItem(True, f"It has a subscription: {names}{more}.")]
    return [
        *items,
        ActionItem(
            False,
            f"The dead-letter topic {name} has no subscription: what is forwarded to it "
            "is kept for nobody.",
            suggested_id(name),
        ),
    ]


def suggested_id(topic: str) -> str:
    """Return an id for the subscription that keeps the letters of a topic."""
    return f"{topic.rsplit('/', 1)[-1][:240]}-kept"


def prompt(console: Console, form: Form) -> dict[str, Any]:
    """Return what the form says about the dead-letter topic that is chosen in it."""
    choice = form.text("dead_letter_topic")
    is_new = choice == NEW_TOPIC
    name = form.text("new_dead_letter_topic") if choice in (NEW_TOPIC, OTHER_TOPIC) else choice
    told = {
        "is_needed": False,
        "topic": name,
        "suggested_id": form.text("letters_id") or suggested_id(name),
        "is_wanted": form.is_on("create_letters"),
    }
    if not name:
        return told
    if not is_new:
        try:
            is_new = not listed(console.store.list_topic_subscriptions, name)
        except (NotFound, InvalidArgument):
            return told
    return {**told, "is_needed": is_new}


@router.get("/dead-letter-topics/check")
def check(
    request: Request,
    dead_letter_topic: str = "",
    new_dead_letter_topic: str = "",
    create_letters: str = "",
) -> Response:
    """Ask for a subscription where the chosen topic has none: a part of the form."""
    form = Form(
        {
            "dead_letter_topic": dead_letter_topic,
            "new_dead_letter_topic": new_dead_letter_topic,
            "create_letters": create_letters,
        }
    )
    return page(request, "letters_part.html", prompt=prompt(of(request), form))


@router.post("/subscriptions/{id_}/dead-letters/keep")
def keep(request: Request, id_: str, form: Posted) -> Response:
    """Create a subscription to the dead-letter topic of a subscription."""
    store, name = of(request).store, form.text("letters_id")
    policy = store.get_subscription(id_).dead_letter_policy
    if policy is None:
        return go("subscriptions", id_)

    def failed(asked: Request, error: PubSubError) -> Response:
        form.told(error, {"subscription": "letters_id", "": "letters_id"})
        return page(asked, "keep_letters.html", 400, id=id_, form=form)

    return run(
        request,
        f"Creating the subscription {name}",
        lambda: store.create_subscription(name, policy.dead_letter_topic),
        lambda asked, _: done(
            asked, "The dead-letter topic has a subscription now.", "subscriptions", id_
        ),
        failed,
    )
