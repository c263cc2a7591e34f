"""A plugin for pytest: no test runs unless the library under test is the one of the copy."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

import pubsub_delta

ANOTHER_LIBRARY = 90
"""The exit code where it is not."""

settings.register_profile(
    "mutations",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
    phases=[Phase.explicit, Phase.generate],
)


def pytest_sessionstart(session: pytest.Session) -> None:
    """See to it that the copy is what is imported."""
    found = Path(pubsub_delta.__file__).resolve()
    if session.config.rootpath.resolve() not in found.parents:
        pytest.exit(f"{found} is imported, and not the copy", returncode=ANOTHER_LIBRARY)


def pytest_runtestloop() -> None:
    """That a test fails is enough: nobody needs the shortest example."""
    settings.load_profile("mutations")
