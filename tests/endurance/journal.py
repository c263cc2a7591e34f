"""Lines of JSON that the processes of a soak write; a kill loses none that was written."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Lines:
    """A file of lines, each handed to the machine before ``write`` returns."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)
        self._lock = threading.Lock()

    def write(self, **entry: Any) -> None:
        with self._lock:
            self._file.write(json.dumps(entry).encode() + b"\n")


def entries(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return what all processes wrote, each with the name of the process."""
    for path in sorted(folder.glob("*.jsonl")):
        with path.open(encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n"):
                    yield path.stem.split("@")[0], json.loads(line)
