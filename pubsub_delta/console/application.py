"""Creates the console as an ASGI application: routes, error handlers and middleware."""

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
    auth,
    dead_letters,
    job_pages,
    message_page,
    message_search,
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
from pubsub_delta.console.context import Console
from pubsub_delta.console.forms import InvalidCsrfToken, read_form
from pubsub_delta.console.middleware import SecurityMiddleware
from pubsub_delta.console.responses import error_page
from pubsub_delta.console.security import ConsoleAccess
from pubsub_delta.errors import PubSubError, with_class

STATIC = Path(__file__).parent / "static"
_ROUTERS = (
    overview,
    auth,
    job_pages,
    topic_edit,  # /topics/_new comes before /topics/{id_}
    topics,
    subscription_edit,
    subscriptions,
    dead_letters,
    message_search,
    message_page,
    publishing,
    pulling,
    replay,
    schemas,
    snapshots,
)


def create_app(
    store: PubSub, access: ConsoleAccess, clock: Clock, *, project: str = "local", root: str = ""
) -> SecurityMiddleware:
    """Return the console of a store as an ASGI application.

    Args:
        store: the store to show and change.
        access: who may use the console.
        clock: the store's clock.
        project: the project whose resources are listed.
        root: the name of the store on the pages.
    """
    access.check()
    console = Console(store, access, clock.now, project, root)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        console.open()
        yield
        console.close()

    app = FastAPI(
        lifespan=lifespan,
        dependencies=[Depends(read_form)],
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
    )
    app.state.console = console
    app.mount("/static", StaticFiles(directory=STATIC), "static")
    for module in _ROUTERS:
        app.include_router(module.router)
    app.add_exception_handler(InvalidCsrfToken, _redisplay_form)
    app.add_exception_handler(PubSubError, _error_response)
    app.add_exception_handler(HTTPException, _error_response)
    app.add_exception_handler(404, _not_found)
    app.add_exception_handler(405, _not_found)
    app.add_exception_handler(
        RequestValidationError, _not_found
    )  # such as an unknown kind of resource
    app.add_exception_handler(Exception, _unexpected)
    return SecurityMiddleware(
        app, access, console.sessions
    )  # outermost: every response gets its headers


_STATUS = {
    "NOT_FOUND": 404,
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 409,
    "ABORTED": 409,
    "RESOURCE_EXHAUSTED": 429,
    "UNAVAILABLE": 503,
}


def _error_response(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        return error_page(request, str(error.detail), error.status_code)
    code = getattr(error, "code", "UNKNOWN")
    return error_page(request, str(error), _STATUS.get(code, 500), code)


def _redisplay_form(request: Request, error: Exception) -> Response:
    """Show the form again with its values if its route can; status 403 either way."""
    assert isinstance(error, InvalidCsrfToken)
    show = getattr(request.scope.get("endpoint"), "redisplay_with", None)
    if show is None:
        return error_page(request, f"{error} Load its page again, and send it from there.", 403)
    error.form.warning = f"{error} Your values are still in it: check them, and send it again."
    response: Response = show(request, error.form, **request.path_params)
    response.status_code = 403
    return response


def _unexpected(request: Request, error: Exception) -> Response:
    text = f"{with_class(error)} (unexpected; the log of the console has the traceback)"
    return error_page(request, text, 500)


def _not_found(request: Request, _: Exception) -> Response:
    return error_page(request, "There is no such page.", 404)
