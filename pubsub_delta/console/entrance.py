"""Signing in and out, and the pages of work that goes on."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from pubsub_delta.console.forms import Posted
from pubsub_delta.console.guard import cookie_line
from pubsub_delta.console.jobs import PATIENCE_SECONDS, Job
from pubsub_delta.console.pages import go, of, page, part_of, problem_page
from pubsub_delta.console.security import is_token

router = APIRouter()

_FORGOTTEN = "This work is not known any more; look at the resource itself for what became of it."


@router.get("/alive")
def alive() -> Response:
    """Answer, so that a page knows that what it sends will be taken."""
    return Response(status_code=204)


@router.get("/sign-in")
def ask(request: Request) -> Response:
    """Ask for the token."""
    if request.state.session.signed_in:
        return go()
    return page(request, "sign_in.html", error="")


@router.post("/sign-in")
def sign_in(request: Request, form: Posted) -> Response:
    """Give a new session to who knows the token."""
    console = of(request)
    if console.access.token is None or not is_token(form.text("token"), console.access.token):
        return page(request, "sign_in.html", 403, error="This is not the console's token.")
    return _with_session(request, go(), signed_in=True)


@router.post("/sign-out")
def sign_out(request: Request) -> Response:
    """Give the browser a session that has not signed in."""
    return _with_session(request, go("sign-in"), signed_in=False)


def _with_session(request: Request, answer: Response, *, signed_in: bool) -> Response:
    sessions = of(request).sessions
    value = sessions.cookie_of(sessions.start(signed_in=signed_in))
    answer.headers["set-cookie"] = cookie_line(request, value)
    return answer


@router.get("/jobs/{id_}")
def show(request: Request, id_: str) -> Response:
    """Show what became of work, or that it goes on."""
    job = of(request).jobs.find(id_)
    if job is None:
        return problem_page(request, _FORGOTTEN, 404)
    request.state.section = job.section
    return (
        job.page(request) if job.is_done else page(request, "job.html", **_progress(request, job))
    )


@router.get("/jobs/{id_}/part")
def show_part(request: Request, id_: str) -> Response:
    """Show the part of a page that work has led to, or that it goes on."""
    job = of(request).jobs.find(id_)
    if job is None:
        return problem_page(request, _FORGOTTEN, 404)
    request.state.section = job.section
    return part_of(request, job)


@router.get("/jobs/{id_}/progress")
def progress(request: Request, id_: str) -> Response:
    """Tell how work goes on, and lead to its page when it is done."""
    job = of(request).jobs.find(id_)
    if job is None:
        return problem_page(request, _FORGOTTEN, 404)
    job.wait(PATIENCE_SECONDS)
    answer = page(request, "job_part.html", **_progress(request, job))
    if job.is_done:
        answer.headers["HX-Redirect"] = f"/jobs/{job.id}"
    return answer


def _progress(request: Request, job: Job[object]) -> dict[str, Any]:
    return {"job": job, "elapsed": of(request).jobs.elapsed(job)}
