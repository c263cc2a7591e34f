"""What a worker was told, on disk before it goes on: a line is lost only with its machine."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any


class Journal:
    """Writes lines of JSON; each is on disk when ``write`` returns, from many threads too."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8")
        self._lock = threading.Lock()

    def write(self, **entry: Any) -> None:
        """Append one entry, whole."""
        with self._lock:
            self._file.write(json.dumps(entry) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())


def entries(path: Path) -> list[dict[str, Any]]:
    """Return what was written; a last line that was cut off by a kill does not count."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines[:-1]]
