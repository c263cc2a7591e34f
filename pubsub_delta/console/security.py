"""Who may use the console: addresses, the Host header, tokens, sessions and headers.

A page of another origin must not be able to act through a reader's browser: the session's cookie
does not travel with its requests, every form carries a token of the session, requests that say
they come from elsewhere are refused, and so is a Host that is not the console's (DNS rebinding).
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from pubsub_delta.addresses import is_loopback
from pubsub_delta.clock import from_micros, to_micros
from pubsub_delta.errors import FailedPrecondition, InvalidArgument

COOKIE = "pubsub_delta_console"
"""What the name of the session's cookie begins with."""
SESSION_LIFETIME = timedelta(hours=12)
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
"""What every answer carries, besides Cache-Control."""


@dataclass(frozen=True)
class Access:
    """Who may use a console.

    ``host``: the address that is listened to. ``token``: what a reader signs in with; without one
    only this machine is served. ``allowed_hosts``: more names that browsers may call it by.
    """

    host: str = "localhost"
    token: str | None = None
    read_only: bool = False
    allowed_hosts: tuple[str, ...] = ()

    def check(self) -> None:
        """Refuse an address that others can reach without a token, and a token that is none."""
        if self.token is not None and (len(self.token) < 16 or not self.token.isprintable()):
            raise InvalidArgument(
                "token: it is shorter than 16 characters or has control characters; "
                "a longer text is accepted, such as `openssl rand -hex 32` writes"
            )
        if self.token is None and not is_loopback(self.host):
            raise FailedPrecondition(
                f"host: {self.host!r} can be reached by others, and there is no token; "
                "--token-file (of serve: --console-token-file) keeps them out, and a loopback "
                "address is always accepted"
            )

    def allows(self, host: str) -> bool:
        """Tell whether a Host header names this console.

        A name that somebody else's DNS may point here is refused. An address cannot be pointed.

        >>> Access().allows("localhost:8086"), Access().allows("attacker.example:8086")
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
    """Return the name of the cookie of a console that a browser calls by a Host header.

    It carries the port: a browser sends a cookie to every port of its host, and of two consoles
    there one would end the sessions of the other.

    >>> cookie_name("localhost:8086"), cookie_name("console.example")
    ('pubsub_delta_console_8086', 'pubsub_delta_console')
    """
    port = urlsplit(f"//{host}").port if _is_plain(host) else None
    return COOKIE if port is None else f"{COOKIE}_{port}"


def is_elsewhere(headers: Mapping[str, str]) -> bool:
    """Tell whether a browser says that a page of another origin sent a request.

    >>> is_elsewhere({"sec-fetch-site": "cross-site"}), is_elsewhere({"host": "localhost:8086"})
    (True, False)
    """
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        return True
    origin = headers.get("origin")
    return origin is not None and urlsplit(origin).netloc != headers.get("host")


@dataclass(frozen=True)
class Session:
    """A browser that the console knows. ``signed_in``: it has shown the token."""

    id: str
    signed_in: bool
    until: datetime


@dataclass(frozen=True)
class Sessions:
    """Sessions that are kept by the browsers themselves, signed by a key of this process."""

    at_present: Callable[[], datetime]
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def start(self, *, signed_in: bool) -> Session:
        """Return a session that nobody had."""
        return Session(secrets.token_hex(16), signed_in, self.at_present() + SESSION_LIFETIME)

    def cookie_of(self, session: Session) -> str:
        """Write a session as the value of a cookie."""
        text = f"{session.id}.{int(session.signed_in)}.{to_micros(session.until)}"
        return f"{text}.{self._signed('session', text)}"

    def read(self, cookie: str | None) -> Session | None:
        """Return the session of a cookie, None where it is none of ours, or over."""
        text, _, signature = (cookie or "").rpartition(".")
        if not _same(signature, self._signed("session", text)):
            return None
        id_, signed_in, until = text.split(".")
        session = Session(id_, signed_in == "1", from_micros(int(until)))
        return session if self.at_present() < session.until else None

    def form_token(self, session: Session) -> str:
        """Return what the forms of a session carry."""
        return self._signed("form", session.id)

    def is_form_token(self, session: Session, given: str) -> bool:
        """Tell whether a form was written for a session."""
        return _same(given, self.form_token(session))

    def _signed(self, purpose: str, text: str) -> str:
        return hmac.new(self.key, f"{purpose}:{text}".encode(), hashlib.sha256).hexdigest()


def is_token(given: str, token: str) -> bool:
    """Compare a token with the console's, in a time that tells nothing."""
    return _same(given, token)


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(errors="replace"), expected.encode())


def header_lines(more: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    """Return the headers of every answer as ASGI takes them."""
    return [(name.lower().encode(), value.encode()) for name, value in [*HEADERS.items(), *more]]
