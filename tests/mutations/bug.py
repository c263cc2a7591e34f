"""What a seeded bug is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
LIBRARY = "pubsub_delta"


class Stale(ValueError):
    """The text of a bug does not stand exactly once in its file any more."""


@dataclass(frozen=True)
class Bug:
    """One change of one file under ``pubsub_delta/``.

    ``says``: what is wrong then. ``needs_spark``: the tests that show it where none without Spark
    can, as pytest names them. ``file``: what is changed; ``bugs`` fills it in, since the file that
    lists a bug is named like it.
    """

    name: str
    says: str
    original: str
    replacement: str
    needs_spark: tuple[str, ...] = ()
    file: str = ""

    def path(self, root: Path) -> Path:
        """Return its file in the repository or in a copy of it."""
        return root / LIBRARY / self.file

    def of(self, text: str) -> str:
        """Return the text of its file with the bug in it."""
        found = text.count(self.original)
        if found != 1:
            raise Stale(f"{self.name}: {self.original!r} stands {found} times in {self.file}")
        return text.replace(self.original, self.replacement)
