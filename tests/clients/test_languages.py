"""Google's clients in four languages, unmodified: long idle streams, and killed servers."""

from __future__ import annotations

import os
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.acceptance.serving import ServerProcess, eventually
from tests.clients.programs import ClientProgram, installed
from tests.servers import free_port

pytestmark = [pytest.mark.clients, pytest.mark.timeout(3000)]

IDLE = float(os.environ.get("IDLE_SECONDS", "60"))
"""How long nothing is published: three times what the clients wait for an answer, at least."""
KILLS = 3
RATE = 100
"""Messages a second that each program publishes while the server is killed."""
METHOD = "StreamingPull"


@pytest.fixture
def metrics_port() -> int:
    return free_port()


@pytest.fixture
def server(tmp_path: Path, metrics_port: int) -> Iterator[ServerProcess]:
    process = ServerProcess(tmp_path / "store", f"--metrics-port={metrics_port}")
    process.start()
    yield process
    assert process.stop() == 0


@pytest.fixture
def programs(server: ServerProcess, tmp_path: Path) -> Iterator[dict[str, ClientProgram]]:
    """Run a program of each language, and kill what a failed test leaves."""
    with ExitStack() as started:
        running = {}
        for language in installed():
            program = ClientProgram(language, server, tmp_path / f"{language}.log")
            started.callback(program.kill)
            running[language] = program
        yield running


def test_at_least_two_languages_are_tried() -> None:
    assert len(installed()) >= 2


def metric(port: int, name: str, labels: str = "") -> float:
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        found = re.findall(
            rf"^pubsub_delta_server_{name}(?:\{{(.*)\}})? (\S+)$", answer.read().decode(), re.M
        )
    return sum(float(value) for its, value in found if labels in its)


def test_clients_that_were_idle_for_long_are_given_the_next_message_at_once(
    programs: dict[str, ClientProgram], metrics_port: int
) -> None:
    # "Go and Java clients idle for ten minutes on one stream, the next message within a second"
    for name, program in programs.items():
        program.send("first")
        eventually(partial(program.times, "first"))
        assert not program.errors, (name, program.errors)
    before = metric(metrics_port, "requests_total", METHOD)
    opened = metric(metrics_port, "open_streams")
    time.sleep(IDLE)
    assert metric(metrics_port, "requests_total", METHOD) == before, "a client left its stream"
    assert metric(metrics_port, "open_streams") == opened
    told = {}
    for name, program in programs.items():
        began = time.monotonic()
        program.send("next")
        eventually(partial(program.times, "next"))
        told[name] = program.times("next")[0] - began
    for program in programs.values():
        program.stop()
        assert not program.errors
    print(f"idle for {IDLE:.0f} s, then received after", told)  # noqa: T201


class Load:
    """Lets a program publish numbered messages, and notes down what is lost and doubled."""

    def __init__(self, program: ClientProgram) -> None:
        self._program = program
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._send, daemon=True)
        self._thread.start()

    def _send(self) -> None:
        number = 0
        while not self._over.wait(1 / RATE):
            self._program.send(str(number))
            number += 1

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def has_received(self, count: int, since: float) -> bool:
        return len([1 for at, _ in list(self._program.received) if at > since]) >= count

    def lost(self) -> set[str]:
        """Return what was answered and has not come."""
        return set(self._program.published) - {text for _, text in list(self._program.received)}

    def has_lost_nothing(self) -> bool:
        return not self.lost()

    def longest_gap(self, since: float, until: float) -> float:
        times = [at for at, _ in list(self._program.received) if since < at < until]
        return max(later - earlier for earlier, later in pairwise([since, *times, until]))

    def doubled(self, kills: list[float]) -> tuple[int, set[str]]:
        """Return how many came twice, and which did that had settled a second before a kill."""
        first: dict[str, float] = {}
        late: set[str] = set()
        for at, text in self._program.received:
            before = first.setdefault(text, at)
            if at > before and not any(before > kill - 1 for kill in kills if kill < at):
                late.add(text)
        counts = Counter(text for _, text in self._program.received)
        return len([1 for count in counts.values() if count > 1]), late


def test_no_client_loses_a_message_of_a_server_that_is_killed_under_load(
    programs: dict[str, ClientProgram], server: ServerProcess
) -> None:
    # "SIGKILL and restart under load with clients of three languages: nothing lost, nothing doubled
    # beyond the contract, the longest gap ≤ 15 s"
    with ExitStack() as stopping:
        loads = {name: Load(program) for name, program in programs.items()}
        for load in loads.values():
            stopping.callback(load.stop)
        kills, downs = [], []
        for _ in range(KILLS):
            time.sleep(10)
            kills.append(time.monotonic())
            server.kill()
            server.start()
            downs.append(time.monotonic() - kills[-1])
            for load in loads.values():
                started = time.monotonic()
                eventually(partial(load.has_received, 2 * RATE, started))
        time.sleep(10)
        until = time.monotonic()
    for load in loads.values():
        eventually(load.has_lost_nothing)
    time.sleep(15)  # as long as a lease that nobody took over would last
    told = {
        name: (
            f"{len(programs[name].received)} received, {load.doubled(kills)[0]} twice, "
            f"gap {load.longest_gap(kills[0], until):.1f} s"
        )
        for name, load in loads.items()
    }
    print(f"down for {[round(each, 1) for each in downs]} s", told)  # noqa: T201
    for name, load in loads.items():
        assert load.doubled(kills)[1] == set(), name
        assert load.longest_gap(kills[0], until) <= 15, told
    for program in programs.values():
        program.stop()
