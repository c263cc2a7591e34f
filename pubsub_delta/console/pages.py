"""What pages share: the console behind them, the templates, and how long work is shown."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast
from urllib.parse import quote, urlencode

from fastapi import Depends, HTTPException, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pubsub_delta.client import PubSub
from pubsub_delta.clock import to_micros
from pubsub_delta.console import shown
from pubsub_delta.console.held import HeldBatches
from pubsub_delta.console.jobs import PATIENCE_SECONDS, Job, Jobs
from pubsub_delta.console.measurements import Measurements
from pubsub_delta.console.notes import Notes
from pubsub_delta.console.phrases import plain
from pubsub_delta.console.searches import Searches
from pubsub_delta.console.security import Access, Sessions
from pubsub_delta.errors import PubSubError
from pubsub_delta.metrics import Metrics
from pubsub_delta.operations.survey import TopicFigures
from pubsub_delta.tables.ack_state.figures import SubscriptionFigures

T = TypeVar("T")

SECTIONS = {
    "": "Overview",
    "topics": "Topics",
    "subscriptions": "Subscriptions",
    "snapshots": "Snapshots",
    "schemas": "Schemas",
}
"""The parts of the console, by the beginning of their addresses."""


LABELS = {
    "id": "ID",
    "name": "ID",
    "topic": "Topic",
    "subscription": "Subscription",
    "snapshot": "Snapshot",
    "ack_deadline": "Acknowledgement deadline",
    "retention": "Message retention duration",
    "expiration_days": "Expiration period",
    "filter": "Subscription filter",
    "dead_letter_topic": "Dead-letter topic",
    "max_delivery_attempts": "Maximum delivery attempts",
    "minimum_backoff": "Minimum backoff",
    "maximum_backoff": "Maximum backoff",
    "push_endpoint": "Endpoint URL",
    "labels": "Labels",
    "letters_id": "ID of the subscription",
    "data": "Data",
    "attributes": "Attributes",
    "ordering_key": "Ordering key",
    "expire": "Expires at",
    "time": "Point in time",
    "max_messages": "Messages",
    "message_id": "Message ID",
    "earliest": "Published from",
    "latest": "Published until",
    "state": "State",
}
"""How the fields of forms are called on the pages."""


@dataclass
class Console:
    """A store, who may use it, and the work that goes on. ``at_present`` tells the time."""

    store: PubSub
    access: Access
    at_present: Callable[[], datetime]
    project: str
    root: str
    sessions: Sessions = field(init=False)
    jobs: Jobs = field(init=False)
    notes: Notes = field(init=False)
    searches: Searches = field(init=False)
    held: HeldBatches = field(init=False)
    topics: Measurements[TopicFigures] = field(init=False)
    subscriptions: Measurements[SubscriptionFigures] = field(init=False)

    def __post_init__(self) -> None:
        self.sessions = Sessions(self.at_present)
        self.jobs = Jobs(self.at_present)
        self.notes = Notes()
        self.searches = Searches(self.at_present)
        self.held = HeldBatches()
        self.topics = Measurements(
            self.store.topic_figures, lambda figures: figures.message_count, self.at_present
        )
        self.subscriptions = Measurements(
            self.store.subscription_figures,
            lambda figures: figures.ack_message_count_success,
            self.at_present,
        )

    def open(self) -> None:
        """Open the store in the background, so that the first page need not wait for all of it."""
        threading.Thread(target=self._open, name="opening", daemon=True).start()

    def _open(self) -> None:
        with suppress(Exception):  # a page tells what is wrong
            every = self.store.list_subscriptions(page_size=1_000)
            self.subscriptions.look({each.name: each.uid for each in every}, [], 0)

    def close(self) -> None:
        """End what goes on in the background."""
        self.searches.close()
        self.topics.close()
        self.subscriptions.close()
        self.jobs.close()

    def short(self, name: str) -> str:
        """Write a name as its id, where it is of this project."""
        return shown.short_id(name, self.project)

    def metrics(self, kind: str, id_: str) -> Metrics:
        """Return the metrics of a resource of this project, by its kind (``topics``) and id."""
        return self.store.metrics(f"projects/{self.project}/{kind}/{id_}")

    def link(self, name: str) -> str | None:
        """Return the address of a resource by its full name, None where it is of elsewhere."""
        parts = name.split("/")
        if len(parts) != 4 or parts[1] != self.project:
            return None
        return address(parts[2], parts[3])


def of(request: Request) -> Console:
    """Return the console that a request is for."""
    return cast(Console, request.app.state.console)


def address(*parts: str, **query: str) -> str:
    """Return a path of this console, whatever stands in its parts.

    >>> address("topics", "50%~off", "edit", tab="all"), address()
    ('/topics/50%25~off/edit?tab=all', '/')
    """
    path = "".join(f"/{quote(part, safe='')}" for part in parts) or "/"
    return f"{path}?{urlencode(query)}" if query else path


def go(*parts: str, **query: str) -> Response:
    """Send the browser to another page, after something was done."""
    return RedirectResponse(address(*parts, **query), 303)


def done(request: Request, note: str, *parts: str, **query: str) -> Response:
    """Send the browser to another page, which says once what was done."""
    return go(*parts, **query, done=of(request).notes.add(note))


def refuse_read_only(request: Request) -> None:
    """Refuse a form that a console which is read-only would not take."""
    if of(request).access.read_only:
        raise HTTPException(403, "This console is read-only; nothing can be changed in it.")


Changing = Annotated[None, Depends(refuse_read_only)]
"""A parameter of the routes that show a form for a change."""


_ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters.update(
    count=shown.count,
    definition=shown.definition,
    size=shown.size,
    span=shown.span,
    time=shown.instant,
    machine_time=shown.machine_time,
    visible=shown.visible,
    rate=shown.rate,
    micros=to_micros,
    label=lambda name: LABELS.get(name, name),
)
_ENVIRONMENT.globals.update(address=address, sections=SECTIONS, schema_types=shown.SCHEMA_TYPES)


def section_of(path: str) -> str:
    """Return which part of the console an address belongs to.

    >>> section_of("/topics/flights/edit"), section_of("/")
    ('topics', '')
    """
    return path.split("/")[1] if path.startswith("/") else ""


def page(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """Answer with a page."""
    console = of(request)
    key = request.query_params.get("done", "")
    return HTMLResponse(
        _ENVIRONMENT.get_template(template).render(
            console=console,
            path=request.url.path,
            section=getattr(request.state, "section", section_of(request.url.path)),
            read_only=console.access.read_only,
            form_token=console.sessions.form_token(request.state.session),
            is_in=request.state.session.signed_in,
            signed_in=console.access.token is not None and request.state.session.signed_in,
            note=partial(console.notes.take, key),
            **values,
        ),
        status,
    )


def problem_page(request: Request, text: str, status: int, code: str = "") -> Response:
    """Answer with what went wrong: a whole page, or a part of one where a part was asked for."""
    template = "problem_part.html" if "hx-request" in request.headers else "problem.html"
    # htmx puts no answer of an error in its place
    told = 200 if "hx-request" in request.headers and request.method == "GET" else status
    text = plain(text)
    return page(request, template, told, text=text, code=code, is_missing=status == 404)


def run(
    request: Request,
    title: str,
    work: Callable[[], T],
    then: Callable[[Request, T], Response],
    failed: Callable[[Request, PubSubError], Response] | None = None,
) -> Response:
    """Do work in a thread, and answer with what it leads to; with a page of progress if it lasts.

    ``title``: what is going on. ``failed``: answers for an error of the library; by default a page
    that tells it.
    """
    console = of(request)
    job = console.jobs.start(
        title,
        work,
        then,
        failed or _failed,
        request.state.form_bytes,
        section_of(request.url.path),
    )
    if not job.wait(PATIENCE_SECONDS):
        return go("jobs", job.id)
    console.jobs.forget(job)
    return job.page(request)


def part(
    request: Request, title: str, work: Callable[[], T], then: Callable[[Request, T], Response]
) -> Response:
    """Do work in a thread, and answer with the part of a page that shows what it found.

    If it lasts, the answer is a part that asks again, and is replaced by what comes then.
    """
    section = section_of(request.url.path)
    return part_of(request, of(request).jobs.start(title, work, then, _failed, 0, section))


def part_of(request: Request, job: Job[T]) -> Response:
    """Answer with what work has found, or with a part that asks for it again."""
    if not job.wait(PATIENCE_SECONDS):
        if "hx-request" not in request.headers:  # a browser without scripts
            return go("jobs", job.id)
        return page(request, "waiting_part.html", job=job)
    of(request).jobs.forget(job)
    return job.page(request)


def _failed(request: Request, error: PubSubError) -> Response:
    return problem_page(request, str(error), 400, error.code)
