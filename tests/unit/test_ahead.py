"""Tables that are prepared in another thread."""

from __future__ import annotations

from threading import Event, get_ident

from pubsub_delta.tables.ahead import Ahead, Readers


def test_a_table_is_prepared_in_another_thread_which_nobody_waits_for() -> None:
    begun, goes_on, threads = Event(), Event(), set[int]()

    def look(_: str) -> None:
        threads.add(get_ident())
        begun.set()
        assert goes_on.wait(10)

    ahead = Ahead(look, lambda _: None)
    ahead.prepare("topic")
    assert begun.wait(10)
    goes_on.set()
    ahead.close()
    assert threads
    assert get_ident() not in threads


def test_a_table_that_waits_is_prepared_once_and_anew_if_asked_since_it_began() -> None:
    """Whoever commits while a table is prepared needs another state than the one it gives."""
    begun, goes_on, looked = Event(), Event(), list[str]()

    def look(table: str) -> None:
        looked.append(table)
        begun.set()
        assert goes_on.wait(10)

    ahead = Ahead(look, lambda _: None)
    ahead.prepare("topic")
    assert begun.wait(10)
    for table in ("topic", "ack state", "topic", "ack state"):
        ahead.prepare(table)
    goes_on.set()
    ahead.close()
    assert looked == ["topic", "topic", "ack state"]


def test_what_goes_wrong_is_left_to_whoever_needs_the_table() -> None:
    looked = []

    def look(table: str) -> None:
        looked.append(table)
        raise OSError(table)

    ahead = Ahead(look, lambda _: None)
    ahead.prepare("gone")
    ahead.prepare("there")
    ahead.close()
    assert looked == ["gone", "there"]
    ahead.prepare("too late")
    assert looked == ["gone", "there"]


def test_a_table_on_the_drivers_disk_is_prepared_once_after_each_commit() -> None:
    """Elsewhere a look at its log has put the state together already."""
    looked, newest = list[str](), {"on disk": 7}
    ahead = Ahead(looked.append, newest.get)
    for table in ("on disk", "on disk", "elsewhere"):
        ahead.prepare_on_disk(table)
        ahead._thread.submit(lambda: None).result()
    assert looked == ["on disk"]
    newest["on disk"] = 8
    ahead.prepare_on_disk("on disk")
    ahead.prepare("elsewhere, but asked for all the same")
    ahead.close()
    assert looked == ["on disk", "on disk", "elsewhere, but asked for all the same"]


def test_who_has_not_read_the_last_batch_is_not_taken_to_read_the_next() -> None:
    readers = Readers()
    assert readers.reads("one")
    on_read = readers.given("one")
    assert (readers.reads("one"), readers.reads("another")) == (False, True)
    on_read()
    on_read()
    assert readers.reads("one")
