"""Work that takes long: the page answers in time, tells that it goes on, and leads to the end."""

from __future__ import annotations

import re
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi")
from fastapi import Request, Response

from pubsub_delta.clock import ManualClock
from pubsub_delta.console import jobs, responses
from pubsub_delta.console.jobs import Job, Jobs
from pubsub_delta.errors import Aborted, PubSubError, ResourceExhausted
from tests.unit.browsing import Browser, words
from tests.unit.builders import at


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Browser, threading.Event]]:
    """A console that creates topics only when the event is set."""
    browser, go_on = Browser(), threading.Event()
    create = browser.store.create_topic

    def waiting(*names: Any, **fields: Any) -> Any:
        assert go_on.wait(60)
        return create(*names, **fields)

    monkeypatch.setattr(browser.store, "create_topic", waiting)
    monkeypatch.setattr(responses, "WAIT_SECONDS", 0.05)
    yield browser, go_on
    go_on.set()


def finished(browser: Browser, at_: str) -> Any:
    """Ask for the progress until the work is done."""
    pause = threading.Event()
    for _ in range(2_000):
        answer = browser.get(f"{at_}/progress")
        if "HX-Redirect" in answer.headers:
            return answer
        pause.wait(0.01)
    raise AssertionError("it never ended")


def test_a_page_does_not_wait_for_long_work(slow: tuple[Browser, threading.Event]) -> None:
    """Long operations show progress and never block the page."""
    browser, go_on = slow
    answer = browser.post("/topics/_new", {"id": "news"})  # it comes, though the work goes on
    assert answer.url.path.startswith("/jobs/")
    assert "Creating the topic news" in words(answer.text)
    assert "every 2s" in answer.text, "it asks until it is told, however often that takes"
    browser.world.be_at(75)
    part = browser.get(f"{answer.url.path}/progress")
    assert "Running for 1 min 15 s" in words(part.text)
    assert "<html" not in part.text
    assert browser.get("/topics").status_code == 200, "other pages answer meanwhile"
    go_on.set()
    done = finished(browser, answer.url.path)
    assert done.headers["HX-Redirect"] == answer.url.path
    page = browser.get(answer.url.path)
    assert page.url.path == "/topics/news"
    assert "The topic was created." in words(page.text)


def test_an_error_of_long_work_comes_back_with_the_form(
    slow: tuple[Browser, threading.Event],
) -> None:
    browser, go_on = slow
    answer = browser.post("/topics/_new", {"id": "flights", "labels": "kept=this"})
    go_on.set()
    finished(browser, answer.url.path)
    page = browser.client.get(answer.url.path)
    assert page.status_code == 400
    assert 'id="id-error"' in page.text
    assert "kept=this" in page.text
    assert 'action="/topics/_new"' in page.text, "sent again it must not go to the job"


def test_work_that_is_not_known_is_told(slow: tuple[Browser, threading.Event]) -> None:
    answer = slow[0].client.get("/jobs/absent")
    assert answer.status_code == 404
    assert "not known any more" in words(answer.text)


def test_an_error_without_a_form_has_a_page_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    browser = Browser()

    def failing(*_: Any, **__: Any) -> None:
        raise Aborted("topic flights: too many writers <b>")

    monkeypatch.setattr(browser.store, "delete_topic", failing)
    answer = browser.delete("/topics/flights")
    assert answer.status_code == 400
    assert "too many writers <b>" in words(answer.text)
    assert "Aborted" in answer.text
    assert "<b>" not in answer.text


def page_of(_: Request, __: object) -> Response:
    return Response("done")


def failed(_: Request, error: PubSubError) -> Response:
    return Response(str(error))


PART = "/subscriptions/board/metrics"
BY_HTMX = {"HX-Request": "true"}


@pytest.fixture
def slow_figures(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Browser, threading.Event]]:
    """A console that measures a subscription only when the event is set."""
    browser, go_on = Browser(), threading.Event()
    browser.store.create_subscription("board", "flights")
    measure = browser.store.metrics

    def waiting(name: str) -> Any:
        assert go_on.wait(60)
        return measure(name)

    monkeypatch.setattr(browser.store, "metrics", waiting)
    monkeypatch.setattr(responses, "WAIT_SECONDS", 0.05)
    yield browser, go_on
    go_on.set()


def test_a_part_that_lasts_asks_again_until_it_is_there(
    slow_figures: tuple[Browser, threading.Event],
) -> None:
    """What takes longer goes on in the background: the page tells so, and shows it then."""
    browser, go_on = slow_figures
    waiting = browser.get(PART, headers=BY_HTMX)
    [again] = re.findall(
        r'hx-get="(/jobs/[^"]+/part)" hx-trigger="load delay:200ms, every 3s"', waiting.text
    )
    assert "Measuring the backlog" in words(waiting.text)
    assert 'hx-target="this" hx-swap="outerHTML"' in waiting.text, (
        "not the place that it was put into"
    )
    assert again in browser.get(again, headers=BY_HTMX).text, "it asks a second time"
    go_on.set()
    pages_to_come = (browser.get(again, headers=BY_HTMX).text for _ in range(1_000))
    part = next(text for text in pages_to_come if "/jobs/" not in text)
    assert "Unacknowledged" in words(part)
    assert "<html" not in part
    assert "not known any more" in words(browser.get(again, headers=BY_HTMX).text)


def test_a_part_that_lasts_has_a_page_in_a_browser_without_scripts(
    slow_figures: tuple[Browser, threading.Event],
) -> None:
    browser, _ = slow_figures
    answer = browser.get(PART)
    assert answer.url.path.startswith("/jobs/")
    assert "<html" in answer.text


