"""Signing in and out with the token of the console."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from pubsub_delta.console.context import console_of
from pubsub_delta.console.forms import Form, PostedForm, redisplay_with
from pubsub_delta.console.middleware import set_cookie_header
from pubsub_delta.console.responses import redirect, render
from pubsub_delta.console.security import is_same

router = APIRouter()


@router.get("/alive")
def alive() -> Response:
    """Respond, so that a page knows that its session is valid."""
    return Response(status_code=204)


@router.get("/sign-in")
def sign_in_form(request: Request) -> Response:
    """Show the form for the token."""
    if request.state.session.signed_in:
        return redirect()
    return render(request, "sign_in.html", error="")


def _sign_in_again(request: Request, form: Form) -> Response:
    del form  # no page shows a token
    error = (
        "This page was from another session, or from before the console was restarted; send the "
        "token again."
    )
    return render(request, "sign_in.html", error=error)


@router.post("/sign-in")
@redisplay_with(_sign_in_again)
def sign_in(request: Request, form: PostedForm) -> Response:
    """Start a new session for a reader who sends the token."""
    console = console_of(request)
    if console.access.token is None or not is_same(form.text("token"), console.access.token):
        return render(request, "sign_in.html", 403, error="This is not the console's token.")
    return _with_session(request, redirect(), signed_in=True)


@router.post("/sign-out")
def sign_out(request: Request) -> Response:
    """End the session, and give the browser one that has not signed in."""
    return _with_session(request, redirect("sign-in"), signed_in=False)


def _with_session(request: Request, response: Response, *, signed_in: bool) -> Response:
    sessions = console_of(request).sessions
    if request.state.session.signed_in:
        sessions.end(request.state.session)
    value = sessions.cookie_of(sessions.start(signed_in=signed_in))
    response.headers["set-cookie"] = set_cookie_header(request, value)
    return response
