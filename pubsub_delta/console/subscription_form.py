"""The form of a subscription: converts its fields to texts, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

from pubsub_delta.console import formatting
from pubsub_delta.console.forms import (
    Form,
    InvalidField,
    duration,
    duration_values,
    integer,
    pairs,
    pairs_values,
)
from pubsub_delta.console.resource_changes import edited_fields, fingerprint
from pubsub_delta.durations import parse_duration
from pubsub_delta.names import subscription_name, topic_name
from pubsub_delta.policy import fields as rules
from pubsub_delta.policy.filters import parse_filter
from pubsub_delta.policy.json_texts import is_number
from pubsub_delta.policy.push_configs import check_push_config
from pubsub_delta.policy.table_configs import check_table_config
from pubsub_delta.resources import (
    DeadLetterPolicy,
    ExpirationPolicy,
    NoWrapper,
    OidcToken,
    PushConfig,
    RetryPolicy,
    Subscription,
)
from pubsub_delta.table_config import TableConfig

NEW_TOPIC = "+"
"""The choice in a menu of topics for a new topic."""
OTHER_TOPIC = "/"
"""The choice for a topic by its full name, perhaps of another project."""

ERROR_FIELDS = {
    "subscription": "id",
    "topic": "topic",
    "ack_deadline_seconds": "ack_deadline",
    "message_retention_duration": "retention",
    "retention_days": "retention",
    "retention_hours": "retention",
    "retention_minutes": "retention",
    "expiration_policy": "expiration_days",
    "filter": "filter",
    "dead_letter_policy.dead_letter_topic": "dead_letter_topic",
    "dead_letter_policy": "max_delivery_attempts",
    "retry_policy.maximum_backoff": "maximum_backoff",
    "retry_policy": "minimum_backoff",
    "push_config": "push_endpoint",
    "push_config.oidc_token.service_account_email": "push_account",
    "push_config.oidc_token.audience": "push_audience",
    "table_config": "table",
    "labels": "labels",
}
"""The form's field for each name that errors begin with."""

_DATA, _OF_TOPIC, _OF_TABLE = "data", "topic-schema", "table-schema"
"""The columns of a table: the data alone, or fields by the schema of the topic or the table."""

_DEFAULTS = {
    "ack_deadline": "10",
    "expires": "after",
    "expiration_days": "31",
    "delivery": "pull",
    "table_columns": _DATA,
    "retry": "immediate",
    "minimum_backoff": "10",
    "maximum_backoff": "600",
    "max_delivery_attempts": "5",
    **duration_values("retention", timedelta(days=7)),
}


def default_values(topic: str) -> dict[str, str]:
    """Return the fields of the form for a new subscription."""
    return {**_DEFAULTS, "topic": topic}


def form_values(subscription: Subscription, project: str) -> dict[str, str]:
    """Return the fields of the form that show a subscription."""
    letters, retry = subscription.dead_letter_policy, subscription.retry_policy
    ttl, push = subscription.expiration_policy.ttl, subscription.push_config
    table = subscription.table_config
    values = {
        **_DEFAULTS,
        "fingerprint": fingerprint(subscription),
        "topic": formatting.short_id(subscription.topic, project),
        "ack_deadline": str(subscription.ack_deadline_seconds),
        **duration_values("retention", subscription.message_retention_duration),
        "retain_acked": _switch(subscription.retain_acked_messages),
        "expires": "never" if ttl is None else "after",
        "filter": subscription.filter,
        "ordering": _switch(subscription.enable_message_ordering),
        "exactly_once": _switch(subscription.enable_exactly_once_delivery),
        "delivery": "push" if push else "table" if table else "pull",
        "dead_letter": _switch(letters is not None),
        "retry": "immediate" if retry is None else "backoff",
        **pairs_values("labels", subscription.labels),
    }
    if ttl is not None:
        values["expiration_days"] = f"{_seconds(ttl) / 86_400:.10g}"
    if letters is not None:
        values["dead_letter_topic"] = formatting.short_id(letters.dead_letter_topic, project)
        values["max_delivery_attempts"] = str(letters.max_delivery_attempts)
    if push is not None:
        values["push_endpoint"] = push.push_endpoint
        if push.oidc_token is not None:
            values["push_account"] = push.oidc_token.service_account_email
            values["push_audience"] = push.oidc_token.audience
        values["unwrapped"] = _switch(push.no_wrapper is not None)
        values["write_metadata"] = _switch(bool(push.no_wrapper and push.no_wrapper.write_metadata))
    if table is not None:
        columns = _OF_TABLE if table.use_table_schema else _DATA
        values["table"] = table.table
        values["table_columns"] = _OF_TOPIC if table.use_topic_schema else columns
        values["drop_unknown"] = _switch(table.drop_unknown_fields)
        values["table_metadata"] = _switch(table.write_metadata)
    if retry is not None:
        values["minimum_backoff"] = f"{_seconds(retry.minimum_backoff):.10g}"
        values["maximum_backoff"] = f"{_seconds(retry.maximum_backoff):.10g}"
    return values


