"""How long the console takes for each of its pages and parts, where a topic has many messages.

Every GET route of the console is asked for, and the preview of a seek, in turn for subscriptions in
different states: what they take when nobody publishes, and, of those that look at the topic, what
they take just after a publish.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import getloadavg
from typing import Any, cast

import httpx2
import uvicorn
from fastapi import FastAPI
from pyspark.sql import SparkSession
from starlette.routing import Route

from benchmarks.console_store import LETTERS, SNAPSHOTS, STATES, TOPIC, Filled, filled
from benchmarks.floor import Floor
from benchmarks.measuring import Bench, Ratio, Section
from pubsub_delta.console import serve
from pubsub_delta.console.application import create_app
from pubsub_delta.console.forms import utc_time_values
from pubsub_delta.console.security import ConsoleAccess

MOST_SECONDS = 1.0
"""The target: a page answers within it."""
_BETWEEN = 0.02
"""Seconds by which the store's clock goes on before each page: nothing is asked twice alike."""
_EVERY = 10
"""So many pages lie between two MERGEs and empty pulls, which tell how busy the machine is."""

_PLAIN = (
    "/",
    "/sign-in",
    "/topics",
    "/topics/new",
    "/subscriptions",
    "/subscriptions/new",
    "/filters/check?filter=attributes.k%20%3D%20%22v7%22",
    f"/dead-letter-topics/check?dead_letter_topic={LETTERS}",
    "/snapshots",
    "/snapshots/new",
    "/static/console.css",
    "/static/htmx.min.js",
    "/static/chart.umd.min.js",
)
_OF_A_TOPIC = ("", "/figures", "/edit", "/delete", "/publish")
_OF_A_SNAPSHOT = ("", "/figures", "/edit", "/delete")
_OF_A_SUBSCRIPTION = (
    "",
    "/figures",
    "/picture",
    "/history",
    "/edit",
    "/delete",
    "/messages",
    "/messages/peek",
    "/messages/peek?max_messages=100",
    "/replay",
)
_OF_A_JOB = ("", "/progress", "/part")
_PARTS = ("/figures", "/picture", "/history", "/messages/peek", "/part")
"""What htmx asks for: it comes into a page that is there."""
_ASKS_AGAIN = re.compile(r'hx-get="(/jobs/[^"]+/part)"')
_BY_HTMX = {"HX-Request": "true"}
_LOOK_AT_TOPIC = ("/figures", "/picture", "/messages/peek", "/replay/preview")


@dataclass(frozen=True)
class Asked:
    """A page, or a part of one: the address, and the fields of the form that is posted, if any.

    ``route``: of all pages of its kind. ``of``: whose it is.
    """

    path: str
    route: str
    of: str = ""
    fields: dict[str, str] = field(default_factory=dict)

    @property
    def what(self) -> str:
        return f"{self.route}, {self.of}" if self.of else self.route

    @property
    def looks_at_topic(self) -> bool:
        """Whether it tells of what was published just now; of several alike, whether it is one."""
        return self.path.endswith(_LOOK_AT_TOPIC) and self.fields.get("target") != "snapshot"


def console(bench: Bench) -> Section:
    """Ask for every page in turn, and compare the slowest of each kind with a second."""
    section = Section(
        "console",
        f"{bench.messages:,} messages in a topic, of five days, and "
        f"{len(STATES)} subscriptions: "
        + "; ".join(f"{name}: {state}" for name, state in STATES.items())
        + f". {bench.rounds} rounds after a warm-up, each of all pages in turn, then of those that "
        "look at the topic, each just after a publish of ten messages. The console runs in a "
        "thread of this process. Ratios are seconds until a page or part has answered: of each "
        "kind the slowest.",
    )
    made, floor = filled(bench), Floor(bench.spark, bench.directory)
    made.store.create_topic("idle")
    made.store.create_subscription("idle", "idle")
    load = [getloadavg()[0]]
    with _served(made) as (client, app), _work_goes_on(app) as job:
        pages = _pages(made, app, job)
        visit = _Visit(section, client, made, floor)
        for turn in range(bench.rounds + 1):
            visit.all(pages, keep=turn > 0)
            load.append(getloadavg()[0])
    _conclude(section, pages, visit.jobs)
    section.facts["load of the machine, round by round"] = ", ".join(f"{n:.1f}" for n in load)
    return section


