"""The pages of jobs: their progress, and the response that they lead to."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from pubsub_delta.console.context import console_of
from pubsub_delta.console.jobs import WAIT_SECONDS, Job
from pubsub_delta.console.responses import error_page, job_fragment, render

router = APIRouter()

_UNKNOWN_JOB = "This job is not known any more; the page of the resource shows its result."


@router.get("/jobs/{id_}")
def show(request: Request, id_: str) -> Response:
    """Show the response of a job, or its progress."""
    job = console_of(request).jobs.find(id_)
    if job is None:
        return error_page(request, _UNKNOWN_JOB, 404)
    request.state.section = job.section
    if job.is_done:
        return job.response(request)
    return render(request, "job.html", **_progress(request, job))


@router.get("/jobs/{id_}/part")
def show_part(request: Request, id_: str) -> Response:
    """Show the fragment that a job has rendered, or its progress."""
    job = console_of(request).jobs.find(id_)
    if job is None:
        return error_page(request, _UNKNOWN_JOB, 404)
    request.state.section = job.section
    return job_fragment(request, job)


@router.get("/jobs/{id_}/progress")
def progress(request: Request, id_: str) -> Response:
    """Show the progress of a job, and redirect to its page when it is done."""
    job = console_of(request).jobs.find(id_)
    if job is None:
        return error_page(request, _UNKNOWN_JOB, 404)
    job.wait(WAIT_SECONDS)
    response = render(request, "job_part.html", **_progress(request, job))
    if job.is_done:
        response.headers["HX-Redirect"] = f"/jobs/{job.id}"
    return response


def _progress(request: Request, job: Job[object]) -> dict[str, Any]:
    return {"job": job, "elapsed": console_of(request).jobs.elapsed(job)}
