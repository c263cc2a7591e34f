"""The console is safe by default: who may reach it, and what another page can make a browser do."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlencode

import pytest

pytest.importorskip("fastapi")
from click.testing import CliRunner
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from pubsub_delta.cli.main import cli
from pubsub_delta.clock import ManualClock
from pubsub_delta.console import forms, responses
from pubsub_delta.console.application import _ROUTERS, create_app
from pubsub_delta.console.security import (
    COOKIE,
    HEADERS,
    ConsoleAccess,
    cookie_name,
)
from pubsub_delta.errors import FailedPrecondition, InvalidArgument
from tests.unit.browsing import BASE, Browser, form_from_pairs, words
from tests.unit.builders import at

TOKEN = "a-token-of-some-length"
FOREIGN = {"Origin": "http://attacker.example", "Sec-Fetch-Site": "cross-site"}


def routes(method: str) -> list[str]:
    """Return the paths that take a method, with real names in them."""
    pages = [each for module in _ROUTERS for each in module.router.routes]
    found = [r.path for r in pages if isinstance(r, APIRoute) and method in (r.methods or ())]
    real = {"topics": "flights", "subscriptions": "first", "snapshots": "before"}
    paths = (
        re.sub(r"^/(\w+)/\{id_\}", lambda match: f"/{match[1]}/{real.get(match[1], 'none')}", path)
        for path in (each.replace("/{kind}/", "/subscriptions/") for each in found)
    )
    return sorted(re.sub(r"\{number\}", "1", path.replace("{batch_id}", "none")) for path in paths)


@pytest.fixture
def browser() -> Browser:
    made = Browser()
    made.store.create_snapshot("before", "first")
    return made


def test_only_loopback_is_served_without_a_token() -> None:
    """Binds to loopback only (another address needs a token)."""
    for host in ("localhost", "127.0.0.1", "::1", "[::1]"):
        ConsoleAccess(host).check()
    for host in ("0.0.0.0", "::", "192.168.1.7", "example.org"):
        with pytest.raises(FailedPrecondition, match="--token-file"):
            ConsoleAccess(host).check()
        ConsoleAccess(host, TOKEN).check()


@pytest.mark.parametrize("token", ["", "short", "long enough, but\nwith a line break"])
def test_a_token_that_protects_nothing_is_refused(token: str) -> None:
    with pytest.raises(InvalidArgument, match="16 characters"):
        ConsoleAccess(token=token).check()
    ConsoleAccess(token="x" * 16).check()


def test_the_command_refuses_an_open_address_before_spark_is_started() -> None:
    result = CliRunner().invoke(cli, ["console", "--root=./x", "--host=0.0.0.0"])
    assert result.exit_code == 1
    assert "FAILED_PRECONDITION" in result.output
    assert "--token-file" in result.output


@pytest.mark.parametrize(
    "host",
    ["attacker.example", "attacker.example:8086", "", "localhost.attacker.example", "8.8.8.8",
     "localhost@attacker.example", "attacker.example/localhost", "localhost:0:0"],
)  # fmt: skip
def test_another_name_is_refused(browser: Browser, host: str) -> None:
    """Host-header check (DNS rebinding)."""
    answer = browser.client.get("/topics", headers={"Host": host})
    assert answer.status_code == 421
    assert "flights" not in answer.text


@pytest.mark.parametrize("host", ["localhost", "localhost:8086", "127.0.0.1:1", "[::1]:8086"])
def test_this_machine_is_known_by_its_names(browser: Browser, host: str) -> None:
    assert browser.client.get("/topics", headers={"Host": host}).status_code == 200


def test_a_served_address_is_known_by_addresses_and_allowed_names() -> None:
    access = ConsoleAccess("0.0.0.0", TOKEN, allowed_hosts=("console.example.org",))
    assert access.allows_host("192.168.1.7:8086")
    assert access.allows_host("Console.Example.org")
    assert not access.allows_host("other.example.org")


def test_every_answer_carries_the_security_headers(browser: Browser) -> None:
    """Security headers (CSP without inline scripts, X-Frame-Options, nosniff, referrer)."""
    for path in ("/topics", "/static/console.css", "/nothing", "/topics/absent", "/filters/check"):
        headers = browser.client.get(path).headers
        assert {name: headers.get(name) for name in HEADERS} == dict(HEADERS)
        assert "cache-control" in headers
    refused = browser.client.get("/topics", headers={"Host": "attacker.example"})
    assert refused.headers["x-frame-options"] == "DENY"
    policy = HEADERS["Content-Security-Policy"]
    assert "'unsafe" not in policy
    assert policy.startswith("default-src 'none'")


def test_an_unexpected_error_carries_the_headers_and_tells_its_kind(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("<b>disk on fire</b>\nstack")

    monkeypatch.setattr(browser.store, "list_topics", broken)
    client = TestClient(browser.app, base_url=BASE, raise_server_exceptions=False)
    answer = client.get("/topics")
    assert answer.status_code == 500
    assert "RuntimeError: <b>disk on fire</b>" in words(answer.text)
    assert "<b>" not in answer.text
    assert "stack" not in answer.text
    assert answer.headers["content-security-policy"] == HEADERS["Content-Security-Policy"]


def test_the_pages_need_no_script_or_style_in_them() -> None:
    """The policy forbids them: nothing in the templates may ask for one."""
    folder = Path(responses.__file__).parent / "templates"
    for template in folder.glob("*.html"):
        text = template.read_text(encoding="utf-8")
        assert not re.search(r"\son[a-z]+=|\sstyle=|javascript:|<style|hx-on|\|\s*safe", text)
        scripts = re.findall(r"<script[^>]*>", text)
        assert [each for each in scripts if 'src="/static/' not in each] == []
        forms = re.findall(r"<form[^>]*>", text)
        assert [form for form in forms if "action=" not in form] == []
        assert not re.search(r"""(src|href|action)=["']?(https?:)?//""", text)


