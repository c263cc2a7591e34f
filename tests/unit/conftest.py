"""Hypothesis for tests that may share the machine with Spark: no test fails for being slow."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("unit", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unit")


@pytest.fixture(autouse=True)
def _log_as_before() -> Iterator[None]:
    """Give the loggers back as they were: ``serve`` in this process sets them for good."""
    loggers = [logging.getLogger(name) for name in ("pubsub_delta", "py.warnings", "uvicorn")]
    before = [(each, each.handlers, each.propagate, each.level) for each in loggers]
    yield
    for logger, handlers, propagate, level in before:
        logger.handlers, logger.propagate = handlers, propagate
        logger.setLevel(level)


@pytest.fixture
def hangups() -> Iterator[None]:
    """Let SIGHUP be noticed, also where it is ignored, as in tests that run by ``nohup``."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)
