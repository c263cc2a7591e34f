"""Lines of JSON that a process writes of what it does; a kill loses none that was written."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any


class Journal:
    """A file of lines, each handed to the machine before ``write`` returns, from many threads."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)
        self._lock = threading.Lock()

    def write(self, **entry: Any) -> None:
        """Append one entry, whole."""
        with self._lock:
            self._file.write(json.dumps(entry).encode() + b"\n")


def entries(path: Path) -> list[dict[str, Any]]:
    """Return what was written; a last line that was cut off by a kill does not count."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines[:-1]]
