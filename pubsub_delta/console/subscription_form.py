"""The form of a subscription: its fields as texts, and back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from pubsub_delta.console import shown
from pubsub_delta.console.editing import state_of
from pubsub_delta.console.forms import (
    Form,
    Mistyped,
    duration,
    duration_values,
    pair_lines,
    pairs,
    whole_number,
)
from pubsub_delta.durations import parse_duration
from pubsub_delta.names import subscription_name, topic_name
from pubsub_delta.policy import fields as rules
from pubsub_delta.policy.filters import parse_filter
from pubsub_delta.policy.push_configs import check_push_config
from pubsub_delta.resources import (
    DeadLetterPolicy,
    ExpirationPolicy,
    NoWrapper,
    PushConfig,
    RetryPolicy,
    Subscription,
)

NEW_TOPIC = "+"
"""The choice in a menu of topics that means one which is yet to be created."""
OTHER_TOPIC = "/"
"""The choice that means a topic by its full name, perhaps of another project."""

AT_FIELD = {
    "subscription": "id",
    "topic": "topic",
    "ack_deadline_seconds": "ack_deadline",
    "ack_deadline": "ack_deadline",
    "message_retention_duration": "retention",
    "retention_days": "retention",
    "retention_hours": "retention",
    "retention_minutes": "retention",
    "expiration_policy": "expiration_days",
    "expiration_days": "expiration_days",
    "filter": "filter",
    "dead_letter_policy.dead_letter_topic": "dead_letter_topic",
    "dead_letter_topic": "dead_letter_topic",
    "dead_letter_policy": "max_delivery_attempts",
    "max_delivery_attempts": "max_delivery_attempts",
    "retry_policy.maximum_backoff": "maximum_backoff",
    "retry_policy": "minimum_backoff",
    "minimum_backoff": "minimum_backoff",
    "maximum_backoff": "maximum_backoff",
    "push_config": "push_endpoint",
    "labels": "labels",
}
"""The form's field for each name that errors begin with."""

_USUAL = {
    "ack_deadline": "10",
    "expires": "after",
    "expiration_days": "31",
    "delivery": "pull",
    "retry": "immediate",
    "minimum_backoff": "10",
    "maximum_backoff": "600",
    "max_delivery_attempts": "5",
    **duration_values("retention", timedelta(days=7)),
}


def new_values(topic: str) -> dict[str, str]:
    """Return the fields of the form for a new subscription."""
    return {**_USUAL, "topic": topic}


def values_of(subscription: Subscription, project: str) -> dict[str, str]:
    """Return the fields of the form that show a subscription."""
    letters, retry = subscription.dead_letter_policy, subscription.retry_policy
    ttl, push = subscription.expiration_policy.ttl, subscription.push_config
    values = {
        **_USUAL,
        "shown": state_of(subscription),
        "topic": shown.short_id(subscription.topic, project),
        "ack_deadline": str(subscription.ack_deadline_seconds),
        **duration_values("retention", subscription.message_retention_duration),
        "retain_acked": _switch(subscription.retain_acked_messages),
        "expires": "never" if ttl is None else "after",
        "filter": subscription.filter,
        "ordering": _switch(subscription.enable_message_ordering),
        "exactly_once": _switch(subscription.enable_exactly_once_delivery),
        "delivery": "pull" if push is None else "push",
        "dead_letter": _switch(letters is not None),
        "retry": "immediate" if retry is None else "backoff",
        "labels": pair_lines(subscription.labels),
    }
    if ttl is not None:
        values["expiration_days"] = f"{_seconds(ttl) / 86_400:.10g}"
    if letters is not None:
        values["dead_letter_topic"] = shown.short_id(letters.dead_letter_topic, project)
        values["max_delivery_attempts"] = str(letters.max_delivery_attempts)
    if push is not None:
        values["push_endpoint"] = push.push_endpoint
        values["unwrapped"] = _switch(push.no_wrapper is not None)
        values["write_metadata"] = _switch(bool(push.no_wrapper and push.no_wrapper.write_metadata))
    if retry is not None:
        values["minimum_backoff"] = f"{_seconds(retry.minimum_backoff):.10g}"
        values["maximum_backoff"] = f"{_seconds(retry.maximum_backoff):.10g}"
    return values


