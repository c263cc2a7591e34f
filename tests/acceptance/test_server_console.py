"""`pubsub-delta serve --console-port` as a process: what one publishes, the other shows."""

from __future__ import annotations

import urllib.parse
import urllib.request
from functools import partial
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.error import URLError

import pytest

pytest.importorskip("google.cloud.pubsub_v1")
pytest.importorskip("fastapi")

from tests.acceptance.serving import LONG, ServerProcess, eventually
from tests.servers import free_port
from tests.unit.browsing import form_from_pairs, words

pytestmark = [
    pytest.mark.trial,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]

TOPIC = "projects/local/topics/flights"
READER = "projects/local/subscriptions/delays"


class Reader:
    """A browser without scripts, as far as a console needs one."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))

    def page(self, path: str, fields: dict[str, str] | None = None) -> str:
        """Load a page, or send its form with some fields filled in."""
        data = None
        if fields is not None:
            form = form_from_pairs(self.page(path))
            data = urllib.parse.urlencode({**form.fields, **fields}).encode()
        with self._opener.open(f"{self.url}{path}", data, LONG) as answer:
            return str(answer.read().decode())


def test_a_server_and_its_console_are_one_process(tmp_path: Path) -> None:
    """They use one store, tell both addresses, and end together by SIGTERM with exit code 0."""
    port = free_port()
    server = ServerProcess(tmp_path / "store", f"--console-port={port}")
    reader = Reader(f"http://localhost:{port}/")
    server.start()
    try:
        publisher, subscriber = server.publisher(), server.subscriber()
        publisher.create_topic(name=TOPIC, timeout=LONG)
        subscriber.create_subscription(name=READER, topic=TOPIC, timeout=LONG)
        publisher.publish(TOPIC, b"late by gRPC", carrier="UA").result(LONG)
        assert "flights" in words(reader.page("topics"))
        peek = partial(reader.page, "subscriptions/delays/messages/found")
        eventually(lambda: "late by gRPC" in words(peek()))  # it may go on in the background
        # and the other way: what the console changes, clients of the server see
        reader.page("subscriptions/delays/edit", {"ack_deadline": "33"})
        read = partial(subscriber.get_subscription, subscription=READER, timeout=LONG)
        eventually(lambda: read().ack_deadline_seconds == 33)  # it may go on in the background
    finally:
        code = server.stop()
    log = server.log.read_text(encoding="utf-8")
    assert code == 0, log[-3000:]
    assert f"export PUBSUB_EMULATOR_HOST={server.address}" in log
    assert f"The console is at http://localhost:{port}/" in log
    assert "Traceback" not in log
    assert "the server has ended" in log
    with pytest.raises(URLError):
        reader.page("topics")