_READ: dict[str, Callable[[Form], Any]] = {
    "ack_deadline_seconds": lambda form: integer(form, "ack_deadline", "a number of seconds"),
    "message_retention_duration": lambda form: duration(form, "retention"),
    "retain_acked_messages": lambda form: form.is_on("retain_acked"),
    "expiration_policy": lambda form: _expiration(form),
    "enable_exactly_once_delivery": lambda form: form.is_on("exactly_once"),
    "push_config": lambda form: _push(form),
    "table_config": lambda form: _table(form),
    "dead_letter_policy": lambda form: _dead_letters(form),
    "retry_policy": lambda form: _retry(form),
    "labels": lambda form: pairs(form, "labels"),
}
"""The function that reads each field of a subscription that can be changed."""


def editable_fields(form: Form) -> dict[str, Any]:
    """Return the values in a form of the fields that can be changed.

    Fields that cannot be read are missing, and the form has an error for each.
    """
    found = {}
    for name, read in _READ.items():
        before = len(form.errors)
        value = form.validate(partial(read, form), ERROR_FIELDS)
        if len(form.errors) == before:
            found[name] = value
    return found


def creation_fields(form: Form) -> dict[str, Any]:
    """Return the fields that are set at creation only."""
    return {"filter": form["filter"], "enable_message_ordering": form.is_on("ordering")}


def check_new(
    form: Form, name: str, topic: str | None, fields: Mapping[str, Any], project: str
) -> None:
    """Add the errors of the fields of a new subscription that can be found without the store."""
    none = "" if topic is None else topic
    source = form.validate(lambda: str(topic_name(none, project)), ERROR_FIELDS) if topic else ""
    kept = fields.get("message_retention_duration", timedelta(0))
    exactly_once = fields["enable_exactly_once_delivery"]
    checks: dict[str, Callable[[Any], Any]] = {
        "ack_deadline_seconds": rules.check_ack_deadline,
        "message_retention_duration": rules.check_subscription_retention,
        "expiration_policy": lambda policy: rules.check_expiration_policy(policy, kept),
        "filter": parse_filter,
        "dead_letter_policy": lambda p: rules.check_dead_letter_policy(p, source or "", project),
        "retry_policy": rules.check_retry_policy,
        "push_config": lambda push: check_push_config(
            push, enable_exactly_once_delivery=exactly_once
        ),
        "table_config": lambda table: check_table_config(
            table, push_config=None, enable_exactly_once_delivery=exactly_once
        ),
        "labels": rules.check_labels,
    }
    form.validate(lambda: subscription_name(name, project), ERROR_FIELDS)
    for field, check in checks.items():
        if field in fields:
            form.validate(partial(check, fields[field]), ERROR_FIELDS)


