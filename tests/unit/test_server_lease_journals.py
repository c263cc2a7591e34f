"""What a server leaves behind: taken over once it is known to be gone, and never before."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("grpc")
from pubsub_delta.policy.ack_ids import parse_ack_id
from pubsub_delta.policy.ack_state import State, union
from pubsub_delta.policy.positions import Positions
from pubsub_delta.server import lease_journals
from pubsub_delta.server.assigner import Delivery
from pubsub_delta.server.hub import Hub
from pubsub_delta.server.lease_journals import FOLDER, Journal, LeaseJournals
from tests.unit.serving import LONG, QUICK
from tests.unit.serving_calls import NAME, Calls, opening, running, soon
from tests.unit.serving_push import SELDOM

UID = "a" * 32
pytestmark = pytest.mark.skipif(
    not Path("/proc/sys/kernel/random/boot_id").exists(), reason="nothing tells the machine"
)

PROCESS = """
import sys
from pubsub_delta.policy.positions import Positions
from pubsub_delta.server.lease_journals import LeaseJournals

here = LeaseJournals(sys.argv[1], "first")
here.begin()
journal = here.journal("projects/p/subscriptions/s", sys.argv[2])
journal.leased(7, Positions.of(range(5)))
print("begun", flush=True)
sys.stdin.read()
"""


def other_server(root: Path) -> subprocess.Popen[str]:
    """Start a process that has leased five messages and given none of them."""
    command = [sys.executable, "-c", PROCESS, str(root), UID]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, **pipes)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    return process


def here(root: Path, name: str = "second") -> LeaseJournals:
    made = LeaseJournals(str(root), name)
    made.begin()
    return made


def left_at(root: Path) -> dict[str, dict[int, list[int]]]:
    looking = here(root)
    with looking.abandoned() as found:
        left = {
            each.subscription: {lease: list(n) for lease, n in each.waiting.items()}
            for each in found
        }
    looking.end()
    return left


def given(*positions: int, lease: int = 7) -> Iterable[Delivery]:
    message: Any = None
    return [Delivery(lease, position, 1, received=message) for position in positions]


def test_what_a_killed_server_left_is_taken_over_once(tmp_path: Path) -> None:
    # "taken over at once where the server that held them is known to be gone"
    process = other_server(tmp_path)
    assert left_at(tmp_path) == {}
    os.kill(process.pid, signal.SIGSTOP)
    assert left_at(tmp_path) == {}, "it is stopped, and may go on"
    process.kill()
    process.wait()
    assert left_at(tmp_path) == {"projects/p/subscriptions/s": {7: [0, 1, 2, 3, 4]}}
    assert left_at(tmp_path) == {}


def test_a_root_is_the_same_by_every_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    process = other_server(tmp_path / "link")
    process.kill()
    process.wait()
    assert left_at(tmp_path / "real")


def test_what_clients_were_given_is_not_taken_over(tmp_path: Path) -> None:
    one = here(tmp_path, "first")
    journal = one.journal("s", UID)
    journal.leased(7, Positions.of(range(5)))
    journal.given(given(0, 3))
    journal.leased(8, Positions.of([9]))
    journal.given(given(9, lease=8))
    killed(one)
    assert left_at(tmp_path) == {"s": {7: [1, 2, 4], 8: []}}


def test_a_long_journal_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_journals, "LONGEST_JOURNAL", 300)
    one = here(tmp_path, "first")
    journal = one.journal("s", UID)
    journal.leased(1, Positions.of(range(1_000)))
    (path,) = (each for each in tmp_path.rglob(UID))
    files = []
    for n in range(999):
        journal.given(given(n, lease=1))
        files.append(path.stat().st_ino)
    assert sum(one != other for one, other in pairwise(files)) < len(files) / 4, "it is appended to"
    assert path.stat().st_size < 700
    killed(one)
    assert left_at(tmp_path) == {"s": {1: [999]}}


def test_a_journal_that_ends_within_a_line_tells_nothing(tmp_path: Path) -> None:
    # then nobody knows what was given last
    one = here(tmp_path, "first")
    one.journal("s", UID).leased(7, Positions.of(range(5)))
    (path,) = (each for each in tmp_path.rglob(UID))
    path.write_text(path.read_text() + "given 7 0100")
    killed(one)
    assert left_at(tmp_path) == {}


def test_a_server_that_ends_in_order_leaves_nothing(tmp_path: Path) -> None:
    one = here(tmp_path)
    journal = one.journal("s", UID)
    journal.leased(7, Positions.of(range(5)))
    journal.end()
    one.end()
    assert list((tmp_path / FOLDER).iterdir()) == []


def test_a_server_whose_store_was_removed_has_no_others_beside_it(tmp_path: Path) -> None:
    """docs/guide/roots.md: "A program that has it open can create it anew there." """
    running = here(tmp_path)
    shutil.rmtree(tmp_path / FOLDER)
    with running.abandoned() as found:
        assert found == []
    running.end()


def test_of_a_server_that_is_taken_over_no_file_is_left(tmp_path: Path) -> None:
    """Else a machine whose servers are killed again and again collects a lock of each."""
    for name in ("first", "second"):
        one = here(tmp_path, name)
        one.journal("s", UID).leased(7, Positions.of(range(3)))
        killed(one)
    looking = here(tmp_path, "third")
    with looking.abandoned() as found:
        assert len(found) == 2
    kept = {each.name.partition(".")[2] for each in (tmp_path / FOLDER).iterdir()}
    assert kept == {"third", "third.lock"}


def test_a_server_without_leases_has_no_journal(tmp_path: Path) -> None:
    """What is read from a journal was leased: an old one would tell of leases that are over."""
    journal = Journal(tmp_path / UID, "projects/p/subscriptions/s")
    journal.end()
    journal.leased(7, Positions.of([1]))
    assert (tmp_path / UID).exists()
    journal.end()
    assert not (tmp_path / UID).exists()
    journal.leased(8, Positions.of([2]))
    assert "leased 7 " not in (tmp_path / UID).read_text()


def test_what_could_not_be_made_available_is_left_for_the_next_one(tmp_path: Path) -> None:
    """The store could not be written: the next look, or another server, tries again."""
    one = here(tmp_path, "first")
    one.journal("s", UID).leased(7, Positions.of(range(3)))
    killed(one)
    looking = here(tmp_path)
    with pytest.raises(OSError, match="no answer"), looking.abandoned():
        raise OSError("no answer")
    looking.end()
    assert left_at(tmp_path) == {"s": {7: [0, 1, 2]}}


def test_another_machine_cannot_be_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # "nothing of the kind on object stores": nor where a lock may be of another machine
    process = other_server(tmp_path)
    process.kill()
    process.wait()
    boot = tmp_path / "boot"
    boot.write_text("another")
    monkeypatch.setattr(lease_journals, "_BOOT", boot)
    assert left_at(tmp_path) == {}
    monkeypatch.setattr(lease_journals, "_BOOT", tmp_path / "absent")
    assert left_at(tmp_path) == {}


def test_a_server_without_its_lock_keeps_no_journal(tmp_path: Path) -> None:
    """Whoever gets the lock takes the server for gone, and its leases with it."""
    first = here(tmp_path, "one")
    second = here(tmp_path, "one")
    second.journal("projects/p/subscriptions/s", UID).leased(7, Positions.of(range(3)))
    assert [*(tmp_path / FOLDER).rglob(UID)] == []
    second.end()
    assert [each.name for each in (tmp_path / FOLDER).iterdir() if each.is_dir()] != []
    first.end()


def test_a_disk_that_takes_nothing_stops_no_delivery(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "absent" / UID, "s")
    journal.leased(7, Positions.of(range(5)))
    journal.given(given(0))
    journal.end()


def test_a_journal_that_a_full_disk_cut_short_is_taken_over_by_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages of a journal were sent to nobody; what was given since is not written there."""
    server = here(tmp_path, "first")
    journal = server.journal("projects/p/subscriptions/s", UID)
    journal.leased(7, Positions.of(range(3)))

    def full(*_: object) -> None:
        raise OSError("no space is left")

    with monkeypatch.context() as patched:
        patched.setattr(Journal, "_append", full)
        journal.given(given(0))
    killed(server)
    assert left_at(tmp_path) == {}