POSTS = [
    "/searches/none/stop", "/sign-in", "/sign-out", "/snapshots/before/delete",
    "/snapshots/before/edit", "/snapshots/_new", "/subscriptions/first/dead-letter-subscription",
    "/subscriptions/first/delete", "/subscriptions/first/edit",
    "/subscriptions/first/publish-again", "/subscriptions/first/pull",
    "/subscriptions/first/pull/none", "/subscriptions/first/replay", "/subscriptions/_new",
    "/topics/flights/delete", "/topics/flights/edit", "/topics/flights/publish", "/topics/_new",
]  # fmt: skip
FORMS = [
    "/snapshots/before/delete", "/snapshots/before/edit", "/snapshots/_new",
    "/subscriptions/first/delete", "/subscriptions/first/edit",
    "/subscriptions/first/publish-again", "/subscriptions/first/pull",
    "/subscriptions/first/pull/none", "/subscriptions/_new", "/topics/flights/delete",
    "/topics/flights/edit", "/topics/flights/publish", "/topics/flights/publish-again",
    "/topics/_new",
]  # fmt: skip
"""Pages that are there for a change alone."""


def test_the_list_of_what_can_be_posted_is_whole() -> None:
    assert routes("POST") == sorted(POSTS)


@pytest.mark.parametrize("path", POSTS)
def test_a_form_without_the_token_of_the_session_is_refused(browser: Browser, path: str) -> None:
    """CSRF protection."""
    other = Browser()
    foreign = form_from_pairs(other.get("/topics/_new").text).fields["csrf_token"]
    browser.get("/topics")
    for given in ({}, {"csrf_token": ""}, {"csrf_token": foreign}):
        answer = browser.client.post(path, data={**given, "id": "made", "verb": "ack"})
        assert answer.status_code == 403, path
    assert "from another session" in words(answer.text)