def fields_of(form: Form) -> dict[str, Any]:
    """Return the fields of a subscription that can be changed, as a form says them."""
    return {
        "ack_deadline_seconds": whole_number(form, "ack_deadline", "a number of seconds"),
        "message_retention_duration": duration(form, "retention"),
        "retain_acked_messages": form.is_on("retain_acked"),
        "expiration_policy": _expiration(form),
        "enable_exactly_once_delivery": form.is_on("exactly_once"),
        "push_config": _push(form),
        "dead_letter_policy": _dead_letters(form),
        "retry_policy": _retry(form),
        "labels": pairs(form, "labels"),
    }


def fixed_fields_of(form: Form) -> dict[str, Any]:
    """Return the fields that are set at creation only."""
    return {"filter": form["filter"], "enable_message_ordering": form.is_on("ordering")}


def check_new(name: str, topic: str, fields: Mapping[str, Any], project: str) -> None:
    """Find what is wrong with the fields of a new subscription, whatever the store holds."""
    subscription_name(name, project)
    source = str(topic_name(topic, project))
    rules.check_ack_deadline(fields["ack_deadline_seconds"])
    kept = rules.check_subscription_retention(fields["message_retention_duration"])
    rules.check_expiration_policy(fields["expiration_policy"], kept)
    parse_filter(fields["filter"])
    rules.check_dead_letter_policy(fields["dead_letter_policy"], source, project)
    rules.check_retry_policy(fields["retry_policy"])
    exactly_once = fields["enable_exactly_once_delivery"]
    check_push_config(fields["push_config"], enable_exactly_once_delivery=exactly_once)
    rules.check_labels(fields["labels"])


def changes(form: Form, subscription: Subscription, project: str) -> dict[str, Any]:
    """Return the fields that the reader has changed, and no other.

    What a form cannot show to the last second is not changed by looking at it.
    """
    before = fields_of(Form(values_of(subscription, project)))
    return {name: value for name, value in fields_of(form).items() if value != before[name]}


def chosen_topic(form: Form, name: str) -> str:
    """Return the topic that a menu, or the field beside it, names."""
    choice = form.text(name)
    if choice in (NEW_TOPIC, OTHER_TOPIC):
        choice = form.text(f"new_{name}")
    if not choice:
        raise Mistyped(name, "no topic is chosen; one of the menu, or a new one, is accepted")
    return choice


def letters_id(form: Form) -> str | None:
    """Return the id of the subscription that is to keep the dead letters, None for none."""
    wanted = form.is_on("dead_letter") and form.is_on("create_letters")
    return form.text("letters_id") if wanted else None


def _expiration(form: Form) -> ExpirationPolicy:
    if form["expires"] == "never":
        return ExpirationPolicy(ttl=None)
    return ExpirationPolicy(timedelta(days=_number(form, "expiration_days", "a number of days")))


def _push(form: Form) -> PushConfig | None:
    if form["delivery"] != "push":
        return None
    unwrapped = NoWrapper(form.is_on("write_metadata")) if form.is_on("unwrapped") else None
    return PushConfig(form.text("push_endpoint"), no_wrapper=unwrapped)


def _dead_letters(form: Form) -> DeadLetterPolicy | None:
    if not form.is_on("dead_letter"):
        return None
    attempts = whole_number(form, "max_delivery_attempts", "a number from 5 to 100")
    return DeadLetterPolicy(chosen_topic(form, "dead_letter_topic"), attempts)


def _retry(form: Form) -> RetryPolicy | None:
    if form["retry"] != "backoff":
        return None
    smallest, largest = (
        _number(form, name, "a number of seconds from 0 to 600")
        for name in ("minimum_backoff", "maximum_backoff")
    )
    return RetryPolicy(smallest, largest)


def _number(form: Form, name: str, meaning: str) -> float:
    text = form.text(name)
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not abs(number) < 1e9:
        raise Mistyped(name, f"{text!r} is not a number; {meaning} is accepted")
    return number


def _seconds(duration: Any) -> float:
    return parse_duration(duration, "").total_seconds()


def _switch(is_on: bool) -> str:
    return "on" if is_on else ""