def test_what_is_given_of_several_leases_at_once_is_taken_over_of_none(tmp_path: Path) -> None:
    """A journal "is written before messages are given to consumers"."""
    server = here(tmp_path, "first")
    journal = server.journal("projects/p/subscriptions/s", UID)
    journal.leased(7, Positions.of(range(3)))
    journal.leased(8, Positions.of(range(10, 13)))
    journal.given([*given(0), *given(10, lease=8)])
    killed(server)
    assert left_at(tmp_path) == {"projects/p/subscriptions/s": {7: [1, 2], 8: [11, 12]}}


def test_messages_of_a_killed_server_are_available_at_once_and_what_clients_have_is_not(
    tmp_path: Path,
) -> None:
    async def test(calls: Calls) -> None:
        now, counters = calls.backend.now, calls.backend.counted
        first = here(tmp_path, "first")
        hub = Hub(calls.backend, counters, QUICK, now, first)
        calls.go_by(hub)
        stream = calls.stream(opening(max_outstanding_messages=2))
        await calls.publish("a", "b", "c", "d", "e")
        has = [each.ack_id for each in (await anext(stream)).received_messages]
        assert len(has) == 2
        await soon(lambda: len(leased(calls)) == 5)
        killed(first)
        after = Hub(calls.backend, counters, QUICK, now, here(tmp_path))
        await after.take_over()
        assert len(leased(calls)) == 2, "those that the client has"
        calls.go_by(after)
        assert len(await calls.pull(3)) == 3
        await calls.acknowledge(*has)
        await soon(lambda: calls.store.metrics(NAME)["num_undelivered_messages"] == 3)
        await hub.stop()

    running(test)


