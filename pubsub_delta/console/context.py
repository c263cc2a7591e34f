"""The context of the console's routes: the store, sessions, jobs, searches and measurements."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast
from urllib.parse import quote, urlencode

from fastapi import Request

from pubsub_delta.client import PubSub
from pubsub_delta.console import formatting
from pubsub_delta.console.flash import FlashMessages
from pubsub_delta.console.jobs import Jobs
from pubsub_delta.console.leased_batches import LeasedBatches
from pubsub_delta.console.measurements import Measurements
from pubsub_delta.console.searches import BackgroundSearches
from pubsub_delta.console.security import ConsoleAccess, Sessions
from pubsub_delta.metrics import Metrics
from pubsub_delta.operations.survey import TopicMetrics
from pubsub_delta.policy.metrics import SubscriptionMetrics


@dataclass
class Console:
    """The state of a console.

    ``access``: who may use it. ``at_present``: returns the time. ``project``: the project of its
    resources. ``root``: the name of the store on its pages.
    """

    store: PubSub
    access: ConsoleAccess
    at_present: Callable[[], datetime]
    project: str
    root: str
    sessions: Sessions = field(init=False)
    jobs: Jobs = field(init=False)
    flash_messages: FlashMessages = field(init=False)
    searches: BackgroundSearches = field(init=False)
    leased_batches: LeasedBatches = field(init=False)
    topics: Measurements[TopicMetrics] = field(init=False)
    subscriptions: Measurements[SubscriptionMetrics] = field(init=False)

    def __post_init__(self) -> None:
        self.sessions = Sessions(self.at_present)
        self.jobs = Jobs(self.at_present)
        self.flash_messages = FlashMessages()
        self.searches = BackgroundSearches(self.at_present)
        self.leased_batches = LeasedBatches()
        self.topics = Measurements(
            self.store.topic_metrics, lambda metrics: metrics.message_count, self.at_present
        )
        self.subscriptions = Measurements(
            self.store.subscription_metrics,
            lambda metrics: metrics.ack_message_count_success,
            self.at_present,
        )

    def open(self) -> None:
        """Open the store in a thread, so that the first page comes sooner."""
        threading.Thread(target=self._open, name="opening", daemon=True).start()

    def _open(self) -> None:
        with suppress(Exception):  # the page shows the error
            every = self.store.list_subscriptions(page_size=1_000)
            self.subscriptions.latest({each.name: each.uid for each in every}, [], 0)

    def close(self) -> None:
        """Stop background work."""
        self.searches.close()
        self.topics.close()
        self.subscriptions.close()
        self.jobs.close()

    def short(self, name: str) -> str:
        """Return the ID of a resource of this project, else its full name."""
        return formatting.short_id(name, self.project)

    def metrics(self, kind: str, id_: str) -> Metrics:
        """Return the metrics of a resource of this project, by its kind (``topics``) and id."""
        return self.store.metrics(f"projects/{self.project}/{kind}/{id_}")

    def link(self, name: str) -> str | None:
        """Return the address of a resource by its full name; None if it is of another project."""
        parts = name.split("/")
        if len(parts) != 4 or parts[1] != self.project:
            return None
        return address(parts[2], parts[3])


def console_of(request: Request) -> Console:
    """Return the context of a request."""
    return cast(Console, request.app.state.console)


def address(*parts: str, **query: str) -> str:
    """Return a path of the console with quoted parts.

    >>> address("topics", "50%~off", "edit", tab="all"), address()
    ('/topics/50%25~off/edit?tab=all', '/')
    """
    path = "".join(f"/{quote(part, safe='')}" for part in parts) or "/"
    return f"{path}?{urlencode(query)}" if query else path
