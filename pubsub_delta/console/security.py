"""Security of the console: its address, the Host header, tokens, sessions and headers.

A page of another origin must not act through a reader's browser. The session cookie is SameSite,
and every form has a CSRF token. Cross-origin requests are refused. So are requests with a Host
header that is not a name of the console (DNS rebinding).
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from pubsub_delta.addresses import is_loopback
from pubsub_delta.clock import from_micros, to_micros
from pubsub_delta.errors import FailedPrecondition, InvalidArgument

COOKIE = "pubsub_delta_console"
"""The beginning of the name of the session cookie."""
SESSION_LIFETIME = timedelta(hours=12)
MOST_ENDED = 10_000
"""The most sessions that have ended before their time and are remembered: about a megabyte."""
SAFE_METHODS = frozenset({"GET", "HEAD"})

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # no-referrer would hide the Origin of our forms, too
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
"""Headers of every response, besides Cache-Control."""


@dataclass(frozen=True)
class ConsoleAccess:
    """Who may use a console.

    ``host``: the address to listen at. ``token``: the token to sign in with; None serves this
    machine only. ``allowed_hosts``: more names that a Host header may have.
    """

    host: str = "localhost"
    token: str | None = None
    read_only: bool = False
    allowed_hosts: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise FailedPrecondition for a public address without a token, and check the token."""
        if self.token is not None and (len(self.token) < 16 or not self.token.isprintable()):
            raise InvalidArgument(
                "token: it is shorter than 16 characters, or has control characters; make one with "
                "`openssl rand -hex 32`"
            )
        if self.token is None and not is_loopback(self.host):
            raise FailedPrecondition(
                f"host: {self.host!r} can be reached by others, and there is no token; give one "
                "with --token-file (of serve: --console-token-file), or use a loopback address"
            )

    def allows_host(self, host: str) -> bool:
        """Return whether a Host header names this console.

        Other names are refused, as DNS rebinding can point them here. IP addresses are safe.

        >>> access = ConsoleAccess()
        >>> access.allows_host("localhost:8086"), access.allows_host("attacker.example:8086")
        (True, False)
        """
        name = (urlsplit(f"//{host}").hostname or "") if _is_plain(host) else ""
        if name in {
            "localhost",
            self.host.strip("[]").lower(),
            *map(str.lower, self.allowed_hosts),
        }:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or not is_loopback(self.host)


def _is_plain(host: str) -> bool:
    if set(host) & set("/?#@\\ "):
        return False
    try:
        return urlsplit(f"//{host}").port != 0
    except ValueError:
        return False


def cookie_name(host: str) -> str:
    """Return the name of the session cookie for a Host header.

    It contains the port: browsers send a cookie to all ports of a host, and two consoles would
    replace each other's sessions.

    >>> cookie_name("localhost:8086"), cookie_name("console.example")
    ('pubsub_delta_console_8086', 'pubsub_delta_console')
    """
    port = urlsplit(f"//{host}").port if _is_plain(host) else None
    return COOKIE if port is None else f"{COOKIE}_{port}"


def is_cross_origin(headers: Mapping[str, str]) -> bool:
    """Return whether the headers of a request say that a page of another origin sent it.

    >>> is_cross_origin({"sec-fetch-site": "cross-site"}), is_cross_origin({"origin": "http://["})
    (True, True)
    """
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        return True
    origin = headers.get("origin")
    if origin is None:
        return False
    try:
        return urlsplit(origin).netloc != headers.get("host")
    except ValueError:  # it is no URL
        return True


@dataclass(frozen=True)
class Session:
    """The session of a browser. ``signed_in``: whether it has sent the token."""

    id: str
    signed_in: bool
    until: datetime


class Sessions:
    """Signs sessions into cookies with a key of this process, and remembers those that have ended.

    Args:
        at_present: returns the time.
    """

    def __init__(self, at_present: Callable[[], datetime]) -> None:
        self.at_present = at_present
        self._key = _new_key()
        self._ended: dict[str, datetime] = {}
        self._lock = threading.Lock()

    def start(self, *, signed_in: bool) -> Session:
        """Return a new session."""
        return Session(secrets.token_hex(16), signed_in, self.at_present() + SESSION_LIFETIME)

    def end(self, session: Session) -> None:
        """End a session before its time: no copy of its cookie is valid any more.

        None that has ended may be forgotten before its time. So if there are more than
        ``MOST_ENDED``, all sessions end: the key is replaced.
        """
        now = self.at_present()
        with self._lock:
            self._ended = {id_: until for id_, until in self._ended.items() if now < until}
            self._ended[session.id] = session.until
            if len(self._ended) > MOST_ENDED:
                self._key, self._ended = _new_key(), {}

    def cookie_of(self, session: Session) -> str:
        """Return the signed cookie of a session."""
        text = f"{session.id}.{int(session.signed_in)}.{to_micros(session.until)}"
        return f"{text}.{self._signed('session', text)}"

    def read(self, cookie: str | None) -> Session | None:
        """Return the session of a cookie; None if its signature is wrong, or it has ended."""
        text, _, signature = (cookie or "").rpartition(".")
        if not is_same(signature, self._signed("session", text)):
            return None
        id_, signed_in, until = text.split(".")
        session = Session(id_, signed_in == "1", from_micros(int(until)))
        has_ended = id_ in self._ended or self.at_present() >= session.until
        return None if has_ended else session

    def csrf_token(self, session: Session) -> str:
        """Return the CSRF token of a session."""
        return self._signed("form", session.id)

    def is_csrf_token(self, session: Session, given: str) -> bool:
        """Return whether a CSRF token is of a session."""
        return is_same(given, self.csrf_token(session))

    def _signed(self, purpose: str, text: str) -> str:
        return hmac.new(self._key, f"{purpose}:{text}".encode(), hashlib.sha256).hexdigest()


def _new_key() -> bytes:
    return secrets.token_bytes(32)


def is_same(given: str, expected: str) -> bool:
    """Compare a token or a signature with the expected one, in constant time."""
    return hmac.compare_digest(given.encode(errors="replace"), expected.encode())


def security_headers(more: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    """Return the headers of every response as ASGI pairs."""
    return [(name.lower().encode(), value.encode()) for name, value in [*HEADERS.items(), *more]]
