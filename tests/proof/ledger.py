"""What of the proof was done: counts, seeds and time of each part, in a file.

Another version of the library begins anew: what was proven of one says nothing of the next.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.proof.parts import Part

REPOSITORY = Path(__file__).parents[2]


@dataclass
class Entry:
    """What was done of one part; ``seeds``: from the first to the one that comes next."""

    done: int = 0
    first_seed: int = 1
    next_seed: int = 1
    seconds: float = 0.0
    runs: int = 0


class Ledger:
    """The counts of all parts, in a file that is written after every run.

    Args:
        path: the file.
        digest: of the library; counts of another one do not count.
        first_seed: where each part begins.
    """

    def __init__(self, path: Path, digest: str, first_seed: int = 1) -> None:
        self._path, self._digest, self._first = path, digest, first_seed
        stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        self.began_anew = bool(stored) and stored.get("library") != digest
        entries = {} if self.began_anew else stored.get("parts", {})
        self._entries = {name: Entry(**each) for name, each in entries.items()}

    def of(self, part: Part) -> Entry:
        """Return what was done of a part."""
        return self._entries.setdefault(part.name, Entry(0, self._first, self._first))

    def note(self, part: Part, counted: int, next_seed: int, seconds: float) -> None:
        """Add a run, and write the file."""
        entry = self.of(part)
        entry.done += counted
        entry.next_seed = max(entry.next_seed, next_seed)
        entry.seconds += seconds
        entry.runs += 1
        parts = {name: asdict(each) for name, each in self._entries.items()}
        stored = {"library": self._digest, "parts": parts}
        waiting = self._path.with_suffix(".new")
        waiting.write_text(json.dumps(stored, indent=2) + "\n", encoding="utf-8")
        waiting.replace(self._path)

    def table(self, parts: Sequence[Part]) -> str:
        """Return counts, rates and seeds as a table in Markdown."""
        lines = [
            "| part | done | of | seeds | hours | an hour |",
            "|---|---:|---:|---|---:|---:|",
        ]
        for part in parts:
            entry = self.of(part)
            hours = entry.seconds / 3600
            rate = f"{entry.done / hours:,.0f}" if hours else ""
            seeds = f"{entry.first_seed} to {entry.next_seed - 1}" if entry.runs else "none"
            lines.append(
                f"| {part.name} | {entry.done:,} {part.unit} | {part.goal:,} | {seeds} | "
                f"{hours:.2f} | {rate} |"
            )
        return "\n".join(lines) + "\n"


def digest_of_the_library(root: Path = REPOSITORY) -> str:
    """Return a digest of all that the library is made of."""
    digest = hashlib.sha256()
    for path in sorted((root / "pubsub_delta").rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
