"""Middleware of the console: sessions, the Host header, cross-origin requests and headers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pubsub_delta.console.security import (
    SAFE_METHODS,
    SESSION_LIFETIME,
    ConsoleAccess,
    Session,
    Sessions,
    cookie_name,
    is_cross_origin,
    security_headers,
)

PUBLIC_PATHS = ("/sign-in", "/static/")
"""Paths that need no sign-in."""
READ_ONLY_POSTS = frozenset({"/sign-in", "/sign-out"})
"""Paths that a read-only console accepts POST at, besides the stop of a search."""


class SecurityMiddleware:
    """Refuses requests, gives each browser a session, and sets the headers of every response."""

    def __init__(self, app: ASGIApp, access: ConsoleAccess, sessions: Sessions) -> None:
        self.app = app
        self._access = access
        self._sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        name = cookie_name(request.headers.get("host", ""))
        known = self._sessions.read(request.cookies.get(name))
        session = known or self._sessions.start(signed_in=self._access.token is None)
        scope.setdefault("state", {})["session"] = session
        cookie = None if known else self._cookie(request, session)
        answer = _with_headers(send, request.url.path, cookie)
        refusal = self._refusal(request, session)
        await (refusal or self.app)(scope, receive, answer)

    def _refusal(self, request: Request, session: Session) -> Response | None:
        headers, path = request.headers, request.url.path
        if not self._access.allows_host(headers.get("host", "")):
            return _plain(
                f"Host: {headers.get('host', '')!r} is not a name of this console; use its "
                "address, or a name given by --allowed-host (of serve: --console-allowed-host).",
                421,
            )
        if request.method not in SAFE_METHODS and is_cross_origin(headers):
            return _plain("The request comes from a page of another origin, and is refused.", 403)
        if not session.signed_in and not path.startswith(PUBLIC_PATHS):
            return _redirect_to_sign_in(request, headers)
        if self._access.read_only and not _is_harmless(request):
            return _plain("This console is read-only; nothing was changed.", 403)
        return None

    def _cookie(self, request: Request, session: Session) -> str:
        return set_cookie_header(request, self._sessions.cookie_of(session))


def set_cookie_header(request: Request, value: str) -> str:
    """Return the value of Set-Cookie for the session of a request.

    A Strict cookie would stay behind where a reader follows a link of another site, and the new
    session of that answer would replace the reader's. A Lax one comes with links alone.
    """
    name = cookie_name(request.headers.get("host", ""))
    age = int(SESSION_LIFETIME.total_seconds())
    line = f"{name}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Lax"
    return f"{line}; Secure" if request.url.scheme == "https" else line


def _is_harmless(request: Request) -> bool:
    path = request.url.path
    return (
        request.method in SAFE_METHODS
        or path in READ_ONLY_POSTS
        or (path.startswith("/searches/") and path.endswith("/stop"))
    )


def _redirect_to_sign_in(request: Request, headers: Headers) -> Response:
    if request.method not in SAFE_METHODS or "hx-request" in headers:
        return _plain("Sign in first.", 401, {"HX-Redirect": "/sign-in"})
    return RedirectResponse("/sign-in", 303)


def _plain(text: str, status: int, headers: dict[str, str] | None = None) -> Response:
    return PlainTextResponse(text + "\n", status, headers)


def _with_headers(send: Send, path: str, cookie: str | None) -> Callable[[Message], Any]:
    """Return a ``send`` that adds the headers to a response, and a cookie if it sets none."""
    kept = "no-cache" if path.startswith("/static/") else "no-store"
    fixed = security_headers([("Cache-Control", kept)])

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = list(message.get("headers", []))
            names = {name for name, _ in given}
            given += [(name, value) for name, value in fixed if name not in names]
            if cookie is not None and b"set-cookie" not in names:
                given.append((b"set-cookie", cookie.encode()))
            message = {**message, "headers": given}
        await send(message)

    return sending
