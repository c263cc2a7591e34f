"""All seeded bugs. Those of a module of the library are in the file of the same path here.

``BUGS`` of such a file lists them. ``NEAREST`` names the files with the tests nearest to the
module, which are asked first; mutants of the module need it, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType

from tests.mutations.bug import Bug


def _lists() -> Iterator[tuple[str, ModuleType]]:
    for found in walk_packages(__path__, f"{__name__}."):
        if not found.ispkg:
            path = found.name.removeprefix(f"{__name__}.").replace(".", "/")
            yield f"{path}.py", import_module(found.name)


_LISTS = dict(sorted(_lists(), key=lambda each: each[0]))

BUGS: tuple[Bug, ...] = tuple(
    replace(bug, file=file) for file, module in _LISTS.items() for bug in module.BUGS
)
NEAREST: dict[str, tuple[str, ...]] = {file: module.NEAREST for file, module in _LISTS.items()}