def test_what_was_left_of_a_deleted_subscription_means_nothing_of_its_successor(
    tmp_path: Path,
) -> None:
    async def test(calls: Calls) -> None:
        await calls.publish("a", "b")
        (ack_id, _) = await calls.pull(2)
        parsed = parse_ack_id(ack_id)
        assert parsed is not None
        left = here(tmp_path, "first")
        left.journal(NAME, UID).leased(parsed.lease_id, Positions.of(leased(calls)))
        killed(left)
        now, counters = calls.backend.now, calls.backend.counted
        after = Hub(calls.backend, counters, QUICK, now, here(tmp_path))
        await after.take_over()
        assert len(leased(calls)) == 2

    running(test)


def test_who_waits_for_messages_gets_those_of_a_killed_server_at_once(tmp_path: Path) -> None:
    """Docs: what a killed server held "is available at once", to the streams of another as well."""

    async def test(calls: Calls) -> None:
        await calls.publish("a")
        (ack_id,) = await calls.pull(1)
        parsed, uid = parse_ack_id(ack_id), calls.store.get_subscription(NAME).uid
        assert parsed is not None
        left = here(tmp_path, "first")
        left.journal(NAME, uid).leased(parsed.lease_id, Positions.of(leased(calls)))
        killed(left)
        now, counters = calls.backend.now, calls.backend.counted
        after = Hub(calls.backend, counters, SELDOM, now, here(tmp_path))
        calls.go_by(after)
        coming = asyncio.ensure_future(anext(calls.stream(opening())))
        await soon(lambda: (found := after.running(NAME)) is not None and found._next_poll)
        await after.take_over()
        (again,) = (await asyncio.wait_for(coming, LONG)).received_messages
        assert again.message.data == b"a"

    running(test)


def killed(server: LeaseJournals) -> None:
    """Let go of the lock of a server, as the end of its process does."""
    assert server._lock is not None
    server._lock.release()


def leased(calls: Calls) -> list[int]:
    uid = calls.store.get_subscription(NAME).uid
    state = calls.store._tables.ack_states.read(uid)
    return list(union(state.in_state(State.LEASED)))


def test_a_server_that_ends_while_it_is_looked_for_has_left_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking, ending = here(tmp_path), here(tmp_path, "first")
    found = looking._others()
    ending.end()
    monkeypatch.setattr(looking, "_others", lambda: found)
    with looking.abandoned() as left:
        assert left == []
    looking.end()
    assert list((tmp_path / FOLDER).iterdir()) == []


def test_what_was_left_of_a_subscription_that_is_gone_holds_up_no_other(tmp_path: Path) -> None:
    async def test(calls: Calls) -> None:
        await calls.publish("a")
        await calls.pull(1)
        uid = calls.store.get_subscription(NAME).uid
        left = here(tmp_path, "first")
        left.journal(NAME, uid).leased(1, Positions.of([0]))
        left.journal("projects/local/subscriptions/gone", UID).leased(1, Positions.of([0]))
        killed(left)
        counters, now = calls.backend.counted, calls.backend.now
        await Hub(calls.backend, counters, QUICK, now, here(tmp_path)).take_over()
        assert left_at(tmp_path) == {}, "there is nothing to try again"

    running(test)
