"""What an operation asks of an object store, request by request."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from typing import TypeVar
from urllib.parse import parse_qs, unquote, urlsplit

from pubsub_delta import PubSub
from tests.storages.proxy import Proxied
from tests.storages.servers import BUCKET

T = TypeVar("T")

_UID = re.compile(r"[0-9a-f]{32}")
_FILE = re.compile(r"[^/]*\.parquet$")


def told(method: str, target: str) -> str:
    """Tell a request in words: its method, or LIST, and what of the store it is about.

    >>> told("GET", "/bucket/a/ack_state/0123456789abcdef0123456789abcdef/_delta_log/9.json")
    'GET a/ack_state/…/_delta_log/9.json'
    >>> told("GET", "/bucket?list-type=2&prefix=a%2Ftopics%2F_delta_log%2F")
    'LIST a/topics/_delta_log/'
    """
    url = urlsplit(target)
    asked = parse_qs(url.query)
    if "list-type" in asked or asked.get("comp") == ["list"]:
        method, path = "LIST", asked.get("prefix", [""])[0]
    else:
        path = unquote(url.path).partition(f"/{BUCKET}/")[2]
    return f"{method} {_FILE.sub('….parquet', _UID.sub('…', path))}"


def kinds(seen: list[tuple[str, str]]) -> dict[str, int]:
    """Count requests by their method, or as LIST."""
    counted: dict[str, int] = {}
    for method, target in seen:
        kind = told(method, target).partition(" ")[0]
        counted[kind] = counted.get(kind, 0) + 1
    return counted


Step = tuple[str, Callable[[], object]]


def steps(root: str) -> Iterator[Step]:
    """Yield operations of a process that is at work, by name; each is to be run when it comes.

    Those of which the name ends in ``…`` prepare the next one.
    """
    store = PubSub(None, root)
    yield "create a topic …", lambda: store.create_topic("orders")
    for name in ("billing", "other"):
        yield (
            "create a subscription …",
            lambda name=name: store.create_subscription(name, "orders", ack_deadline_seconds=600),  # type: ignore[misc]
        )
    yield "publish, the first …", lambda: store.publish("orders", ["a"])
    yield "pull, the first …", lambda: list(store.pull("billing", 1))
    yield "publish", lambda: store.publish("orders", ["b", "c", "d"])
    batch = []
    yield "pull", lambda: batch.append(store.pull("billing", 1))
    yield "read what was pulled", lambda: list(batch[-1])
    yield "ack", lambda: batch[-1].ack()
    yield "pull …", lambda: batch.append(store.pull("billing", 1))
    yield "nack", lambda: batch[-1].nack()
    yield "pull and ack …", lambda: store.pull("billing").ack()
    yield "pull of nothing …", lambda: store.pull("billing")
    yield "pull of nothing", lambda: store.pull("billing")
    yield "seek to a time", lambda: store.seek("billing", time=datetime.now(timezone.utc))
    for number in (0, 1):
        more = " …" if number == 0 else ""
        yield (
            f"create a snapshot{more}",
            lambda number=number: store.create_snapshot(f"noon-{number}", "billing"),  # type: ignore[misc]
        )
    yield "seek to a snapshot", lambda: store.seek("billing", snapshot="noon-0")
    yield "delete a snapshot", lambda: store.delete_snapshot("noon-0")
    yield "metrics of a subscription", lambda: store.metrics("billing")
    yield "describe a topic", lambda: store.get_topic("orders")
    yield "describe a subscription", lambda: store.get_subscription("billing")
    yield (
        "update a subscription",
        lambda: store.update_subscription("billing", labels={"team": "a"}),
    )
    yield "create a topic", lambda: store.create_topic("letters")
    yield "create a subscription", lambda: store.create_subscription("letters", "letters")
    yield "delete a subscription", lambda: store.delete_subscription("letters")
    yield "delete a topic", lambda: store.delete_topic("letters")


def counted(proxy: Proxied, root: str) -> dict[str, dict[str, int]]:
    """Run the operations, and return how many requests each takes, by their method."""
    found = {}
    for name, run in steps(root):
        proxy.take()
        run()
        if not name.endswith("…"):
            found[name] = kinds(proxy.take())
    return found
