"""The console on a store in memory: the real pages, client and policy, and a browser's requests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any

from fastapi.testclient import TestClient
from httpx2 import Response

from pubsub_delta.console import responses
from pubsub_delta.console.application import create_app
from pubsub_delta.console.security import ConsoleAccess
from tests.unit.in_memory import InMemory

BASE = "http://localhost:8086"

# On a slow machine, too, a form is answered by its result.
responses.WAIT_SECONDS = 60.0  # type: ignore[attr-defined]


class Browser:
    """A browser that looks at the console of a store in memory, and a look behind it."""

    def __init__(self, access: ConsoleAccess | None = None, **fields: Any) -> None:
        self.world = InMemory(**fields)
        driver = self.world.driver
        self.store = self.world.store
        self.app = create_app(
            self.store, access or ConsoleAccess(), driver.clock, root="/data/pubsub"
        )
        self.client = TestClient(self.app, base_url=BASE, follow_redirects=True)

    def get(self, path: str, **more: Any) -> Response:
        """Load a page; it must be there."""
        found = self.client.get(path, **more)
        assert found.status_code == 200, found.text
        return found

    def post(self, at: str, fields: Mapping[str, Any] | None = None, to: str = "") -> Response:
        """Load a page, fill its form in as a browser does, and send it.

        ``fields``: in place of what the form has; None unchecks a box. ``to``: which form, by its
        address; the first form with method post otherwise.
        """
        form = form_from_pairs(self.get(at).text, to)
        sent = {**form.fields, **(fields or {})}
        data = {name: value for name, value in sent.items() if value is not None}
        return self.client.post(form.action or at, data=data, headers=self.sent_with_forms)

    def ask(self, at: str, fields: Mapping[str, Any] | None = None, to: str = "") -> Response:
        """Load a page, fill in a form of it that only asks for another page, and send it."""
        form = form_from_pairs(self.get(at).text, to, "get")
        sent = {**form.fields, **(fields or {})}
        data = {name: value for name, value in sent.items() if value is not None}
        return self.client.get(form.action or at, params=data)

    def delete(self, at: str, **fields: Any) -> Response:
        """Delete what is at an address: type its ID into the page that asks for it."""
        return self.post(f"{at}/delete", {"name": at.rsplit("/", 1)[1], **fields})

    def pull(self, count: int = 5) -> Response:
        """Pull by hand; return the page that holds what came."""
        return self.post("/subscriptions/first/pull", {"max_messages": str(count)})

    @property
    def sent_with_forms(self) -> dict[str, str]:
        """What a browser sends with a form of a page of this console, by the page's own policy."""
        hides = self.get("/static/icon.svg").headers["referrer-policy"] == "no-referrer"
        return {"Origin": "null" if hides else BASE, "Sec-Fetch-Site": "same-origin"}


@dataclass
class PageForm:
    """A form of a page: where it is sent to, and what its fields hold."""

    action: str
    fields: dict[str, Any]
    method: str = "post"


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[PageForm] = []
        self._form: PageForm | None = None
        self._select = ""
        self._option: str | None = None
        self._chosen = False
        self._area = ""

    def handle_starttag(self, tag: str, attrs: Iterable[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        name = given.get("name") or ""
        if tag == "form":
            method = given.get("method") or "get"
            self._form = PageForm(given.get("action") or "", {}, method)
            self.forms.append(self._form)
        elif self._form is None:
            return
        elif tag == "input" and name:
            is_box = given.get("type") in ("checkbox", "radio")
            if not is_box or "checked" in given:
                self._form.fields[name] = given.get("value") or ""
        elif tag == "textarea":
            self._area = name
            self._form.fields[name] = ""
        elif tag == "select":
            self._select = name
        elif tag == "option" and self._select:
            self._chosen = "selected" in given or self._select not in self._form.fields
            self._option = given.get("value")
            if self._chosen and self._option is not None:
                self._form.fields[self._select] = self._option

    def handle_data(self, data: str) -> None:
        if self._form is None:
            return
        if self._area:
            held = self._form.fields[self._area]
            self._form.fields[self._area] = held + (data if held else data.removeprefix("\n"))
        elif self._select and self._chosen and self._option is None:
            self._form.fields[self._select] = data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "textarea":
            self._area = ""
        elif tag == "select":
            self._select = ""
        elif tag == "option":
            self._chosen = False


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: Iterable[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def elements(html: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = _Elements()
    parser.feed(html)
    return parser.found


def form_from_pairs(html: str, to: str = "", method: str = "post") -> PageForm:
    """Return a form of a page, usually one that changes something, with what would be sent."""
    parser = _Forms()
    parser.feed(html)
    named = [each for each in parser.forms if each.method == method]
    forms = [each for each in named if not to or each.action.endswith(to)]
    assert forms, f"no form {to!r} on the page"
    return next((each for each in forms if each.action != "/sign-out"), forms[0])


def words(html: str) -> str:
    """Return the text of a page."""
    without = re.sub(r"<(script|style)\b.*?</\1>", "", html, flags=re.DOTALL)
    text = re.sub(r"<[^>]+>", " ", without)
    for entity, character in (("&lt;", "<"), ("&gt;", ">"), ("&#34;", '"'), ("&#39;", "'")):
        text = text.replace(entity, character)
    return " ".join(text.replace("&amp;", "&").split())
