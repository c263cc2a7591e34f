"""The list of seeded bugs fits the library as it is: else it would rot without a word."""

from __future__ import annotations

import ast
from collections import Counter

import pytest

from tests.mutations.bug import REPOSITORY, Bug, Stale
from tests.mutations.bugs import BUGS, NEAREST
from tests.mutations.nearest import nearest_tests


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: str(bug.name))
def test_a_bug_changes_one_place_and_still_parses(bug: Bug) -> None:
    text = bug.path(REPOSITORY).read_text(encoding="utf-8")
    assert text.count(bug.original) == 1
    changed = bug.of(text)
    assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text))


def test_a_bug_whose_text_is_gone_is_refused() -> None:
    bug = Bug("b", "Something is wrong.", "one", "two")
    for text in ("", "one one"):
        with pytest.raises(Stale, match=f"stands {text.count('one')} times"):
            bug.of(text)
    assert bug.of("the one") == "the two"


def test_names_are_unique_and_sentences_are_sentences() -> None:
    assert [name for name, count in Counter(bug.name for bug in BUGS).items() if count > 1] == []
    assert [bug.name for bug in BUGS if not bug.says.endswith(".")] == []


def test_every_module_of_policy_delivery_and_operations_has_a_bug() -> None:
    modules = {
        path.relative_to(REPOSITORY / "pubsub_delta").as_posix()
        for folder in ("policy", "delivery", "operations")
        for path in (REPOSITORY / "pubsub_delta" / folder).glob("*.py")
        if path.name != "__init__.py"
    }
    assert modules - {bug.file for bug in BUGS} == set()


def test_the_nearest_tests_exist() -> None:
    """Mutants are drawn of modules without a seeded bug, too."""
    of_modules = [Bug(file, "", "", "", file=file) for file in NEAREST]
    for bug in (*of_modules, *BUGS):
        assert bug.path(REPOSITORY).exists()
        for test in (*nearest_tests(bug), *bug.needs_spark):
            path, _, name = test.partition("::")
            text = (REPOSITORY / path).read_text(encoding="utf-8")
            assert not name or f"def {name}(" in text
