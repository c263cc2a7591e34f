"""The overview: backlogs, action items, rates, and the last maintenance."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from datetime import datetime

from fastapi import APIRouter, Request, Response

from pubsub_delta.console import subscriptions, topics
from pubsub_delta.console.context import Console, address, console_of
from pubsub_delta.console.lists import list_all
from pubsub_delta.console.responses import fragment, render
from pubsub_delta.operations.history import TopicCommit

router = APIRouter()

MOST_BEHIND = 8
QUICK = 60
"""Up to this number of resources, all are measured, and the first response waits for it."""
_MOST_ITEMS = 20
_COMMITS = 100
_MAINTENANCE = {
    "delete": "Messages were deleted by retention",
    "optimize": "Small files were joined",
    "vacuum end": "Files that nobody needs were removed",
}
"""Descriptions of maintenance, by the operation of its commit."""


@dataclass(frozen=True)
class Item:
    """A problem to look at. ``at``, ``link``: the address and the text of its link."""

    text: str
    at: str
    link: str


@dataclass(frozen=True)
class Rates:
    """Messages per second of a project; None if nothing is measured."""

    published: float | None
    acked: float | None


@dataclass(frozen=True)
class MaintenanceCommit:
    """The last commit of maintenance of one kind."""

    what: str
    time: datetime
    topic: str
    message_count: int | None


@router.get("/")
def show(request: Request) -> Response:
    """Show the overview; as a fragment for htmx."""
    console = console_of(request)
    is_part = "hx-request" in request.headers
    rows = subscriptions.rows_of(console, [], 0)
    timeout = 0 if is_part or len(rows) > QUICK else subscriptions.WAIT_SECONDS
    wanted = rows if len(rows) <= QUICK else measured_first(rows)
    rows = subscriptions.rows_of(console, [row.subscription.name for row in wanted], timeout)
    readers = [row.subscription for row in rows]
    every = topics.rows_of(console, [], 0, readers)
    if len(every) <= QUICK:
        names = [row.topic.name for row in every]
        every = topics.rows_of(console, names, timeout, readers)
    behind = _behind(rows)
    published = [row.of("publish_rate") for row in every]
    acked = [row.measurement.rate for row in rows if row.measurement is not None]
    known = [rate for rate in published if rate is not None]
    known_acked = [rate for rate in acked if rate is not None]
    return render(
        request,
        "overview_part.html" if is_part else "overview.html",
        behind=behind[:MOST_BEHIND],
        behind_count=len(behind),
        backlog=sum(row.of("num_undelivered_messages") for row in behind),
        leased=sum(row.of("num_outstanding_messages") or 0 for row in rows),
        oldest=max((row.age or 0 for row in rows), default=0),
        subscriptions=len(rows),
        topics=len(every),
        messages=sum(row.of("message_count") or 0 for row in every),
        items=_items(console, rows, every),
        rates=Rates(sum(known) if known else None, sum(known_acked) if known_acked else None),
        unknown=sum(row.measurement is None for row in rows)
        + sum(row.measurement is None for row in every),
        options=" ".join(f"--{name}={shlex.quote(text)}" for name, text in _store(console)),
        arguments=", ".join(
            repr(text) if name == "root" else f"{name}={text!r}" for name, text in _store(console)
        ),
    )


def _store(console: Console) -> list[tuple[str, str]]:
    """Return what opens the store of the console: its root, and its project if it is named."""
    named = [("project", console.project)] if console.project != "local" else []
    return [("root", console.root), *named]


def measured_first(rows: list[subscriptions.Row]) -> list[subscriptions.Row]:
    """Return subscriptions in the order in which the page needs their measurements.

    Those of dead letters come first, then the largest known backlogs.
    """
    policies = [row.subscription.dead_letter_policy for row in rows]
    letters = {each.dead_letter_topic for each in policies if each is not None}
    found = [row for row in rows if row.subscription.topic in letters][:_MOST_ITEMS]
    return found + [row for row in _behind(rows)[:MOST_BEHIND] if row not in found]


def _behind(rows: list[subscriptions.Row]) -> list[subscriptions.Row]:
    found = [row for row in rows if row.of("num_undelivered_messages")]
    return sorted(found, key=lambda row: row.of("num_undelivered_messages"), reverse=True)


def _items(console: Console, rows: list[subscriptions.Row], every: list[topics.Row]) -> list[Item]:
    """Return detached and unreadable subscriptions, and problems with dead letters."""
    readers: dict[str, list[subscriptions.Row]] = {}
    for row in rows:
        readers.setdefault(row.subscription.topic, []).append(row)
    names = {row.topic.name for row in every}
    senders: dict[str, list[str]] = {}
    items = []
    for row in rows:
        at = address("subscriptions", row.id)
        if row.subscription.detached:
            items.append(
                Item(f"{row.id} is detached: it has no messages, and receives none.", at, row.id)
            )
        if row.measurement is not None and row.measurement.problem:
            items.append(Item(f"{row.id} cannot be measured: {row.measurement.problem}", at,
                              row.id))  # fmt: skip
        if row.subscription.dead_letter_policy is not None:
            letters = row.subscription.dead_letter_policy.dead_letter_topic
            senders.setdefault(letters, []).append(row.id)
    for letters, ids in senders.items():
        name, sent_by = console.short(letters), ", ".join(ids[:3])
        at = address("subscriptions", ids[0])
        if letters not in names and letters.split("/")[1:2] == [console.project]:
            items.append(Item(f"The dead-letter topic {name} of {sent_by} does not exist.", at,
                              ids[0]))  # fmt: skip
        elif letters in names and not readers.get(letters):
            items.append(Item(f"The dead-letter topic {name} of {sent_by} has no subscription: "
                              "what is forwarded is kept for nobody.", at, ids[0]))  # fmt: skip
        for reader in readers.get(letters, []):
            waiting = reader.of("num_undelivered_messages")
            if waiting:
                items.append(
                    Item(
                        f"{waiting:,} dead letter{'s wait' if waiting > 1 else ' waits'} "
                        f"on {reader.id}, of {sent_by}.",
                        address("subscriptions", reader.id, "messages"),
                        "Look at them",
                    )
                )
    return items[:_MOST_ITEMS]


@router.get("/maintenance")
def show_maintenance(request: Request) -> Response:
    """Show the last maintenance, as a fragment."""
    console = console_of(request)

    def find() -> list[MaintenanceCommit]:
        last: dict[str, MaintenanceCommit] = {}
        for topic in list_all(console.store.list_topics):
            for commit in console.store.topic_history(topic.name, _COMMITS):
                _note(last, commit, console.short(topic.name))
        return sorted(last.values(), key=lambda each: each.time, reverse=True)

    return fragment(
        request,
        "Reading what maintenance did",
        find,
        lambda asked, found: render(asked, "maintenance.html", commits=found),
    )


def _note(last: dict[str, MaintenanceCommit], commit: TopicCommit, topic: str) -> None:
    what = _MAINTENANCE.get(commit.operation)
    if what is None:
        return
    if what not in last or last[what].time < commit.time:
        last[what] = MaintenanceCommit(what, commit.time, topic, commit.message_count)
