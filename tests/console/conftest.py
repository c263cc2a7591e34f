"""A console on a real store by the direct lane, without Spark, and a browser that looks at it."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn

from pubsub_delta import (
    DeadLetterPolicy,
    ManualClock,
    Message,
    PubSub,
    RetryPolicy,
    SchemaSettings,
)
from pubsub_delta.clock import read_time
from pubsub_delta.console import serve
from pubsub_delta.console.application import create_app
from pubsub_delta.console.security import ConsoleAccess

if TYPE_CHECKING:  # it comes with `make console-test`
    from playwright.sync_api import Browser, Page

START = read_time("2026-03-02T06:00:00Z", "start")
DAY, HOUR, MINUTE = 86_400, 3_600, 60
LONG = 30_000
"""Milliseconds: on a busy machine a first look takes its time."""
_FIELDS = [{"name": "name", "type": "string"}, {"name": "area", "type": "long"}]
_CODE = {"name": "code", "type": "string", "default": ""}
AVRO, AVRO_WITH_CODE = (
    json.dumps({"type": "record", "name": "State", "fields": fields})
    for fields in (_FIELDS, [*_FIELDS, _CODE])
)
POISONED = b'{"flight": 4711, "delay": "poisoned"}'


class Served:
    """A console of a store, served in a thread on a free port, or on the port it had before."""

    def __init__(
        self, store: PubSub, clock: ManualClock, access: ConsoleAccess, port: int = 0
    ) -> None:
        self.store = store
        self.clock = clock
        self.access = access
        self._socket = serve.open_socket("127.0.0.1", port)
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        made = create_app(store, access, clock, root="/data/pubsub")
        config = uvicorn.Config(made, log_level="warning", access_log=False, server_header=False)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],))

    def __enter__(self) -> Served:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(20)
        self._socket.close()


@pytest.fixture(scope="session")
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture(scope="session")
def store(clock: ManualClock, tmp_path_factory: pytest.TempPathFactory) -> PubSub:
    """A store with a week of flights: some are read, some leased, and some fail."""
    made = PubSub(None, str(tmp_path_factory.mktemp("console")), clock=clock)
    made.create_topic("flights", message_retention_duration="7d", labels={"team": "gates"})
    made.create_topic("flights-dead-letters")
    made.create_topic("weather")
    made.create_schema("states", "AVRO", AVRO)
    made.create_topic("us-states", schema_settings=SchemaSettings("states", "BINARY"))
    made.publish("us-states", [b"\x08Utah\x00", b"\x08Ohio\xc4\x8b\x0e"])
    made.commit_schema("states", AVRO_WITH_CODE)
    clock.advance(HOUR)
    made.publish("flights", _flights(0, 300))
    clock.advance(HOUR)
    made.create_subscription(
        "departures-board",
        "flights",
        message_retention_duration="3d",
        retain_acked_messages=True,
        dead_letter_policy=DeadLetterPolicy("flights-dead-letters"),
        retry_policy=RetryPolicy("60s", "600s"),
        labels={"team": "gates", "env": "prod"},
    )
    made.create_subscription("archive", "flights", enable_message_ordering=True)
    made.create_subscription("united", "flights", filter='attributes.carrier = "UA"')
    for day, count in enumerate((1_200, 3_400, 2_800, 4_100, 3_900, 900)):
        clock.advance(DAY if day else 0)
        made.publish("flights", _flights(day, count))
        if day < 3:
            made.pull("departures-board").ack()
    made.pull("departures-board", 4_100).ack()
    made.create_snapshot("before-deploy", "departures-board")
    clock.advance(HOUR)
    made.pull("departures-board", 40).nack()
    made.publish("flights", [Message(b"gate change", {"carrier": "UA", "gate": "B7"}, "UA-17")])
    clock.advance(5)
    batch = made.pull("departures-board", 600)
    batch.modify_ack_deadline(600)
    clock.advance(20)
    return made


def _flights(day: int, count: int) -> list[Message]:
    return [
        Message(
            json.dumps({"flight": 1000 * day + n, "delay": n % 97, "gate": {"terminal": "B"}})
            .encode(),
            {"carrier": ("UA", "AA", "DL", "B6")[n % 4], "origin": ("EWR", "LGA", "JFK")[n % 3]},
            f"key-{n % 50}",
        )
        for n in range(count)
    ]  # fmt: skip


@pytest.fixture(scope="session")
def served(store: PubSub, clock: ManualClock) -> Iterator[Served]:
    with Served(store, clock, ConsoleAccess("127.0.0.1")) as running:
        yield running


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    found = shutil.which("chromium") or shutil.which("chromium-browser")
    assert found, "Chromium is needed; sh conf/chromium.sh installs it"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


class Watched:
    """What a page did that it should not: messages of its console, and other hosts it asked."""

    def __init__(self, page: Page, url: str) -> None:
        self.told: list[str] = []
        self.elsewhere: list[str] = []
        self.dialogs: list[str] = []
        page.on("console", lambda message: self.told.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.told.append(str(error)))
        page.on("dialog", self._close)
        page.on("request", lambda request: self._check(request.url, url))

    def _close(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def _check(self, asked: str, url: str) -> None:
        if not asked.startswith(url):
            self.elsewhere.append(asked)


@pytest.fixture
def page(chromium: Browser, served: Served) -> Iterator[Page]:
    """A page of a browser that nobody has used; it must not complain, nor ask another host."""
    context = chromium.new_context(base_url=served.url, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(LONG)
    context.set_default_navigation_timeout(LONG)
    opened = context.new_page()
    watched = Watched(opened, served.url)
    yield opened
    context.close()
    expected = "Failed to load resource: the server responded with a status of 4"
    assert [each for each in watched.told if expected not in each] == []
    assert watched.elsewhere == []
    assert watched.dialogs == []