@contextmanager
def _served(made: Filled) -> Iterator[tuple[httpx2.Client, FastAPI]]:
    """Serve the console from a thread; yield a browser that it knows, and the application."""
    guard = create_app(made.store, ConsoleAccess("127.0.0.1"), made.clock, root="/data/pubsub")
    config = uvicorn.Config(guard, log_level="warning", access_log=False, server_header=False)
    server = uvicorn.Server(config)
    with serve.open_socket("127.0.0.1", 0) as opened:
        thread = threading.Thread(target=server.run, args=([opened],))
        thread.start()
        base = f"http://127.0.0.1:{opened.getsockname()[1]}"
        try:
            with httpx2.Client(base_url=base, timeout=600) as client:
                client.get("/topics").raise_for_status()
                yield client, cast(FastAPI, guard.app)
        finally:
            server.should_exit = True
            thread.join(60)


@contextmanager
def _work_goes_on(app: FastAPI) -> Iterator[str]:
    """Yield the id of work that goes on as long as it is looked at."""
    over = threading.Event()

    def unexpected(*_: Any) -> Any:
        raise AssertionError("nobody asks what became of it")

    jobs = app.state.console.jobs
    try:
        yield jobs.start("Work that goes on", over.wait, unexpected, unexpected).id
    finally:
        over.set()


def _pages(made: Filled, app: FastAPI, job: str) -> list[Asked]:
    """Return what is asked for. Every GET route of the console is among it."""
    pages = [Asked(path, path.split("?")[0]) for path in _PLAIN]
    for kind, id_, parts in [
        ("jobs", job, _OF_A_JOB),
        *[("topics", TOPIC, _OF_A_TOPIC)],
        *[("snapshots", name, _OF_A_SNAPSHOT) for name in SNAPSHOTS],
        *[("subscriptions", name, _OF_A_SUBSCRIPTION) for name in STATES],
    ]:
        for part in parts:
            path, _, query = part.partition("?")
            of = "" if kind == "jobs" else f"{id_}, {query}" if query else id_
            pages.append(Asked(f"/{kind}/{id_}{part}", f"/{kind}/{{id_}}{path}", of))
    present = {route.path for route in _routes(app) if "GET" in (route.methods or ())}
    assert present <= {page.route for page in pages}, present - {page.route for page in pages}
    targets = {"the middle": {"target": "time", **utc_time_values("time", made.middle)}}
    targets |= {name: {"target": "snapshot", "snapshot": name} for name in SNAPSHOTS}
    for name in STATES:
        for target, fields in targets.items():
            at = f"/subscriptions/{name}/replay/preview"
            route = "/subscriptions/{id_}/replay/preview"
            pages.append(Asked(at, route, f"{name} to {target}", fields))
    return pages


def _routes(app: FastAPI) -> Iterator[Route]:
    return (each for each in app.routes if isinstance(each, Route))


