"""Stores on disk with the journal of what was done to them."""

from __future__ import annotations

from pathlib import Path

from tests.journal import Journal, entries
from tests.trials import checker
from tests.trials.children import Worker
from tests.trials.expected import Model
from tests.trials.plans import Call


class Store:
    """A store and its journal."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.root = base / "store"
        self.journal = base / "journal.jsonl"

    def tell(self, worker: Worker, calls: list[Call]) -> str | None:
        """Let a worker make calls to the end; return what went wrong."""
        self.base.mkdir(parents=True, exist_ok=True)
        worker.tell(root=str(self.root), journal=str(self.journal), calls=calls)
        answer = worker.answer()
        assert answer is not None, "the worker died by itself: see worker.log"
        return answer.get("error")

    def model(self) -> Model:
        """Return what the journal says of it."""
        return Model().follow(entries(self.journal))

    def table(self, name: str) -> Path:
        """Return the directory of a table, of a topic or subscription by its id."""
        kind, _, resource = name.partition("/")
        if not resource:
            return self.root / name
        stored = checker.read(self.root)
        found = stored.topics if kind == "messages" else stored.subscriptions
        return self.root / kind / str(found[resource]["uid"])


def settle(store: Store) -> str:
    """Check what a kill has left behind, and note what became of the call that it cut off."""
    model = store.model()
    found = {
        name: checker.differences(store.root, each) for name, each in model.alternatives().items()
    }
    right = [name for name, problems in found.items() if not problems]
    assert right, found
    if model.open is not None:
        Journal(store.journal).write(settled=right[0])
    return f"{right[0]} the call" if model.open is not None else "between two calls"
