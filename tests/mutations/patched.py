"""Code of a function that runs, put into it in place of its own: a mutant without a copy."""

from __future__ import annotations

import gc
import importlib
import pkgutil
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FunctionType
from typing import TypeAlias

import pubsub_delta
from tests.mutations.bug import LIBRARY, REPOSITORY, Bug

Place: TypeAlias = "tuple[str, int, str]"
"""A file, the line at which a function begins, and its name."""


@dataclass(frozen=True)
class Patch:
    """A function with other code: where it stands, and the lines that have changed."""

    place: Place
    code: CodeType
    lines: range

    def apply(self, functions: dict[Place, list[FunctionType]]) -> None:
        """Give the code to all that a definition has made so far."""
        for function in functions[self.place]:
            function.__code__ = self.code


def patch(bug: Bug) -> Patch | None:
    """Return what a bug changes; None if it is not the body of one function.

    >>> made = patch(Bug("b", "Less.", "> 0  # as", "> 1  # as", file="durations.py"))
    >>> made.place[2], len(made.lines)
    ('parse_duration', 1)
    >>> patch(Bug("b", "More.", '"d": 86_400', '"d": 86_401', file="durations.py")) is None
    True
    """
    path = str(bug.path(REPOSITORY))
    text = bug.path(REPOSITORY).read_text(encoding="utf-8")
    changed = bug.of(text)
    before, after = (compile(each, path, "exec", dont_inherit=True) for each in (text, changed))
    own, others = dict(_functions(before)), dict(_functions(after))
    if own.keys() != others.keys() or _outside(before) != _outside(after):
        return None
    different = [place for place in own if own[place] != others[place]]
    if len(different) != 1:
        return None
    [place] = different
    pairs = enumerate(zip(text.splitlines(), changed.splitlines(), strict=False), 1)
    numbers = [number for number, (one, other) in pairs if one != other]
    function = own[place]
    found = path, function.co_firstlineno, function.co_name
    return Patch(found, others[place], range(numbers[0], numbers[-1] + 1))


def _functions(
    code: CodeType, within: tuple[object, ...] = ()
) -> Iterator[tuple[tuple[object, ...], CodeType]]:
    """Return the functions of a module and of its classes, by names and numbers of equal names."""
    names: Counter[str] = Counter()
    for inner in _codes(code):
        names[inner.co_name] += 1
        place = (*within, inner.co_name, names[inner.co_name])
        if inner.co_flags & CO_OPTIMIZED:
            yield place, inner
        else:
            yield from _functions(inner, place)


def _codes(code: CodeType) -> list[CodeType]:
    return [each for each in code.co_consts if isinstance(each, CodeType)]


def _outside(code: CodeType) -> tuple[object, ...]:
    """Return what a module or a class does itself, to be compared."""
    constants = [each for each in code.co_consts if not isinstance(each, CodeType)]
    classes = [_outside(each) for each in _codes(code) if not each.co_flags & CO_OPTIMIZED]
    return code.co_code, code.co_names, repr(constants), *classes


def functions_of_the_library() -> dict[Place, list[FunctionType]]:
    """Import all modules of the library, and return the functions that their definitions made."""
    for module in pkgutil.walk_packages(pubsub_delta.__path__, f"{LIBRARY}."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found: dict[Place, list[FunctionType]] = defaultdict(list)
    root = str(Path(pubsub_delta.__file__).parent)
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename.startswith(root):
            code = each.__code__
            found[code.co_filename, code.co_firstlineno, code.co_name].append(each)
    return found
