"""Colors on a terminal, readable on dark and light backgrounds.

NO_COLOR (no-color.org) and TERM=dumb turn them off.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import click

_STYLES: dict[str, dict[str, Any]] = {
    "heading": {"bold": True},
    "key": {"fg": "cyan"},
    "frame": {"dim": True},
    "ERROR": {"fg": "red", "bold": True},
    "WARNING": {"fg": "yellow", "bold": True},
    "ok": {"fg": "green"},
    "warning": {"fg": "yellow", "bold": True},
    "problem": {"fg": "red", "bold": True},
    "command": {"fg": "cyan"},
}
_LEVEL = re.compile(r"(ERROR|WARNING):")
_KEY_OF_YAML = re.compile(r"^( *(?:- )*)([\w./'-]+)(:)(?= |$)", re.MULTILINE)
_KEY_OF_JSON = re.compile(r'^( *)("(?:[^"\\]|\\.)*")(:)', re.MULTILINE)
_FRAME = re.compile(r"[─│┌┬┐├┼┤└┴┘]+")


def are_enabled(stream: Any, environment: Mapping[str, str]) -> bool:
    """Return whether a stream gets colors."""
    plain = environment.get("NO_COLOR") or environment.get("TERM") in ("dumb", "unknown")
    return bool(stream.isatty()) and not plain


def styled(text: str, style: str) -> str:
    """Return a text in a style."""
    return click.style(text, **_STYLES[style])


def color_level(text: str) -> str:
    r"""Color the level of a line for standard error.

    >>> color_level("ERROR: (pubsub-delta) it failed")
    '\x1b[31m\x1b[1mERROR:\x1b[0m (pubsub-delta) it failed'
    """
    return _LEVEL.sub(lambda level: styled(level[0], level[1]), text, count=1)


def color_result(text: str, kind: str) -> str:
    r"""Color the headings and keys of a result.

    >>> color_result("name: a\n", "yaml")
    '\x1b[36mname\x1b[0m: a\n'
    >>> color_result("a\tb\n", "value")
    'a\tb\n'
    """
    if kind in ("yaml", "json"):
        key = _KEY_OF_JSON if kind == "json" else _KEY_OF_YAML
        return key.sub(lambda found: found[1] + styled(found[2], "key") + found[3], text)
    return _table(text) if kind == "table" else text


def _table(text: str) -> str:
    head, line_end, rest = text.partition("\n")
    if not head.startswith("┌"):
        return styled(head, "heading") + line_end + rest if head else text
    frame, rule, rows = (head + line_end + rest).partition("├")
    heading = _FRAME.sub(lambda found: styled(found[0], "frame"), frame)
    heading = re.sub(r"(?<= )([^\x1b\n]*\S)(?= *\x1b)", lambda n: styled(n[0], "heading"), heading)
    return heading + _FRAME.sub(lambda found: styled(found[0], "frame"), rule + rows)
