"""Subscriptions: the list with what is behind, and the pages of one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response

from pubsub_delta.console import charts, picture, shown
from pubsub_delta.console.dead_letters import action_items
from pubsub_delta.console.listing import listed
from pubsub_delta.console.lists import Column, chosen, remember
from pubsub_delta.console.measurements import Measurement
from pubsub_delta.console.pages import Console, address, of, page, part
from pubsub_delta.resources import Subscription
from pubsub_delta.tables.ack_state.figures import SubscriptionFigures

router = APIRouter()

PATIENCE = 0.15
"""So many seconds a list waits for figures that it does not know yet."""


@dataclass(frozen=True)
class Row:
    """A subscription in the list, with its figures as far as they are known."""

    id: str
    subscription: Subscription
    measurement: Measurement[SubscriptionFigures] | None
    age: float | None
    """Seconds since the oldest unacknowledged message was published, 0 without one."""

    @property
    def figures(self) -> SubscriptionFigures | None:
        """The figures, None where they are not known."""
        return None if self.measurement is None else self.measurement.value

    def of(self, name: str) -> Any:
        """Return one of the figures, None where it is not known."""
        return getattr(self.figures, name, None)


def _rate(row: Row) -> float | None:
    return None if row.measurement is None else row.measurement.rate


COLUMNS: tuple[Column[Row], ...] = (
    Column("id", "Subscription ID", lambda row: row.id),
    Column("topic", "Topic", lambda row: row.subscription.topic),
    Column("backlog", "Backlog", lambda row: row.of("num_undelivered_messages"), is_number=True),
    Column("age", "Oldest", lambda row: row.age, is_number=True),
    Column("leased", "Leased", lambda row: row.of("num_outstanding_messages"), is_number=True),
    Column(
        "letters",
        "Dead-lettered",
        lambda row: row.of("dead_letter_message_count"),
        is_number=True,
    ),
    Column("rate", "Acked", _rate, is_number=True),
    Column(
        "acked",
        "Acked, ever",
        lambda row: row.of("ack_message_count_success"),
        is_number=True,
        is_usual=False,
    ),
    Column(
        "active",
        "Last used",
        lambda row: row.of("active_time"),
        is_number=True,
        is_usual=False,
    ),
    Column("delivery", "Delivery", lambda row: row.subscription.push_config is not None,
           is_usual=False),
    Column("deadline", "Ack deadline", lambda row: row.subscription.ack_deadline_seconds,
           is_number=True, is_usual=False),
    Column("retention", "Retention", lambda row: row.subscription.message_retention_duration,
           is_number=True, is_usual=False),
    Column("filter", "Filter", lambda row: row.subscription.filter, is_usual=False),
    Column("features", "Features", lambda row: row.subscription.enable_message_ordering,
           is_usual=False),
    Column("labels", "Labels", lambda row: str(row.subscription.labels), is_usual=False),
    Column("created", "Created", lambda row: row.subscription.create_time, is_usual=False),
)  # fmt: skip


def rows_of(console: Console, names: list[str], patience: float) -> list[Row]:
    """Return all subscriptions of the project with their figures.

    ``names``: those that are on the page; it waits a little for them.
    """
    every = listed(console.store.list_subscriptions)
    uids = {each.name: each.uid for each in every}
    known = console.subscriptions.look(uids, names, patience)
    now = console.at_present()

    def age(name: str) -> float | None:
        figures = known[name].value if name in known else None
        if figures is None:
            return None
        oldest = figures.oldest_unacked_publish_time
        return 0.0 if oldest is None else max(0.0, (now - oldest).total_seconds())

    return [
        Row(console.short(each.name), each, known.get(each.name), age(each.name)) for each in every
    ]


@router.get("/subscriptions")
def show_all(request: Request) -> Response:
    """List the subscriptions of the project, the one that is most behind first."""
    console = of(request)
    known = chosen(request, "/subscriptions", rows_of(console, [], 0), COLUMNS, "backlog")
    names = [row.subscription.name for row in known.rows]
    rows = rows_of(console, names, PATIENCE)
    found = chosen(request, "/subscriptions", rows, COLUMNS, "backlog")
    unknown = sum(row.measurement is None for row in rows)
    is_part = "hx-request" in request.headers
    answer = page(
        request,
        "subscriptions_part.html" if is_part else "subscriptions.html",
        found=found,
        unknown=unknown,
        refreshed=found.address(page=found.page),
    )
    return remember(request, answer, "/subscriptions")


@router.get("/subscriptions/{id_}")
def show(request: Request, id_: str) -> Response:
    """Show how a subscription stands."""
    console = of(request)
    subscription = console.store.get_subscription(id_)
    return page(
        request,
        "subscription.html",
        id=id_,
        subscription=subscription,
        actions=action_items(console, subscription),
    )


@router.get("/subscriptions/{id_}/details")
def show_details(request: Request, id_: str) -> Response:
    """Show the fields of a subscription."""
    console = of(request)
    subscription = console.store.get_subscription(id_)
    facts = facts_of(console, subscription)
    return page(
        request, "subscription_details.html", id=id_, subscription=subscription, facts=facts
    )


@router.get("/subscriptions/{id_}/figures")
def show_figures(request: Request, id_: str) -> Response:
    """Show the metrics of a subscription: a part of its page."""
    console = of(request)
    return part(
        request,
        "Measuring the backlog",
        partial(console.metrics, "subscriptions", id_),
        lambda asked, found: page(asked, "subscription_figures.html", id=id_, figures=found),
    )


@router.get("/subscriptions/{id_}/picture")
def show_picture(request: Request, id_: str) -> Response:
    """Show the ack state of a subscription as a picture: a part of its page."""
    asked_for = picture.wanted(request.query_params)
    return part(
        request,
        "Drawing the ack state",
        partial(of(request).store.survey_ack_state, id_),
        lambda asked, survey: page(
            asked,
            "picture.html",
            id=id_,
            survey=survey,
            picture=picture.drawn(survey, asked_for),
            view=asked_for,
            at=address("subscriptions", id_, "picture"),
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
