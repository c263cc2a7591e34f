"""How routes answer: pages and fragments from templates, redirects, errors and jobs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

from fastapi import Depends, HTTPException, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pubsub_delta.clock import rfc3339, to_micros
from pubsub_delta.console import formatting
from pubsub_delta.console.context import address, console_of
from pubsub_delta.console.error_texts import readable
from pubsub_delta.console.flash import Flash
from pubsub_delta.console.jobs import WAIT_SECONDS, Job
from pubsub_delta.errors import PubSubError

T = TypeVar("T")

SECTIONS = {
    "": "Overview",
    "topics": "Topics",
    "subscriptions": "Subscriptions",
    "snapshots": "Snapshots",
    "schemas": "Schemas",
}
"""The sections of the console, by the first part of their addresses."""


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
    "table": "Table",
    "labels": "Labels",
    "dead_letter_subscription_id": "ID of the subscription for dead letters",
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
"""The labels of form fields."""


def redirect(*parts: str, **query: str) -> Response:
    """Redirect the browser to a page (303), after a change."""
    return RedirectResponse(address(*parts, **query), 303)


def redirect_with_flash(request: Request, note: str, *parts: str, **query: str) -> Response:
    """Redirect the browser to a page, which shows a flash message."""
    return redirect(*parts, **query, done=console_of(request).flash_messages.add(Flash(note)))


def redirect_with_problem(request: Request, text: str, *parts: str) -> Response:
    """Redirect the browser to a page, which shows once why a change failed."""
    flash = Flash(readable(text), is_problem=True)
    return redirect(*parts, done=console_of(request).flash_messages.add(flash))


def require_write(request: Request) -> None:
    """Raise 403 for the form of a change, if the console is read-only."""
    if console_of(request).access.read_only:
        raise HTTPException(
            403,
            "This console is read-only: it does not accept changes. Start one without "
            "--read-only to make them.",
        )


RequiresWrite = Annotated[None, Depends(require_write)]
"""A dependency of routes that show the form of a change."""


_ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters.update(
    count=formatting.count,
    definition=formatting.definition,
    size=formatting.size,
    duration=formatting.duration,
    time=formatting.timestamp,
    iso_time=rfc3339,
    visible=formatting.visible,
    rate=formatting.rate,
    micros=to_micros,
    label=lambda name: LABELS.get(name, name),
)
_ENVIRONMENT.globals.update(
    address=address, sections=SECTIONS, schema_types=formatting.SCHEMA_TYPES
)


def section_of(path: str) -> str:
    """Return the section that an address belongs to.

    >>> section_of("/topics/flights/edit"), section_of("/")
    ('topics', '')
    """
    return path.split("/")[1] if path.startswith("/") else ""


def render(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """Render a template."""
    console = console_of(request)
    key = request.query_params.get("done", "")
    return HTMLResponse(
        _ENVIRONMENT.get_template(template).render(
            console=console,
            path=request.url.path,
            section=getattr(request.state, "section", section_of(request.url.path)),
            read_only=console.access.read_only,
            csrf_token=console.sessions.csrf_token(request.state.session),
            is_in=request.state.session.signed_in,
            signed_in=console.access.token is not None and request.state.session.signed_in,
            take_flash=partial(console.flash_messages.take, key),
            **values,
        ),
        status,
    )


def error_page(request: Request, text: str, status: int, code: str = "") -> Response:
    """Render an error: as a page, or as a fragment for htmx."""
    template = "problem_part.html" if "hx-request" in request.headers else "problem.html"
    # htmx does not swap in a response with an error status
    http_status = 200 if "hx-request" in request.headers and request.method == "GET" else status
    text = readable(text)
    return render(request, template, http_status, text=text, code=code, is_missing=status == 404)


def run_job(
    request: Request,
    title: str,
    work: Callable[[], T],
    then: Callable[[Request, T], Response],
    failed: Callable[[Request, PubSubError], Response] | None = None,
) -> Response:
    """Run work in a thread, and respond with its result; if it takes long, with its progress.

    Args:
        request: the request that starts the work.
        title: the title of the page of progress.
        work: returns the result.
        then: makes the response from the result.
        failed: makes the response from an error of the library; by default an error page.
    """
    console = console_of(request)
    job = console.jobs.start(
        title,
        work,
        then,
        failure_page if failed is None else partial(_failed, failed),
        request.state.form_bytes,
        section_of(request.url.path),
    )
    if not job.wait(WAIT_SECONDS):
        return redirect("jobs", job.id)
    console.jobs.forget(job)
    return job.response(request)


def fragment(
    request: Request, title: str, work: Callable[[], T], then: Callable[[Request, T], Response]
) -> Response:
    """Run work in a thread, and respond with the fragment of its result.

    If it takes long, the response is a fragment that htmx replaces when the work is done.
    """
    section = section_of(request.url.path)
    return job_fragment(
        request, console_of(request).jobs.start(title, work, then, failure_page, 0, section)
    )


def job_fragment(request: Request, job: Job[T]) -> Response:
    """Respond with the fragment of a job, or with one that asks again."""
    if not job.wait(WAIT_SECONDS):
        if "hx-request" not in request.headers:  # a browser without scripts
            return redirect("jobs", job.id)
        return render(request, "waiting_part.html", job=job)
    console_of(request).jobs.forget(job)
    return job.response(request)


def _failed(
    failed: Callable[[Request, PubSubError], Response], request: Request, error: PubSubError
) -> Response:
    """Respond to an error of a job, also if the page with its form cannot be made.

    Such a page reads its resource again, which may be gone by then.
    """
    try:
        return failed(request, error)
    except PubSubError as other:
        return error_page(request, f"{error} (then: {other})", 400, error.code)


def failure_page(request: Request, error: PubSubError) -> Response:
    """Render the page of an error of the library."""
    return error_page(request, str(error), 400, error.code)