@pytest.mark.parametrize("path", POSTS)
def test_a_request_of_another_origin_is_refused_even_with_the_token(
    browser: Browser, path: str
) -> None:
    token = form_from_pairs(browser.get("/topics/_new").text).fields["csrf_token"]
    for name, value in FOREIGN.items():
        sent = {"csrf_token": token}
        answer = browser.client.post(path, data=sent, headers={name: value})
        assert answer.status_code == 403
        assert "another origin" in answer.text


def test_the_cookie_is_kept_from_scripts_and_other_sites(browser: Browser) -> None:
    line = browser.client.get("/topics").headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(line.split("; "))
    assert "Secure" not in line
    secure = TestClient(browser.app, base_url="https://localhost").get("/topics")
    assert secure.headers["set-cookie"].endswith("; Secure")
    assert "set-cookie" not in browser.client.get("/topics").headers


def test_consoles_on_two_ports_of_a_host_leave_each_other_their_sessions() -> None:
    """A browser sends a cookie to every port of its host, and keeps one of each name."""
    one, other = Browser(ConsoleAccess(token=TOKEN)), Browser(ConsoleAccess(token=TOKEN))
    other.client.base_url = other.client.base_url.copy_with(port=8087)
    one.post("/sign-in", {"token": TOKEN})
    other.client.cookies = one.client.cookies
    assert other.client.get("/topics").url.path == "/sign-in"
    one.client.cookies = other.client.cookies
    assert one.client.get("/topics").url.path == "/topics"


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("localhost:8086", f"{COOKIE}_8086"),
        ("[::1]:8087", f"{COOKIE}_8087"),
        ("console.example", COOKIE),
        ("localhost:1; Path=/x", COOKIE),
        ("localhost:99999", COOKIE),
        ("localhost:0", COOKIE),
        ("", COOKIE),
    ],
)
def test_the_name_of_the_cookie_is_made_of_the_port_alone(host: str, name: str) -> None:
    assert cookie_name(host) == name


@pytest.mark.parametrize("path", POSTS)
def test_a_read_only_console_changes_nothing(path: str) -> None:
    """Read-only mode (`--read-only`)."""
    browser = Browser(ConsoleAccess(read_only=True))
    browser.world.publish("a")
    before = browser.world.revision(), len(browser.store.list_topics())
    form = {"csrf_token": token_of(browser)}
    sent = {**form, "id": "made", "max_messages": "1", "topic": "flights", "name": "first"}
    answer = browser.client.post(path, data=sent)
    harmless = path in ("/sign-in", "/sign-out", "/searches/none/stop")
    assert harmless or (answer.status_code == 403 and "read-only" in answer.text)
    assert (browser.world.revision(), len(browser.store.list_topics())) == before


@pytest.mark.parametrize("path", FORMS)
def test_a_read_only_console_has_no_forms_for_changes(path: str) -> None:
    browser = Browser(ConsoleAccess(read_only=True))
    browser.store.create_snapshot("before", "first")
    answer = browser.client.get(path)
    assert answer.status_code == 403
    assert "This console is read-only" in words(answer.text)


def token_of(browser: Browser) -> str:
    """Return the token that the forms of a browser's session carry."""
    browser.get("/topics")
    sessions = browser.app.app.state.console.sessions  # type: ignore[attr-defined]
    session = sessions.read(browser.client.cookies[f"{COOKIE}_8086"])
    return str(sessions.csrf_token(session))


def test_a_read_only_console_previews_a_replay_and_offers_nothing_else() -> None:
    browser = Browser(ConsoleAccess(read_only=True))
    browser.world.publish("a")
    sent = {"time_date": "2030-01-01"}
    answer = browser.ask("/subscriptions/first/replay", sent, "/preview")
    assert "Become acknowledged 1 " in words(answer.text)
    assert "read-only" in words(answer.text)
    for path in (
        "/topics",
        "/topics/flights",
        "/subscriptions/first",
        "/subscriptions/first/replay",
    ):
        text = browser.get(path).text
        assert not re.search(r'href="[^"]*/(new|edit|delete|publish)["?]', text)


