"""Every order of the commits of two or three processes: nothing is lost, doubled or mixed up.

``pytest -m trial tests/protocol`` searches all scenarios, with and without locks, and some with an
answer that is lost. Each search tells how many states it has met.
"""

from __future__ import annotations

import sys

import pytest

from tests.protocol.old_protocol import VARIANTS, WITHOUT_LOCKS
from tests.protocol.scenario import Scenario
from tests.protocol.scenarios import SCENARIOS
from tests.protocol.search import Search, Searched, Snapshot, Violated
from tests.protocol.stepping import Handle, Process
from tests.unit.in_memory import InMemory

BY_NAME = {each.name: each for each in SCENARIOS}
QUICK = [
    ("a seek to a time beside retention", ("seeks", "maintains")),
    ("a snapshot of what a seek brought back", None),
    ("a slow publisher beside retention", None),
    ("a seek to a snapshot that is deleted", ("seeks", "deletes the snapshot and maintains")),
    ("two snapshots of one name", ("takes a snapshot", "takes another one")),
    ("a dead letter", ("pulls", "maintains")),
    ("a dead letter whose topic is deleted", ("pulls", "deletes the topic")),
    ("three consumers", ("consumes", "pulls")),
    ("a lease and a RESTORE", None),
    ("publishes and a new subscription", ("publishes", "publishes too")),
    ("a dead-letter topic that is given and deleted", None),
]
"""What is searched in every run: two processes each."""
QUICK_VARIANTS = (
    "a seek that does not look again",
    "a seek that counts what is stored",
    "retention that does not announce",
    "retention that heeds its announcement",
    "a deletion of what came late",
    "dead letters without a transaction",
    "dead letters that are taken for landed",
    "dead letters that are acknowledged first",
    "dead letters that go back with their topic",
)
ENDLESS_WITHOUT_LOCKS = {"a dead letter": (("pulls", "maintains"), ("pulls", "pulls too"))}
"""What three processes make too many states of where tables have no lock, and pairs of them."""


def told(capsys: pytest.CaptureFixture[str], name: str, found: Searched) -> None:
    with capsys.disabled():
        sys.stdout.write(f"\n{found.line(name)}\n")


@pytest.mark.parametrize(("name", "only"), QUICK, ids=[each[0] for each in QUICK])
def test_what_must_hold_holds_in_every_order_of_two(
    name: str, only: tuple[str, ...] | None
) -> None:
    found = BY_NAME[name].search(only=only)
    assert found.states > 50
    assert found.contents > 3, "nobody wrote anything"


@pytest.mark.parametrize("name", QUICK_VARIANTS)
def test_the_old_protocol_fails(name: str) -> None:
    _fails(name)


def _fails(name: str) -> Violated:
    variant, scenario = VARIANTS[name]
    with variant(), pytest.raises(Violated) as found:
        BY_NAME[scenario].search(locks=name not in WITHOUT_LOCKS)
    assert found.value.steps
    return found.value


def test_a_failure_tells_who_did_what_to_which_table() -> None:
    failure = _fails("a seek that does not look again")
    commits = [each for each in failure.steps if ":   " not in each]
    assert commits == [
        "deletes the snapshot and maintains: merge snapshots  <- tables.registry.resource_table"
        "._swap < operations.snapshot.delete_snapshot",
        *commits[1:],
    ]
    assert any("delete messages/flights" in each for each in commits)
    assert any("swap ack_state/first" in each and "operations.seek" in each for each in commits)
    assert str(failure).startswith(failure.what)


def take_two_locks(first: str, second: str) -> object:
    def program(handle: Handle) -> None:
        with handle.lane.locked(first), handle.lane.locked(second):
            handle.lane.version(first)

    return program


def test_who_waits_for_each_other_is_found() -> None:
    world = InMemory()
    tables = world.driver.world.lane.tables
    a, b = [*tables][:2]
    processes = [
        Process("one", take_two_locks(a, b), 1),  # type: ignore[arg-type]
        Process("other", take_two_locks(b, a), 2),  # type: ignore[arg-type]
    ]

    def nothing(_: Snapshot) -> list[str]:
        return []

    with pytest.raises(Violated, match="one and other wait for each other"):
        Search(tables, processes, nothing).run()


@pytest.mark.trial
@pytest.mark.timeout(12 * 3600)
@pytest.mark.parametrize("locks", [True, False], ids=["locks", "no-locks"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_what_must_hold_holds_in_every_order(
    scenario: Scenario, locks: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = () if locks else ENDLESS_WITHOUT_LOCKS.get(scenario.name, ())
    for only in pairs or (None,):
        told(capsys, scenario.name, scenario.search(only=only, locks=locks))


@pytest.mark.trial
@pytest.mark.timeout(12 * 3600)
@pytest.mark.parametrize(("name", "only"), QUICK, ids=[each[0] for each in QUICK])
def test_a_lost_answer_changes_nothing_of_it(
    name: str, only: tuple[str, ...] | None, capsys: pytest.CaptureFixture[str]
) -> None:
    told(capsys, name, BY_NAME[name].search(only=only, lost=1))


@pytest.mark.trial
@pytest.mark.timeout(12 * 3600)
@pytest.mark.parametrize("name", [each for each in VARIANTS if each not in QUICK_VARIANTS])
def test_every_variant_of_the_old_protocol_fails(name: str) -> None:
    _fails(name)
