"""Topics: the list, and the pages of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response

from pubsub_delta.console import charts, formatting, subscriptions
from pubsub_delta.console.context import Console, console_of
from pubsub_delta.console.forms import pairs_text
from pubsub_delta.console.lists import Column, list_all, list_page, store_columns
from pubsub_delta.console.measurements import Measurement
from pubsub_delta.console.responses import fragment, render
from pubsub_delta.console.subscriptions import WAIT_SECONDS
from pubsub_delta.metrics import Metrics
from pubsub_delta.operations.survey import TopicMetrics
from pubsub_delta.resources import Subscription, Topic

router = APIRouter()

_MOST_SHOWN = 100
"""Subscriptions that the page of a topic lists."""


@dataclass(frozen=True)
class Row:
    """A topic in the list, with its metrics as far as they are known."""

    id: str
    topic: Topic
    readers: int
    measurement: Measurement[TopicMetrics] | None

    def of(self, name: str) -> Any:
        """Return one of the metrics, None if it is not known."""
        return getattr(self.measurement.value if self.measurement else None, name, None)


COLUMNS: tuple[Column[Row], ...] = (
    Column("id", "Topic ID", lambda row: row.id),
    Column("messages", "Messages", lambda row: row.of("message_count"), is_number=True),
    Column("size", "Size on disk", lambda row: row.of("stored_bytes"), is_number=True),
    Column("rate", "Published", lambda row: row.of("publish_rate"), is_number=True),
    Column("last", "Last publish", lambda row: row.of("publish_time"), is_number=True),
    Column("readers", "Subscriptions", lambda row: row.readers, is_number=True),
    Column("retention", "Message retention",
           lambda row: row.topic.message_retention_duration, is_number=True),
    Column("labels", "Labels", lambda row: pairs_text(row.topic.labels), is_default=False,
           is_searched=True),
    Column("created", "Created", lambda row: row.topic.create_time, is_default=False),
)  # fmt: skip


def rows_of(
    console: Console, names: Sequence[str], timeout: float, readers: Sequence[Subscription]
) -> list[Row]:
    """Return all topics of the project with their figures; ``readers``: its subscriptions."""
    every = list_all(console.store.list_topics)
    known = console.topics.latest({each.name: each.uid for each in every}, names, timeout)
    attached = Counter(each.topic for each in readers if not each.detached)
    return [
        Row(console.short(each.name), each, attached[each.name], known.get(each.name))
        for each in every
    ]


@router.get("/topics")
def show_all(request: Request) -> Response:
    """List the topics of the project."""
    console = console_of(request)
    readers = list_all(console.store.list_subscriptions)
    known = list_page(request, "/topics", rows_of(console, [], 0, readers), COLUMNS, "id")
    rows = rows_of(console, [row.topic.name for row in known.rows], WAIT_SECONDS, readers)
    found = list_page(request, "/topics", rows, COLUMNS, "id")
    response = render(
        request,
        "topics_part.html" if "hx-request" in request.headers else "topics.html",
        found=found,
        unknown=sum(row.measurement is None for row in rows),
        refreshed=found.address(page=found.page),
    )
    return store_columns(request, response, "/topics")


@router.get("/topics/{id_}")
def show(request: Request, id_: str) -> Response:
    """Show a topic with its subscriptions and snapshots."""
    console = console_of(request)
    store, own = console.store, f"projects/{console.project}/"
    topic, attached = store.get_topic(id_), list_all(store.list_topic_subscriptions, id_)
    return render(
        request,
        "topic.html",
        id=id_,
        topic=topic,
        subscriptions=attached,
        others=[name for name in attached if not name.startswith(own)],
        snapshots=list_all(store.list_topic_snapshots, id_),
    )


@router.get("/topics/{id_}/subscriptions")
def show_subscriptions(request: Request, id_: str) -> Response:
    """Show the backlogs of the subscriptions of a topic, largest first: a part of its page."""
    console = console_of(request)
    attached = set(list_all(console.store.list_topic_subscriptions, id_))
    found = subscriptions.rows_of(console, sorted(attached)[:_MOST_SHOWN], WAIT_SECONDS)
    rows = [row for row in found if row.subscription.name in attached]
    rows.sort(key=lambda row: (-(row.of("num_undelivered_messages") or 0), row.id))
    unknown = any(row.measurement is None for row in rows[:_MOST_SHOWN])
    return render(
        request,
        "topic_subscriptions.html",
        id=id_,
        rows=rows[:_MOST_SHOWN],
        count=len(rows),
        unknown=unknown,
    )


@router.get("/topics/{id_}/details")
def show_details(request: Request, id_: str) -> Response:
    """Show the fields of a topic."""
    topic = console_of(request).store.get_topic(id_)
    settings = topic.schema_settings
    terms = "" if settings is None else formatting.schema_terms(settings)
    return render(request, "topic_details.html", id=id_, topic=topic, schema_terms=terms)


@router.get("/topics/{id_}/metrics")
def show_metrics(request: Request, id_: str) -> Response:
    """Show how much a topic stores: a part of its page."""
    console = console_of(request)

    def measure() -> tuple[Metrics, charts.DailyCounts]:
        metrics, days = console.metrics("topics", id_), console.store.messages_by_day(id_)
        return metrics, charts.daily_counts(days, console.at_present().date())

    return fragment(
        request,
        "Counting messages",
        measure,
        lambda asked, found: render(
            asked, "topic_metrics.html", id=id_, metrics=found[0], days=found[1]
        ),
    )