@pytest.fixture
def closed() -> Browser:
    return Browser(ConsoleAccess("0.0.0.0", TOKEN))


def test_nothing_is_shown_before_one_has_signed_in(closed: Browser) -> None:
    closed.store.create_snapshot("before", "first")
    for path in routes("GET"):
        answer = closed.client.get(path, follow_redirects=False)
        if path != "/sign-in":
            assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in"), path
    part = closed.client.get("/topics/flights/metrics", headers={"HX-Request": "true"})
    assert (part.status_code, part.headers["HX-Redirect"]) == (401, "/sign-in")
    assert closed.client.get("/static/console.css").status_code == 200


def test_who_knows_the_token_signs_in_and_out(closed: Browser) -> None:
    wrong = closed.post("/sign-in", {"token": "something else of that length"})
    assert wrong.status_code == 403
    assert "not the console's token" in words(wrong.text)
    before = closed.client.cookies[f"{COOKIE}_8086"]
    answer = closed.post("/sign-in", {"token": TOKEN})
    assert answer.url.path == "/"
    assert "Overview" in words(answer.text)
    assert closed.client.cookies[f"{COOKIE}_8086"] != before, (
        "a session that was known before signs in"
    )
    form = form_from_pairs(answer.text)
    closed.client.post("/sign-out", data=form.fields)
    assert closed.client.get("/topics").url.path == "/sign-in"


def test_a_form_that_is_too_large_is_refused(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forms, "LARGEST_FORM", 2**20)
    answer = browser.post("/topics/flights/publish", {"data": "x" * 2**20})
    assert answer.status_code == 413
    assert browser.world.backlog() == {}
    form = form_from_pairs(browser.get("/topics/flights/publish").text)
    body = urlencode({**form.fields, "data": "x" * 2**20}).encode()
    kind = {"Content-Type": "application/x-www-form-urlencoded", **browser.sent_with_forms}
    for largest, status in ((len(body) - 1, 413), (len(body), 200)):
        monkeypatch.setattr(forms, "LARGEST_FORM", largest)
        answer = browser.client.post("/topics/flights/publish", content=body, headers=kind)
        assert answer.status_code == status


@pytest.mark.parametrize("body", [b"\xff\xfe", b"a=%ff", b"a=1&" * 6_000])
def test_a_body_that_is_no_form_is_refused(browser: Browser, body: bytes) -> None:
    browser.get("/topics")
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    assert browser.client.post("/topics/_new", content=body, headers=kind).status_code == 400


def test_the_access_is_checked_wherever_a_console_is_made(browser: Browser) -> None:
    with pytest.raises(FailedPrecondition, match="token"):
        create_app(browser.store, ConsoleAccess("0.0.0.0"), ManualClock(at(0)))


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "null", "", "//", "\x00"])
def test_an_origin_that_is_no_url_is_refused_with_all_headers(
    browser: Browser, origin: str
) -> None:
    # "The console refuses requests from another origin"; "Headers of every response"
    answer = browser.client.post("/topics/_new", data={"id": "news"}, headers={"Origin": origin})
    assert answer.status_code == 403
    assert all(answer.headers[name] == value for name, value in HEADERS.items())


@pytest.mark.parametrize(
    "query", ["page=" + "9" * 5_000, "page=0", "columns=\u65e5", "columns=a%0d%0ab", "sort=%00"]
)
def test_a_list_is_shown_whatever_is_asked_of_it(browser: Browser, query: str) -> None:
    for path in ("/topics", "/subscriptions", "/snapshots"):
        assert browser.client.get(f"{path}?{query}").status_code == 200
