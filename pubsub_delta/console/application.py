"""The console put together: its routes, its pages, and what they share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import Depends, FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.staticfiles import StaticFiles

from pubsub_delta.client import PubSub
from pubsub_delta.clock import Clock
from pubsub_delta.console import (
    dead_letters,
    entrance,
    finding,
    message_page,
    overview,
    publishing,
    pulling,
    replay,
    schemas,
    snapshots,
    subscription_edit,
    subscriptions,
    topic_edit,
    topics,
)
from pubsub_delta.console.forms import StaleForm, posted
from pubsub_delta.console.guard import Guard
from pubsub_delta.console.pages import Console, problem_page
from pubsub_delta.console.security import Access
from pubsub_delta.errors import PubSubError

STATIC = Path(__file__).parent / "static"
_ROUTERS = (
    overview,
    entrance,
    topic_edit,  # /topics/new comes before /topics/{id_}
    topics,
    subscription_edit,
    subscriptions,
    dead_letters,
    finding,
    message_page,
    publishing,
    pulling,
    replay,
    schemas,
    snapshots,
)


def application(
    store: PubSub, access: Access, clock: Clock, *, project: str = "local", root: str = ""
) -> Guard:
    """Return the console of a store as an ASGI application.

    Args:
        store: what is looked at and changed.
        access: who may use it.
        clock: the store's.
        project: the project whose resources are listed.
        root: how pages name the store.
    """
    access.check()
    console = Console(store, access, clock.now, project, root)

    @asynccontextmanager
    async def living(_: FastAPI) -> AsyncIterator[None]:
        console.open()
        yield
        console.close()

    app = FastAPI(
        lifespan=living,
        dependencies=[Depends(posted)],
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
    )
    app.state.console = console
    app.mount("/static", StaticFiles(directory=STATIC), "static")
    for module in _ROUTERS:
        app.include_router(module.router)
    app.add_exception_handler(StaleForm, _stale)
    app.add_exception_handler(PubSubError, _told)
    app.add_exception_handler(HTTPException, _told)
    app.add_exception_handler(404, _missing)
    app.add_exception_handler(405, _missing)
    app.add_exception_handler(RequestValidationError, _missing)  # such as another kind
    app.add_exception_handler(Exception, _unexpected)
    return Guard(app, access, console.sessions)  # outermost: no answer goes without its headers


_STATUS = {
    "NOT_FOUND": 404,
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 409,
    "ABORTED": 409,
}


def _told(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        return problem_page(request, str(error.detail), error.status_code)
    code = getattr(error, "code", "UNKNOWN")
    return problem_page(request, str(error), _STATUS.get(code, 500), code)


def _stale(request: Request, error: Exception) -> Response:
    """Show the form again with what was typed, where its route can; 403 in any case."""
    assert isinstance(error, StaleForm)
    show = getattr(request.scope.get("endpoint"), "shown_again", None)
    if show is None:
        return problem_page(request, str(error), 403)
    error.form.warning = str(error)
    answer: Response = show(request, error.form, **request.path_params)
    answer.status_code = 403
    return answer


def _unexpected(request: Request, error: Exception) -> Response:
    first = next(iter(str(error).splitlines()), "")
    text = (
        f"{type(error).__name__}: {first} (unexpected; the console's log shows where it comes from)"
    )
    return problem_page(request, text, 500)


def _missing(request: Request, _: Exception) -> Response:
    return problem_page(request, "There is no such page.", 404)
