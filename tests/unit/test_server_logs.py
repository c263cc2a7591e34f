"""What a server's log has: whose records, from which level on, and how a line is written."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator

import pytest

pytest.importorskip("grpc")

from pubsub_delta.server.logs import log_to

NAMES = ("pubsub_delta", "py.warnings", "uvicorn", "asyncio")


@pytest.fixture(autouse=True)
def _kept() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in NAMES]
    before = [(each.handlers, each.propagate, each.level) for each in loggers]
    yield
    logging.captureWarnings(False)
    for each, (handlers, propagate, level) in zip(loggers, before, strict=True):
        each.handlers, each.propagate = handlers, propagate
        each.setLevel(level)


@pytest.mark.parametrize(
    ("level", "told"),
    [("debug", ["debug", "info", "warning"]), ("info", ["info", "warning"]), ("error", [])],
)
@pytest.mark.parametrize("name", [*NAMES, "pubsub_delta.server.serve"])
def test_records_are_told_from_a_level_on(name: str, level: str, told: list[str]) -> None:
    """The library's, the console's, asyncio's and Python's warnings, once each."""
    out = io.StringIO()
    log_to(logging.StreamHandler(out), "text", level)
    for said in ("debug", "info", "warning"):
        logging.getLogger(name).log(getattr(logging, said.upper()), said)
    lines = out.getvalue().splitlines()
    assert [line.rpartition(": ")[2] for line in lines] == told
    for line in lines:
        what = line.rpartition(": ")[2]
        assert re.fullmatch(
            rf"\d{{4}}-\d\d-\d\d [\d:,]+ {what.upper()} {re.escape(name)}: {what}", line
        )


def test_a_log_is_json_where_that_is_asked_for() -> None:
    """One object a line, with the traceback of an error in it."""
    out = io.StringIO()
    log_to(logging.StreamHandler(out), "json", "info")
    logger = logging.getLogger("pubsub_delta")
    logger.info("it listens on %s", "é\n")
    try:
        raise ValueError("wrong")
    except ValueError:
        logger.exception("it failed")
    first, second = map(json.loads, out.getvalue().splitlines())
    assert "it listens on é\n" in first.values()
    assert "it failed" in " ".join(map(str, second.values()))
    assert "ValueError: wrong" in " ".join(map(str, second.values()))


def test_a_second_handler_takes_the_place_of_the_first() -> None:
    one, other = io.StringIO(), io.StringIO()
    log_to(logging.StreamHandler(one), "text", "info")
    log_to(logging.StreamHandler(other), "text", "warning")
    logging.getLogger("pubsub_delta").warning("once")
    logging.getLogger("pubsub_delta").info("never")
    assert one.getvalue() == ""
    assert other.getvalue().count("\n") == 1
