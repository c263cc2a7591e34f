"""What pages share: the console behind them, the templates, and how long work is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import quote, urlencode

from fastapi import Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pubsub_delta.client import PubSub
from pubsub_delta.console import shown
from pubsub_delta.console.jobs import PATIENCE_SECONDS, Job, Jobs
from pubsub_delta.console.security import Access, Sessions
from pubsub_delta.errors import PubSubError
from pubsub_delta.metrics import Metrics

T = TypeVar("T")

NOTES = {
    "topic-created": "The topic was created.",
    "topic-updated": "The topic was updated.",
    "topic-deleted": "The topic was deleted.",
    "published": "The message was published.",
    "subscription-created": "The subscription was created.",
    "subscription-updated": "The subscription was updated.",
    "subscription-unchanged": "Nothing was changed.",
    "subscription-deleted": "The subscription was deleted.",
    "letters-kept": "The dead-letter topic has a subscription now.",
    "sought": "The messages were replayed.",
    "snapshot-created": "The snapshot was created.",
    "snapshot-updated": "The snapshot was updated.",
    "snapshot-deleted": "The snapshot was deleted.",
}
"""What a page says of what was done just before, by the word in its address."""


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

    def __post_init__(self) -> None:
        self.sessions = Sessions(self.at_present)
        self.jobs = Jobs(self.at_present)

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

    >>> address("topics", "50%~off", "edit", note="done")
    '/topics/50%25~off/edit?note=done'
    """
    path = "".join(f"/{quote(part, safe='')}" for part in parts)
    return f"{path}?{urlencode(query)}" if query else path


def go(*parts: str, **query: str) -> Response:
    """Send the browser to another page, after something was done."""
    return RedirectResponse(address(*parts, **query), 303)


_ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters.update(
    count=shown.count,
    size=shown.size,
    span=shown.span,
    time=shown.instant,
    machine_time=shown.machine_time,
    visible=shown.visible,
)
_ENVIRONMENT.globals.update(address=address)


def page(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """Answer with a page."""
    console = of(request)
    return HTMLResponse(
        _ENVIRONMENT.get_template(template).render(
            console=console,
            path=request.url.path,
            read_only=console.access.read_only,
            form_token=console.sessions.form_token(request.state.session),
            signed_in=console.access.token is not None and request.state.session.signed_in,
            note=NOTES.get(request.query_params.get("note", ""), ""),
            **values,
        ),
        status,
    )


def problem_page(request: Request, text: str, status: int, code: str = "") -> Response:
    """Answer with what went wrong: a whole page, or a part of one where a part was asked for."""
    template = "problem_part.html" if "hx-request" in request.headers else "problem.html"
    # htmx puts no answer of an error in its place
    told = 200 if "hx-request" in request.headers and request.method == "GET" else status
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
    form_bytes = request.state.form_bytes
    job = console.jobs.start(title, work, then, failed or _failed, form_bytes)
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
    return part_of(request, of(request).jobs.start(title, work, then, _failed))


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