def check_update(form: Form, fields: Mapping[str, Any], stored: Subscription, project: str) -> None:
    """Add the errors of the fields that are changed."""
    for name, value in fields.items():
        if name not in ("expiration_policy", "message_retention_duration"):
            given = {name: value}
            if name in _DELIVERY:  # fields that are checked together
                given |= {other: fields[other] for other in _DELIVERY if other in fields}
            form.validate(
                partial(rules.check_subscription_update, given, stored, project), ERROR_FIELDS
            )
    timed = ("expiration_policy", "message_retention_duration")
    together = {name: fields[name] for name in timed if name in fields}
    if together:
        check = partial(rules.check_subscription_update, together, stored, project)
        form.validate(check, ERROR_FIELDS)
    if not form.has_errors:
        form.validate(
            partial(rules.check_subscription_update, fields, stored, project), ERROR_FIELDS
        )


_DELIVERY = ("push_config", "table_config", "enable_exactly_once_delivery")
_PUSH = ("push_endpoint", "push_account", "push_audience", "unwrapped", "write_metadata")
_TABLE = ("table", "table_columns", "drop_unknown", "table_metadata")
_FIRST = ("id", "topic", "delivery", *_PUSH, *_TABLE, "fingerprint", "csrf_token")
"""The fields at the top; the others are under "More options"."""


def shows_more_options(form: Form) -> bool:
    """Return whether to show the other options: one has an error, or not its default value."""
    usual = {**_DEFAULTS, "topic": form["topic"]}
    others = {n: v for n, v in form.values.items() if n not in _FIRST and not n.startswith("new_")}
    return any(name not in _FIRST for name in form.errors) or any(
        value and usual.get(name, "") != value for name, value in others.items()
    )


def changed_fields(form: Form, subscription: Subscription, project: str) -> dict[str, Any]:
    """Return only the fields that the reader has changed.

    A duration that the form shows without its seconds is not changed by showing it, nor is a label
    that it cannot show.
    """
    before = {n: read(Form(form_values(subscription, project))) for n, read in _READ.items()}
    return edited_fields(editable_fields(form), before, subscription)


def chosen_topic(form: Form, name: str) -> str:
    """Return the topic that a menu, or the field beside it, names."""
    choice = form.text(name)
    if choice in (NEW_TOPIC, OTHER_TOPIC):
        choice = form.text(f"new_{name}")
    if not choice:
        raise InvalidField(name, "no topic is chosen; one of the menu, or a new one, is accepted")
    return choice


def dead_letter_subscription_id(form: Form) -> str | None:
    """Return the id of the new subscription for dead letters, None for none."""
    wanted = form.is_on("dead_letter") and form.is_on("create_dead_letter_subscription")
    return form.text("dead_letter_subscription_id") if wanted else None


def _expiration(form: Form) -> ExpirationPolicy:
    if form["expires"] == "never":
        return ExpirationPolicy(ttl=None)
    return ExpirationPolicy(timedelta(days=_number(form, "expiration_days", "a number of days")))


def _push(form: Form) -> PushConfig | None:
    if form["delivery"] != "push":
        return None
    unwrapped = NoWrapper(form.is_on("write_metadata")) if form.is_on("unwrapped") else None
    account, audience = form.text("push_account"), form.text("push_audience")
    token = OidcToken(account, audience) if account or audience else None
    return PushConfig(form.text("push_endpoint"), no_wrapper=unwrapped, oidc_token=token)


def _table(form: Form) -> TableConfig | None:
    if form["delivery"] != "table":
        return None
    return TableConfig(
        form.text("table"),
        use_topic_schema=form["table_columns"] == _OF_TOPIC,
        use_table_schema=form["table_columns"] == _OF_TABLE,
        write_metadata=form.is_on("table_metadata"),
        drop_unknown_fields=form.is_on("drop_unknown"),
    )


def _dead_letters(form: Form) -> DeadLetterPolicy | None:
    if not form.is_on("dead_letter"):
        return None
    attempts = integer(form, "max_delivery_attempts", "a number from 5 to 100")
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
    number = float(text) if is_number(text) else float("nan")
    if not abs(number) < 1e9:
        raise InvalidField(name, f"{text!r} is not a number; {meaning} is accepted")
    return number


def _seconds(duration: Any) -> float:
    return parse_duration(duration, "").total_seconds()


def _switch(is_on: bool) -> str:
    return "on" if is_on else ""
