"""Hypothesis for tests that may share the machine with Spark: no test fails for being slow."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("unit", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unit")


@pytest.fixture
def hangups() -> Iterator[None]:
    """Let SIGHUP be noticed, also where it is ignored, as in tests that run by ``nohup``."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)
