"""What the long trials tell at the end of a run: how many there were, of what, and the seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

_told: Counter[str] = Counter()


@pytest.fixture
def tell() -> Callable[[str], None]:
    """Count something that is printed when all tests are over."""
    return lambda what: _told.update([what])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for what, count in sorted(_told.items()):
        terminalreporter.write_line(f"{count:5} × {what}")
