"""The proof goes on where it was, tells its seeds, and ends at the first run that fails."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.proof.ledger import Ledger, digest_of_the_library
from tests.proof.parts import PARTS, Part
from tests.proof.run import Ran, prove
from tests.trials import test_damage

ONE = Part("one", 10, "things", ("one",), re.compile(r"(\d+) things"), seeds=2)
TWO = Part("two", 100, "steps", ("two",), re.compile(r"(\d+) steps"))


def told(text: str, status: int = 0) -> Callable[[Part, int], Ran]:
    return lambda part, seed: Ran(part, seed, status, text, 1.0)


def turns(count: int) -> Callable[[], bool]:
    left = iter(range(count))
    return lambda: next(left, None) is not None


def test_it_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    assert prove([ONE], Ledger(path, "a"), turns(2), str, run=told("3 things")) is None
    again = Ledger(path, "a")
    assert (again.of(ONE).done, again.of(ONE).next_seed) == (6, 5)
    seeds: list[int] = []

    def run(part: Part, seed: int) -> Ran:
        seeds.append(seed)
        return Ran(part, seed, 0, "3 things", 1.0)

    prove([ONE], again, turns(9), str, run=run)
    assert seeds == [5, 7], "it ends when the goal is reached"
    assert Ledger(path, "a").of(ONE).done == 12


def test_another_version_of_the_library_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    prove([ONE], Ledger(path, "a"), turns(1), str, run=told("3 things"))
    other = Ledger(path, "b")
    assert other.began_anew
    assert other.of(ONE).done == 0


def test_what_is_furthest_from_its_goal_comes_first(tmp_path: Path) -> None:
    ran: list[str] = []

    def run(part: Part, seed: int) -> Ran:
        ran.append(part.name)
        return Ran(part, seed, 0, "4 things 4 steps", 1.0)

    prove([ONE, TWO], Ledger(tmp_path / "ledger.json", "a"), turns(4), str, run=run)
    assert ran == ["one", "two", "two", "two"]


@pytest.mark.parametrize(("text", "status"), [("3 things", 1), ("nothing", 0)])
def test_it_ends_at_the_first_run_that_fails_or_does_nothing(
    tmp_path: Path, text: str, status: int
) -> None:
    ledger = Ledger(tmp_path / "ledger.json", "a")
    failed = prove([ONE], ledger, turns(9), str, run=told(text, status))
    assert failed is not None
    assert ledger.of(ONE).done == 0
    assert failed.part.again(failed.seed) == "SEED=1 one"


def test_the_table_tells_counts_and_seeds(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.json", "a")
    prove([ONE], ledger, turns(1), str, run=told("3 things"))
    assert "| one | 3 things | 10 | 1 to 2 |" in ledger.table([ONE, TWO])
    assert "| two | 0 steps | 100 | none |" in ledger.table([ONE, TWO])


def test_a_run_of_the_model_tells_its_last_seed() -> None:
    memory = next(part for part in PARTS if part.name == "model in memory")
    output = "\n40,132 steps with the seeds 17 to 36 (delivered: 9)\n"
    assert (memory.counted(output), memory.next_seed(17, output)) == (40_132, 37)


def test_every_kind_of_damaged_file_is_among_the_goals() -> None:
    both = list(test_damage.cases())
    spark_alone = [kind for kind, _ in both if kind in test_damage.ONLY_OF_SPARK]
    goals = {part.name: part.goal for part in PARTS}
    assert goals["damaged files, Spark"] == len(both)
    assert goals["damaged files, direct"] == len(both) - len(spark_alone)


def test_the_digest_changes_with_the_library(tmp_path: Path) -> None:
    module = tmp_path / "pubsub_delta" / "a.py"
    module.parent.mkdir()
    module.write_text("one")
    before = digest_of_the_library(tmp_path)
    module.write_text("two")
    assert digest_of_the_library(tmp_path) != before
