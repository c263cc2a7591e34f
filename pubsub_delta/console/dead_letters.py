"""Dead lettering: action items of a subscription, who reads its dead letters, their sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response

from pubsub_delta.console.context import Console, console_of
from pubsub_delta.console.forms import Form, PostedForm
from pubsub_delta.console.lists import list_all
from pubsub_delta.console.responses import (
    redirect_with_flash,
    redirect_with_problem,
    render,
    run_job,
)
from pubsub_delta.console.subscription_form import NEW_TOPIC, OTHER_TOPIC
from pubsub_delta.errors import InvalidArgument, NotFound, PubSubError
from pubsub_delta.operations.find import FoundMessage, MessageSearch
from pubsub_delta.policy.transactions import source_of_letters
from pubsub_delta.resources import Subscription, Topic

router = APIRouter()

DEAD_LETTER_PREFIX = "CloudPubSubDeadLetterSource"
"""The prefix of the attributes that forwarding adds to a dead letter."""


@dataclass(frozen=True)
class ActionItem:
    """A condition of dead lettering, and whether it holds.

    ``suggested_id``: the ID of a subscription to create, if that makes it hold.
    """

    is_done: bool
    text: str
    suggested_id: str = ""


def action_items(console: Console, subscription: Subscription) -> list[ActionItem]:
    """Return the action items of a subscription with a dead-letter policy."""
    policy = subscription.dead_letter_policy
    if policy is None:
        return []
    name = console.short(policy.dead_letter_topic)
    try:
        readers = list_all(console.store.list_topic_subscriptions, policy.dead_letter_topic)
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


@dataclass(frozen=True)
class DeadLetter:
    """Where a dead letter comes from. ``source_topic``: None if its source is gone."""

    subscription: str
    attempts: str
    published: str
    source_topic: Topic | None

    @property
    def topic(self) -> str:
        """The name of the topic of its source; "" if that is gone."""
        return "" if self.source_topic is None else self.source_topic.name


def dead_letter_of(
    console: Console, search: MessageSearch, message: FoundMessage
) -> DeadLetter | None:
    """Return where a dead letter comes from; None for another message."""
    pairs = message.attributes
    name = pairs.get(f"{DEAD_LETTER_PREFIX}Subscription")
    if not name:
        return None
    project = pairs.get(f"{DEAD_LETTER_PREFIX}SubscriptionProject") or console.project
    full = f"projects/{project}/subscriptions/{name}"
    return DeadLetter(
        full,
        pairs.get(f"{DEAD_LETTER_PREFIX}DeliveryCount", "?"),
        pairs.get(f"{DEAD_LETTER_PREFIX}TopicPublishTime", ""),
        _source_topic(console, search, message, full),
    )


def _source_topic(
    console: Console, search: MessageSearch, message: FoundMessage, full: str
) -> Topic | None:
    """Return the topic of a letter's source, if that is there and has not been created anew.

    The commit of the letter tells the uid of its source. Where the log has forgotten it, a
    subscription that was created after the letter was forwarded is another one.
    """
    store = console.store
    try:
        source = store.get_subscription(full)
        topic = store.get_topic(source.topic)
        again = store.get_subscription(full)
    except (NotFound, InvalidArgument):  # publishers may write any attribute
        return None
    if (again.uid, again.topic) != (source.uid, topic.name):  # deleted between these looks
        return None
    uid = source_of_letters(search.publish_id_of(message) or "")
    if uid is not None:
        return topic if uid == source.uid else None
    is_later = message.publish_time is not None and source.create_time >= message.publish_time
    return None if is_later else topic


def suggested_id(topic: str) -> str:
    """Return an ID for a subscription to a dead-letter topic."""
    return f"{topic.rsplit('/', 1)[-1][:240]}-kept"


def prompt(console: Console, form: Form) -> dict[str, Any]:
    """Return the values of the prompt for a subscription to the chosen dead-letter topic."""
    choice = form.text("dead_letter_topic")
    is_new = choice == NEW_TOPIC
    name = form.text("new_dead_letter_topic") if choice in (NEW_TOPIC, OTHER_TOPIC) else choice
    described = {
        "is_needed": "dead_letter_subscription_id" in form.errors,
        "topic": name,
        "suggested_id": form.text("dead_letter_subscription_id") or suggested_id(name),
        "is_wanted": form.is_on("create_dead_letter_subscription"),
    }
    if not name:
        return described
    if not is_new:
        try:
            is_new = not list_all(console.store.list_topic_subscriptions, name)
        except (NotFound, InvalidArgument):
            return described
    return {**described, "is_needed": is_new or described["is_needed"]}


@router.get("/dead-letter-topics/check")
def check(
    request: Request,
    dead_letter_topic: str = "",
    new_dead_letter_topic: str = "",
    create_dead_letter_subscription: str = "",
) -> Response:
    """Show the prompt for a subscription, if the chosen topic has none: a fragment."""
    form = Form(
        {
            "dead_letter_topic": dead_letter_topic,
            "new_dead_letter_topic": new_dead_letter_topic,
            "create_dead_letter_subscription": create_dead_letter_subscription,
        }
    )
    asked_for = prompt(console_of(request), form)
    return render(request, "dead_letter_subscription_part.html", prompt=asked_for, form=form)


_OTHER_TOPIC_NOW = (
    "Somebody changed the dead-letter topic after this page was shown. Nothing was created."
)


@router.post("/subscriptions/{id_}/dead-letter-subscription")
def create(request: Request, id_: str, form: PostedForm) -> Response:
    """Create a subscription to the dead-letter topic that the page of a subscription has shown."""
    store, name = console_of(request).store, form.text("dead_letter_subscription_id")
    policy = store.get_subscription(id_).dead_letter_policy
    if policy is None or policy.dead_letter_topic != form["dead_letter_topic"]:
        return redirect_with_problem(request, _OTHER_TOPIC_NOW, "subscriptions", id_)

    def failed(asked: Request, error: PubSubError) -> Response:
        field = "dead_letter_subscription_id"
        form.add_error(error, {"subscription": field, "": field})
        return render(asked, "dead_letter_subscription.html", 400, id=id_, form=form)

    return run_job(
        request,
        f"Creating the subscription {name}",
        lambda: store.create_subscription(name, policy.dead_letter_topic),
        lambda asked, _: redirect_with_flash(
            asked, "The dead-letter topic has a subscription now.", "subscriptions", id_
        ),
        failed,
    )
