"""Sessions of the console: they end by time or at sign-out, and cannot be made up."""

from __future__ import annotations

from datetime import timedelta

import pytest

pytest.importorskip("fastapi")

from pubsub_delta import ManualClock
from pubsub_delta.console.security import (
    COOKIE,
    MOST_ENDED,
    SESSION_LIFETIME,
    ConsoleAccess,
    Sessions,
)
from tests.unit.browsing import Browser, form_from_pairs, words
from tests.unit.builders import at

TOKEN = "a token that nobody guesses"


@pytest.fixture
def closed() -> Browser:
    return Browser(ConsoleAccess("0.0.0.0", TOKEN))


def test_a_copy_of_a_cookie_is_void_after_sign_out(closed: Browser) -> None:
    """OWASP: a session is ended on the server, not only in the browser that signs out."""
    closed.post("/sign-in", {"token": TOKEN})
    copied = closed.client.cookies[f"{COOKIE}_8086"]
    closed.client.post("/sign-out", data=form_from_pairs(closed.get("/topics").text).fields)
    with_copy = {"Cookie": f"{COOKIE}_8086={copied}"}
    answer = closed.client.get("/topics", headers=with_copy, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
    closed.post("/sign-in", {"token": TOKEN})
    assert closed.client.get("/topics").url.path == "/topics"


def test_sessions_that_have_ended_take_little_memory_and_never_return() -> None:
    clock = ManualClock(at(0))
    sessions = Sessions(clock.now)
    other = sessions.cookie_of(sessions.start(signed_in=True))
    ended = [sessions.start(signed_in=True) for _ in range(MOST_ENDED)]
    cookies = [sessions.cookie_of(each) for each in ended]
    for each in ended[:10]:
        sessions.end(each)
    clock.advance(SESSION_LIFETIME.total_seconds())
    sessions.end(sessions.start(signed_in=True))
    assert len(sessions._ended) == 1, "those whose time is over are forgotten"
    clock.advance(-SESSION_LIFETIME.total_seconds())
    for each in ended:
        sessions.end(each)
    assert len(sessions._ended) <= MOST_ENDED
    assert [each for each in cookies if sessions.read(each) is not None] == []
    assert sessions.read(other) is None, "all end rather than one returns"


def test_a_session_is_over_after_half_a_day(closed: Browser) -> None:
    closed.post("/sign-in", {"token": TOKEN})
    clock = closed.world.driver.clock
    clock.advance(SESSION_LIFETIME.total_seconds() - 1)
    assert closed.client.get("/topics").url.path == "/topics"
    clock.advance(1)
    assert closed.client.get("/topics").url.path == "/sign-in"


def test_a_session_cannot_be_made_up() -> None:
    sessions = Sessions(ManualClock(at(0)).now)
    cookie = sessions.cookie_of(sessions.start(signed_in=False))
    id_, signed_in, until, signature = cookie.split(".")
    assert sessions.read(cookie) is not None
    for forged in (
        f"{id_}.1.{until}.{signature}",
        f"{id_}.{signed_in}.{int(until) + 1}.{signature}",
        f"{id_}.{signed_in}.{until}.",
        "",
        "...",
        None,
    ):
        assert sessions.read(forged) is None
    other = Sessions(ManualClock(at(0)).now)
    assert other.read(cookie) is None
    session = sessions.start(signed_in=True)
    assert sessions.read(sessions.cookie_of(session)) == session
    assert session.until - at(0) == SESSION_LIFETIME > timedelta(0)


def test_a_link_on_another_site_ends_no_session(closed: Browser) -> None:
    """RFC 6265bis, 5.6.7: a "Lax" cookie goes with a link that is followed, a "Strict" one stays.

    A request without the cookie gets a new session, which replaces the reader's own.
    """
    line = closed.client.get("/sign-in").headers["set-cookie"]
    assert "SameSite=Lax" in line.split("; ")
    closed.post("/sign-in", {"token": TOKEN})
    by_a_link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    answer = closed.client.get("/topics", headers=by_a_link)
    assert answer.url.path == "/topics"
    assert "set-cookie" not in answer.headers


def test_who_signs_in_by_a_page_from_before_a_restart_is_asked_again(closed: Browser) -> None:
    """The session of that page is not known any more, and the page has nothing else to offer."""
    before = form_from_pairs(Browser(ConsoleAccess("0.0.0.0", TOKEN)).get("/sign-in").text).fields
    answer = closed.client.post("/sign-in", data={**before, "token": TOKEN})
    assert answer.status_code == 403
    assert "send the token again" in answer.text
    assert TOKEN not in answer.text
    again = form_from_pairs(answer.text, "/sign-in").fields
    assert closed.client.post("/sign-in", data={**again, "token": TOKEN}).url.path == "/"


def test_a_page_without_the_form_does_not_say_that_the_form_is_there() -> None:
    browser = Browser()
    answer = browser.post("/topics/flights/delete", {"name": "flights", "csrf_token": "of another"})
    assert answer.status_code == 403
    told = words(answer.text)
    assert "Nothing was changed. Load its page again" in told
    assert "still in it" not in told


def test_who_is_signed_in_is_not_asked_for_the_token_again() -> None:
    browser = Browser()
    assert browser.get("/sign-in").url.path == "/"