class _Visit:
    """Somebody who looks at all pages, again and again, while others publish.

    ``jobs``: the most Spark jobs that each page has taken, broadcasts not counted.
    """

    def __init__(self, section: Section, client: httpx2.Client, made: Filled, floor: Floor) -> None:
        self.jobs: dict[str, int] = {}
        self._section = section
        self._client = client
        self._store, self._clock = made.store, made.clock
        self._floor = floor
        form = client.get("/topics/new").text
        self._token = form.partition('name="form_token" value="')[2].partition('"')[0]

    def all(self, pages: list[Asked], *, keep: bool) -> None:
        """Ask for every page, and then, after a publish each, for what looks at the topic."""
        for number, each in enumerate(pages):
            self._compare(number, keep=keep)
            self._ask(each, each.what, keep=keep)
        for number, each in enumerate(page for page in pages if page.looks_at_topic):
            self._compare(number, keep=keep)
            self._store.publish(TOPIC, [b"one more"] * 10)
            self._ask(each, _afresh(each.what), keep=keep)

    def _compare(self, number: int, *, keep: bool) -> None:
        if number % _EVERY == 0:
            self._section.time("ten-row MERGE", self._floor.merge, keep=keep)
            self._section.time("empty pull", lambda: self._store.pull("idle"), keep=keep)

    def _ask(self, asked: Asked, what: str, *, keep: bool) -> None:
        self._clock.advance(_BETWEEN)
        before = _jobs(self._store.spark)
        start = time.perf_counter()
        if asked.fields:
            data = {**asked.fields, "form_token": self._token}
            answer = self._client.post(asked.path, data=data)
        else:
            htmx = asked.route.endswith(_PARTS)
            answer = self._client.get(asked.path, headers=_BY_HTMX if htmx else None)
        self._section.add(what, time.perf_counter() - start, keep=keep)
        assert answer.status_code in (200, 303), f"{what}: {answer.status_code}: {answer.text}"
        if self._waited(asked, answer):
            took = time.perf_counter() - start
            self._section.add(f"· {what}: until its work has shown", took, keep=keep)
        if keep:
            found = len(_jobs(self._store.spark) - before)
            self.jobs[what] = max(self.jobs.get(what, 0), found)

    def _waited(self, asked: Asked, answer: httpx2.Response) -> bool:
        """Wait for what goes on in the background, if anything does; tell whether it did."""
        if answer.headers.get("location", "").startswith("/jobs/"):
            self._wait(answer.headers["location"])
            return True
        again = _ASKS_AGAIN.search(answer.text)
        if again is None or asked.route.startswith("/jobs/"):
            return False
        while _ASKS_AGAIN.search(self._client.get(again[1], headers=_BY_HTMX).text):
            pass  # each waits a while for its answer
        return True

    def _wait(self, job: str) -> None:
        """Ask how work goes on, as its page does, until it is done; then for what it led to."""
        while "HX-Redirect" not in self._client.get(f"{job}/progress").headers:
            time.sleep(0.1)
        self._client.get(job).raise_for_status()


def _jobs(spark: SparkSession) -> set[int]:
    time.sleep(0.05)  # Spark tells of jobs a little later
    return set(spark.sparkContext.statusTracker().getJobIdsForGroup(None))


def _afresh(what: str) -> str:
    return f"{what}, just after a publish"


def _conclude(section: Section, pages: list[Asked], jobs: dict[str, int]) -> None:
    """Add for each route the seconds of its slowest page, and how many Spark jobs it takes."""
    by_route: dict[str, list[Asked]] = {}
    for each in pages:
        by_route.setdefault(each.route, []).append(each)
    for route, alike in by_route.items():
        whats = [each.what for each in alike]
        _slowest(section, whats, MOST_SECONDS)
        counts = [max(jobs[what] for what in whats)]
        afresh = [_afresh(each.what) for each in alike if each.looks_at_topic]
        if afresh:
            _slowest(section, afresh, None)
            counts.append(max(jobs[what] for what in afresh))
        if any(counts):
            told = ", just after a publish ".join(map(str, counts))
            section.facts[f"Spark jobs of {route}, at most"] = told


def _slowest(section: Section, whats: list[str], at_most: float | None) -> None:
    what = max(whats, key=section.median)
    told = f"{what}: s" if len(whats) == 1 else f"{what}, the slowest of {len(whats)}: s"
    section.ratios.append(Ratio(told, tuple(section.seconds[what]), at_most))
