"""How long the console takes: from its start to its first page, and for each page and search.

It runs as the program that people start, on a store with a large topic and 500 subscriptions. Each
page is asked for once in each program that is started, and once more when it is warm.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import getloadavg

import httpx2
from fastapi import FastAPI
from starlette.routing import Route

from benchmarks.console_store import (
    KINDS,
    LARGE,
    LETTER_COUNT,
    LETTERS,
    REPAIR,
    SUBSCRIPTIONS,
    Filled,
    filled,
)
from benchmarks.measuring import Bench, Ratio, Section
from pubsub_delta import PubSub
from pubsub_delta.console.application import create_app
from pubsub_delta.console.forms import utc_time_values
from pubsub_delta.console.security import ConsoleAccess

FIRST_SECONDS, WARM_SECONDS = 2.0, 0.3
"""The targets: from the start of the process to the whole first page, and of a warm page."""
_BY_HTMX = {"HX-Request": "true"}
_ASKS_AGAIN = re.compile(r'hx-get="(/(?:jobs/[^"]+/part|searches/[^"]+))"')
_HREF = re.compile(r'href="(/static/[^"]+)"|src="(/static/[^"]+)"')

_PLAIN = (
    "/",
    "/maintenance",
    "/alive",
    "/sign-in",
    "/topics",
    "/topics?sort=messages",
    "/topics/_new",
    "/subscriptions",
    "/subscriptions?page=5",
    "/subscriptions?sort=age",
    "/subscriptions?q=scattered",
    "/subscriptions/_new",
    "/filters/check?filter=attributes.k%20%3D%20%22v7%22",
    f"/dead-letter-topics/check?dead_letter_topic={LETTERS}",
    "/snapshots",
    "/snapshots/_new",
    "/schemas",
    "/static/chart.umd.min.js",
)
_OF_A_TOPIC = ("", "/figures", "/subscriptions", "/details", "/edit", "/delete", "/publish")
_OF_A_SNAPSHOT = ("", "/figures", "/edit", "/delete")
_OF_A_SUBSCRIPTION = (
    "",
    "/figures",
    "/ack-state-chart",
    "/ack-state-chart?by=position",
    "/history",
    "/details",
    "/edit",
    "/delete",
    "/pull",
    "/messages",
    "/messages/found",
    "/replay",
)
_PART = re.compile(
    r"/(figures|ack-state-chart|history|messages/found|maintenance)\b|/topics/[^/]+/subscriptions$"
)
"""What htmx asks for: it comes into a page that is there."""
_SEARCHES = {
    f"one of {LETTER_COUNT:,} by its text": f"/topics/{LETTERS}/messages/found?text=poisoned",
    "by text through the large topic": f"/topics/{LARGE}/messages/found?text=poisoned",
    "by attribute, the newest 50": f"/topics/{LARGE}/messages/found?attribute=carrier%3DUA",
    "by ordering key": f"/topics/{LARGE}/messages/found?key=customer-17",
    "by a JSON field": f"/topics/{LARGE}/messages/found?json_field=order%3D4711",
    "by ID": f"/topics/{LARGE}/messages/found?message_id=1000",
}
_ELSEWHERE = {
    "/searches/{id_}", "/jobs/{id_}", "/jobs/{id_}/part", "/jobs/{id_}/progress", "/schemas/{id_}",
    "/{kind}/{id_}/publish-again", "/{kind}/{id_}/messages/{number}",
    "/{kind}/{id_}/messages/{number}/data", "/{kind}/{id_}/messages/download",
    "/{kind}/{id_}/messages/newer", "/subscriptions/{id_}/pull/{batch_id}",
}  # fmt: skip
"""Routes of work, and of single messages, which are not asked for by themselves."""


@dataclass(frozen=True)
class Asked:
    """A page, or a part of one: its address, and the route that it is one of."""

    at: str
    route: str

    @property
    def is_part(self) -> bool:
        return _PART.search(self.at) is not None


def console(bench: Bench) -> Section:
    """Start the console again and again, and ask for its first page, every other, and searches."""
    section = Section(
        "console",
        f"{bench.messages:,} messages in a topic, of five days; 24 smaller topics; "
        f"{LETTER_COUNT:,} dead letters; {SUBSCRIPTIONS} subscriptions: "
        + "; ".join(f"{name}: {kind.state}" for name, kind in KINDS.items())
        + f". {bench.rounds} rounds after a warm-up: each starts `pubsub-delta console` as a "
        "process, asks for the first page with what it includes, for each page twice, and for "
        "searches until they are done. Cold is the first time in a process.",
    )
    made = filled(f"{bench.directory}/store", bench.messages)
    load = []
    pages = list(_pages(made))
    for turn in range(bench.rounds + 1):
        _visit(section, f"{bench.directory}/store", pages, keep=turn > 0)
        load.append(getloadavg()[0])
    first = section.seconds["from the start of the process to the first page"]
    section.ratios.append(Ratio("first page after the start: s", tuple(first), FIRST_SECONDS))
    _conclude(section, pages)
    section.facts["load of the machine, round by round"] = ", ".join(f"{n:.1f}" for n in load)
    return section


def _visit(section: Section, root: str, pages: list[Asked], *, keep: bool) -> None:
    begun = time.perf_counter()
    with _started(root) as url, httpx2.Client(base_url=url, timeout=600) as client:
        section.add("until it listens", time.perf_counter() - begun, keep=keep)
        html = client.get("/").raise_for_status().text
        for first, second in _HREF.findall(html):
            client.get(first or second).raise_for_status()
        took = time.perf_counter() - begun
        section.add("from the start of the process to the first page", took, keep=keep)
        _wait_for_figures(client)
        section.add("until 500 are measured", time.perf_counter() - begun, keep=keep)
        for temperature in ("cold", "warm"):
            for each in pages:
                start = time.perf_counter()
                answer = _ask(client, each)
                took = time.perf_counter() - start
                section.add(f"{each.at}, {temperature}", took, keep=keep)
                if _finish(client, answer):
                    took = time.perf_counter() - start
                    section.add(f"· {each.at}, {temperature}: whole", took, keep=keep)
        for what, at in _SEARCHES.items():
            start = time.perf_counter()
            _finish(client, client.get(at, headers=_BY_HTMX))
            section.add(f"search {what}", time.perf_counter() - start, keep=keep)


@contextmanager
def _started(root: str) -> Iterator[str]:
    """Start the console as a process, and yield its address."""
    command = [sys.executable, "-m", "pubsub_delta", "console", "--port=0", f"--root={root}"]
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PUBSUB_DELTA_")}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=kept) as process:
        try:
            assert process.stderr is not None
            told = process.stderr.readline()
            found = re.search(r"http://\S+", told)
            assert found, told
            yield found[0].rstrip("/")
        finally:
            process.terminate()
            process.wait(30)


def _ask(client: httpx2.Client, asked: Asked) -> str:
    answer = client.get(asked.at, headers=_BY_HTMX if asked.is_part else None)
    assert answer.status_code in (200, 204, 303), f"{asked.at}: {answer.status_code}"
    if answer.headers.get("location", "").startswith("/jobs/"):
        return f'hx-get="{answer.headers["location"]}/part"'
    return answer.text


def _finish(client: httpx2.Client, html: str | httpx2.Response) -> bool:
    """Ask again for what goes on in the background until it is done; tell whether it did."""
    text, asked = html if isinstance(html, str) else html.text, False
    while again := _ASKS_AGAIN.search(text):
        asked, text = True, client.get(again[1], headers=_BY_HTMX).text
    return asked


def _wait_for_figures(client: httpx2.Client) -> None:
    while "still to be measured" in client.get("/subscriptions").text:
        time.sleep(0.2)


def _pages(made: Filled) -> Iterator[Asked]:
    """Yield what is asked for. Every GET route of the console is among it, or told apart."""
    found = [Asked(path, path.split("?")[0]) for path in _PLAIN]
    named = {name.rpartition("-")[0]: name for name in _subscriptions(made.store)}
    for kind, ids, parts in [
        ("topics", [LARGE, "events-00"], (*_OF_A_TOPIC, "/messages", "/messages/found")),
        ("snapshots", ["before-deploy"], _OF_A_SNAPSHOT),
        ("subscriptions", [*named.values(), REPAIR], _OF_A_SUBSCRIPTION),
    ]:
        for id_ in ids:
            for part in parts:
                path = part.partition("?")[0]
                shared = "{kind}" if path.startswith("/messages") else kind
                found.append(Asked(f"/{kind}/{id_}{part}", f"/{shared}/{{id_}}{path}"))
    time_ = "&".join(f"{k}={v}" for k, v in utc_time_values("time", made.middle).items())
    for id_ in named.values():
        for target in (f"target=time&{time_}", "target=snapshot&snapshot=before-deploy"):
            route = "/subscriptions/{id_}/replay/preview"
            found.append(Asked(f"/subscriptions/{id_}/replay/preview?{target}", route))
    app = create_app(made.store, ConsoleAccess(), made.clock).app
    assert isinstance(app, FastAPI)
    routes = (each for each in app.routes if isinstance(each, Route))
    present = {each.path for each in routes if "GET" in (each.methods or ())}
    missing = present - {each.route for each in found} - _ELSEWHERE
    assert not missing, missing
    yield from found


def _subscriptions(store: PubSub) -> Iterator[str]:
    for each in store.list_subscriptions(page_size=1_000):
        id_ = each.name.rsplit("/", 1)[1]
        if id_.startswith(f"{LARGE}-") and id_ != REPAIR:
            yield id_


def _conclude(section: Section, pages: list[Asked]) -> None:
    """Add for each route the seconds of its slowest page when it is warm."""
    by_route: dict[str, list[Asked]] = {}
    for each in pages:
        by_route.setdefault(each.route, []).append(each)
    for route, alike in by_route.items():
        slowest = max((f"{each.at}, warm" for each in alike), key=section.median)
        seconds = tuple(section.seconds[slowest])
        section.ratios.append(
            Ratio(f"{route}, the slowest of {len(alike)}: s", seconds, WARM_SECONDS)
        )