def test_an_error_of_a_part_is_told_in_its_place() -> None:
    browser = Browser()
    answer = browser.get("/subscriptions/absent/metrics", headers=BY_HTMX)
    assert "no subscription, topic or snapshot of that name exists" in words(answer.text)
    assert "<html" not in answer.text


def test_only_the_last_pieces_of_work_are_remembered() -> None:
    known = Jobs(ManualClock(at(0)).now, workers=1)
    started: list[Job[int]] = []
    for number in range(jobs.KEPT + 5):
        job = known.start("counting", lambda number=number: number, page_of, failed)  # type: ignore[misc]
        assert job.wait(20)
        started.append(job)
    assert known.find(started[0].id) is None
    assert known.find(started[-1].id) is started[-1]
    assert sum(known.find(each.id) is not None for each in started) == jobs.KEPT
    known.close()


def refused() -> None:
    raise Aborted("topic flights: too many writers")


def test_forms_are_kept_up_to_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A form comes back with its error, and may have 48 MB: not a hundred of them are kept."""
    monkeypatch.setattr(jobs, "KEPT_BYTES", 100)
    known = Jobs(ManualClock(at(0)).now, workers=1)
    started: list[Job[None]] = []
    for size in (40, 40, 0, 60, 90):
        started.append(known.start("publishing", refused, page_of, failed, size))
        assert started[-1].wait(20)
        kept = [each.form_bytes for each in started if known.find(each.id) is not None]
        assert sum(kept) <= 100
        assert known.find(started[-1].id) is started[-1]
    assert kept == [90]
    assert [each.form_bytes for each in started] == [40, 40, 0, 60, 90]
    known.close()


def test_forms_of_work_that_goes_on_are_as_few_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound holds when a form is taken, and not only when the next one comes."""
    monkeypatch.setattr(jobs, "KEPT_BYTES", 100)
    known, go_on = Jobs(ManualClock(at(0)).now, workers=1), threading.Event()
    done: list[str] = []

    def start(name: str, size: int) -> Job[None]:
        def work() -> None:
            assert go_on.wait(20)
            done.append(name)
            refused()

        return known.start("publishing", work, page_of, failed, size)

    first, second = start("first", 40), start("second", 60)
    with pytest.raises(ResourceExhausted, match="send the form again later"):
        start("third", 1)
    unformed = start("without a form", 0)
    go_on.set()
    assert all(each.wait(20) for each in (first, second, unformed))
    assert first.form_bytes + second.form_bytes <= 100
    assert start("fourth", 90).wait(20)
    assert done == ["first", "second", "without a form", "fourth"]
    assert [known.find(each.id) is not None for each in (first, second)] == [False, False]
    known.close()


def test_a_form_that_has_no_room_is_told_to_be_sent_again(
    slow: tuple[Browser, threading.Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    browser, _ = slow
    monkeypatch.setattr(jobs, "KEPT_BYTES", 8_000)
    browser.post("/topics/_new", {"id": "news", "more": "x" * 5_000})
    answer = browser.post("/topics/_new", {"id": "more-news", "more": "x" * 5_000})
    assert answer.status_code == 429
    assert "send the form again later" in words(answer.text)


class _Typed:
    """What stands in a form."""


@pytest.mark.parametrize("succeeds", [True, False])
def test_what_no_page_will_show_is_not_kept(succeeds: bool) -> None:
    """A form is shown again with its error only, and what work has found only without."""
    known = Jobs(ManualClock(at(0)).now, workers=1)
    typed, found = _Typed(), _Typed()
    forms, results = weakref.ref(typed), weakref.ref(found)
    job = known.start(
        "counting",
        int if succeeds else lambda: refused() or 0,  # type: ignore[func-returns-value]
        lambda _, __, found=found: Response(f"{found}"),  # type: ignore[misc]
        lambda _, __, typed=typed: Response(f"{typed}"),  # type: ignore[misc]
        1_000,
    )
    del typed, found
    known.close()
    assert (forms() is None, results() is None) == (succeeds, not succeeds)
    assert job.form_bytes == (0 if succeeds else 1_000)


def test_an_answer_at_once_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows the address of a job whose page was the answer."""
    browser = Browser()
    started: list[tuple[Jobs, Job[Any]]] = []
    start = Jobs.start

    def noting(known: Jobs, *args: Any) -> Any:
        job: Job[Any] = start(known, *args)
        started.append((known, job))
        return job

    monkeypatch.setattr(Jobs, "start", noting)
    browser.post("/topics/flights/publish", {"data": "x" * 10_000})
    browser.post("/topics/_new", {"id": "flights", "labels": "kept=this"})
    assert len(started) == 2
    assert [known.find(job.id) for known, job in started] == [None, None]


def test_work_that_lasts_knows_how_large_its_form_is(
    slow: tuple[Browser, threading.Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    browser, _ = slow
    sizes: list[int] = []
    start = Jobs.start

    def noting(known: Jobs, *args: Any) -> Any:
        job: Job[Any] = start(known, *args)
        sizes.append(job.form_bytes)
        return job

    monkeypatch.setattr(Jobs, "start", noting)
    browser.post("/topics/_new", {"id": "news", "more": "x" * 5_000})
    assert [5_000 < size < 6_000 for size in sizes] == [True]


def test_work_that_goes_on_is_not_forgotten() -> None:
    known, go_on = Jobs(ManualClock(at(0)).now, workers=2), threading.Event()
    first = known.start("waiting", lambda: go_on.wait(20), page_of, failed)
    for _ in range(jobs.KEPT + 5):
        assert known.start("counting", int, page_of, failed).wait(20)
    assert known.find(first.id) is not None
    assert not first.is_done
    go_on.set()
    known.close()
    assert first.is_done
