"""Subscriptions: the list with their backlogs, and the pages of one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response

from pubsub_delta.console import ack_state_chart, charts, formatting
from pubsub_delta.console.context import Console, address, console_of
from pubsub_delta.console.dead_letters import action_items
from pubsub_delta.console.forms import pairs_text
from pubsub_delta.console.lists import Column, list_all, list_page, store_columns
from pubsub_delta.console.measurements import Measurement
from pubsub_delta.console.responses import fragment, render
from pubsub_delta.policy.metrics import SubscriptionMetrics
from pubsub_delta.resources import Subscription

router = APIRouter()

WAIT_SECONDS = 0.15
"""The seconds that a list waits for metrics that are not measured yet."""


@dataclass(frozen=True)
class Row:
    """A subscription in the list, with its metrics as far as they are known."""

    id: str
    subscription: Subscription
    measurement: Measurement[SubscriptionMetrics] | None
    age: float | None
    """Seconds since the oldest unacknowledged message was published, 0 without one."""

    @property
    def metrics(self) -> SubscriptionMetrics | None:
        """The metrics, None if they are not known."""
        return None if self.measurement is None else self.measurement.value

    def of(self, name: str) -> Any:
        """Return one of the metrics, None if it is not known."""
        return getattr(self.metrics, name, None)


def _rate(row: Row) -> float | None:
    return None if row.measurement is None else row.measurement.rate


COLUMNS: tuple[Column[Row], ...] = (
    Column("id", "Subscription ID", lambda row: row.id),
    Column("topic", "Topic", lambda row: row.subscription.topic.rpartition("/")[2],
           is_searched=True),
    Column("backlog", "Backlog", lambda row: row.of("num_undelivered_messages"), is_number=True),
    Column("age", "Oldest", lambda row: row.age, is_number=True),
    Column("leased", "Leased", lambda row: row.of("num_outstanding_messages"), is_number=True),
    Column("letters", "Dead-lettered", lambda row: row.of("dead_letter_message_count"),
           is_number=True),
    Column("rate", "Acked", _rate, is_number=True),
    Column("acked", "Acked, ever", lambda row: row.of("ack_message_count_success"),
           is_number=True, is_default=False),
    Column("active", "Last used", lambda row: row.of("active_time"), is_number=True,
           is_default=False),
    Column("delivery", "Delivery", lambda row: delivery_type(row.subscription),
           is_default=False),
    Column("deadline", "Ack deadline", lambda row: row.subscription.ack_deadline_seconds,
           is_number=True, is_default=False),
    Column("retention", "Retention", lambda row: row.subscription.message_retention_duration,
           is_number=True, is_default=False),
    Column("filter", "Filter", lambda row: row.subscription.filter, is_default=False,
           is_searched=True),
    Column("features", "Features", lambda row: row.subscription.enable_message_ordering,
           is_default=False),
    Column("labels", "Labels", lambda row: pairs_text(row.subscription.labels), is_default=False,
           is_searched=True),
    Column("created", "Created", lambda row: row.subscription.create_time, is_default=False),
)  # fmt: skip


def rows_of(console: Console, names: list[str], timeout: float) -> list[Row]:
    """Return all subscriptions of the project with their metrics.

    ``names``: the subscriptions on the page, whose figures it waits for a little.
    """
    every = list_all(console.store.list_subscriptions)
    uids = {each.name: each.uid for each in every}
    known = console.subscriptions.latest(uids, names, timeout)
    now = console.at_present()

    def age(name: str) -> float | None:
        metrics = known[name].value if name in known else None
        if metrics is None:
            return None
        oldest = metrics.oldest_unacked_publish_time
        return 0.0 if oldest is None else max(0.0, (now - oldest).total_seconds())

    return [
        Row(console.short(each.name), each, known.get(each.name), age(each.name)) for each in every
    ]


@router.get("/subscriptions")
def show_all(request: Request) -> Response:
    """List the subscriptions of the project, the one with the largest backlog first."""
    console = console_of(request)
    known = list_page(request, "/subscriptions", rows_of(console, [], 0), COLUMNS, "backlog")
    names = [row.subscription.name for row in known.rows]
    rows = rows_of(console, names, WAIT_SECONDS)
    found = list_page(request, "/subscriptions", rows, COLUMNS, "backlog")
    unknown = sum(row.measurement is None for row in rows)
    is_part = "hx-request" in request.headers
    response = render(
        request,
        "subscriptions_part.html" if is_part else "subscriptions.html",
        found=found,
        unknown=unknown,
        delivery_type=delivery_type,
        refreshed=found.address(page=found.page),
    )
    return store_columns(request, response, "/subscriptions")


@router.get("/subscriptions/{id_}")
def show(request: Request, id_: str) -> Response:
    """Show a subscription: its metrics, backlog and state."""
    console = console_of(request)
    subscription = console.store.get_subscription(id_)
    return render(
        request,
        "subscription.html",
        id=id_,
        subscription=subscription,
        actions=action_items(console, subscription),
    )


@router.get("/subscriptions/{id_}/details")
def show_details(request: Request, id_: str) -> Response:
    """Show the fields of a subscription."""
    console = console_of(request)
    subscription = console.store.get_subscription(id_)
    facts = field_rows(console, subscription)
    return render(
        request, "subscription_details.html", id=id_, subscription=subscription, facts=facts
    )


@router.get("/subscriptions/{id_}/metrics")
def show_metrics(request: Request, id_: str) -> Response:
    """Show the metrics of a subscription: a part of its page."""
    console = console_of(request)
    return fragment(
        request,
        "Measuring the backlog",
        partial(console.metrics, "subscriptions", id_),
        lambda asked, found: render(asked, "subscription_metrics.html", id=id_, metrics=found),
    )


@router.get("/subscriptions/{id_}/ack-state-chart")
def show_ack_state_chart(request: Request, id_: str) -> Response:
    """Show the ack state of a subscription as a chart: a part of its page."""
    asked_for = ack_state_chart.chart_view(request.query_params)
    return fragment(
        request,
        "Drawing the ack state",
        partial(console_of(request).store.survey_ack_state, id_),
        lambda asked, survey: render(
            asked,
            "ack_state_chart.html",
            id=id_,
            survey=survey,
            chart=ack_state_chart.draw(survey, asked_for),
            view=asked_for,
            at=address("subscriptions", id_, "ack-state-chart"),
        ),
    )


@router.get("/subscriptions/{id_}/history")
def show_history(request: Request, id_: str) -> Response:
    """Show the metrics of a subscription over time: a part of its page."""
    return fragment(
        request,
        "Reading the versions of the ack state",
        partial(console_of(request).store.subscription_history, id_),
        lambda asked, moments: render(
            asked,
            "subscription_history.html",
            id=id_,
            moments=moments,
            series=charts.time_series(moments),
        ),
    )


def field_rows(console: Console, subscription: Subscription) -> list[tuple[str, str]]:
    """Return the fields of a subscription as rows of a page."""
    letters, retry = subscription.dead_letter_policy, subscription.retry_policy
    ttl = subscription.expiration_policy.ttl
    backoff = "Immediately"
    if retry is not None:
        backoff = (
            f"After exponential backoff, {_duration(retry.minimum_backoff)} "
            f"to {_duration(retry.maximum_backoff)}"
        )
    kept = "and acknowledged ones" if subscription.retain_acked_messages else "unacknowledged only"
    return [
        ("Delivery", _delivery(subscription)),
        ("Acknowledgement deadline", f"{subscription.ack_deadline_seconds} s"),
        (
            "Message retention",
            f"{formatting.duration(subscription.message_retention_duration)}, {kept}",
        ),
        ("Expires", "Never" if ttl is None else f"After {_duration(ttl)} without use"),
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
        ("Created", formatting.timestamp(subscription.create_time)),
        ("Last change", formatting.timestamp(subscription.update_time)),
    ]


def delivery_type(subscription: Subscription) -> str:
    """Return how messages are delivered: Pull, Push or Table."""
    if subscription.push_config is not None:
        return "Push"
    return "Pull" if subscription.table_config is None else "Table"


def _delivery(subscription: Subscription) -> str:
    push, table = subscription.push_config, subscription.table_config
    if push is not None:
        return f"Push to {push.push_endpoint}"
    if table is None:
        return "Pull"
    state = "" if table.state is None else f" ({table.state.value})"
    return f"Written to the table {table.table}{state}"


def _duration(value: Any) -> str:
    # Typed as what the API accepts; a resource that was read has a timedelta.
    return formatting.duration(value)


def _on(is_on: bool) -> str:
    return "On" if is_on else "Off"
