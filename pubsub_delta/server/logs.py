"""Logs of the server: lines for people, or JSON for machines."""

from __future__ import annotations

import json
import logging

from pubsub_delta.clock import from_micros

FORMATS = ("text", "json")

_OWN = ("method", "code")
"""The extra fields of the server's log records."""


class JsonFormatter(logging.Formatter):
    """Writes a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record with its time in RFC 3339, its severity and its text."""
        line = {
            "time": from_micros(int(record.created * 1_000_000)).isoformat(),
            "severity": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        line.update({name: vars(record)[name] for name in _OWN if name in vars(record)})
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


def log_to(handler: logging.Handler, format: str, level: str) -> None:
    """Send the logs of the library, a console and asyncio, and Python's warnings, to a handler.

    ``level``: of the first records that are sent.
    """
    handler.setFormatter(
        JsonFormatter()
        if format == "json"
        else logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    )
    logging.captureWarnings(True)
    for name in ("pubsub_delta", "py.warnings", "uvicorn", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level.upper())
