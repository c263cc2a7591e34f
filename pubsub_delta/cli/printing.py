"""Records as text: YAML, JSON, CSV, bare values, and tables that cut no cell off."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from rich.cells import cell_len

from pubsub_delta.cli.formats import Format, fields_of, projected, text_of
from pubsub_delta.cli.widths import fitted, folded

_PLAIN = re.compile(r"[A-Za-z_/][\w/.+%~\-]*(?:[ =:][\w/.+%~\-]+)*", re.ASCII)
_DURATION = re.compile(r"\d+(?:\.\d+)?s")
_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
"""What YAML would not take for a text."""


def render(
    records: Sequence[Any], form: Format, *, single: bool = False, width: int | None = None
) -> str:
    """Write records in a format, each line ended.

    ``single``: there is one record that is looked at, not a listing of perhaps one.
    ``width``: of the terminal, into which a table is folded.
    """
    if form.kind == "json":
        shown = [projected(each, form.fields) for each in records]
        value = shown[0] if single else shown
        text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        return escaped(text, lambda each: json.dumps(each)[1:-1])
    if form.kind == "yaml":
        begin = "" if single else "---\n"
        return "".join(begin + yaml_text(projected(each, form.fields)) for each in records)
    named = [each if isinstance(each, Mapping) else {"name": each} for each in records]
    fields = form.fields or fields_of(named)
    rows = [
        [text_of(each.of(record if each.path else raw)) for each in fields]
        for raw, record in zip(records, named, strict=True)
    ]
    headings = [each.heading for each in fields]
    if form.kind == "value":
        separator = form.attributes.get("separator", "\t")
        return "".join(separator.join(row) + "\n" for row in rows)
    if form.kind == "csv":
        names = [each.label or each.heading.lower() for each in fields]
        return _csv([] if "no-heading" in form.attributes else [names], rows, form)
    headings = [] if "no-heading" in form.attributes else headings
    return table_text(headings, rows, box="box" in form.attributes, width=width)


def yaml_text(value: Any) -> str:
    """Write a value as a YAML document, mappings by key.

    >>> print(yaml_text({"name": "t", "ids": ["7"], "policy": {}, "ttl": "60s"}), end="")
    ids:
    - '7'
    name: t
    policy: {}
    ttl: 60s
    """
    return "".join(f"{line}\n" for line in _yaml(value))


def _yaml(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        for key, each in sorted(value.items()):
            if isinstance(each, (Mapping, list)) and each:
                yield f"{yaml_scalar(key)}:"
                indent = "" if isinstance(each, list) else "  "
                yield from (indent + line for line in _yaml(each))
            else:
                yield f"{yaml_scalar(key)}: {yaml_scalar(each)}"
    elif isinstance(value, list) and value:
        for each in value:
            for number, line in enumerate(_yaml(each)):
                yield ("  " if number else "- ") + line
    else:
        yield yaml_scalar(value)


def yaml_scalar(value: Any) -> str:
    """Write a scalar so that YAML reads the same again: texts are quoted when in doubt.

    >>> yaml_scalar("projects/p/topics/t"), yaml_scalar("7"), yaml_scalar("no"), yaml_scalar(7)
    ('projects/p/topics/t', "'7'", "'no'", '7')
    """
    if not isinstance(value, str):
        return json.dumps(value)
    if _DURATION.fullmatch(value) or (_PLAIN.fullmatch(value) and value.lower() not in _WORDS):
        return value
    if value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + printable(escaped) + '"'


def table_text(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    box: bool = False,
    width: int | None = None,
) -> str:
    """Write a table as wide as its cells, or folded into a width: nothing is cut off.

    >>> print(table_text(["NAME", "N"], [["flights", "7"]]), end="")
    NAME     N
    flights  7
    """
    lines = [[_lines(cell) for cell in row] for row in ([headings] if headings else []) + [*rows]]
    count = max(map(len, lines), default=0)
    widths = [max(cell_len(line) for row in lines for line in row[n]) for n in range(count)]
    if width is not None:
        widths = fitted(widths, width - (3 * count + 1 if box else 2 * (count - 1)))
        lines = [
            [
                [part for line in cell for part in folded(line, widths[n])]
                for n, cell in enumerate(row)
            ]
            for row in lines
        ]
    if not box:
        written = (_line(part, widths, "", "  ", "") for row in lines for part in _parts(row))
        return "".join(line.rstrip() + "\n" for line in written)
    bars = ["─" * (width + 2) for width in widths]
    out = ["┌" + "┬".join(bars) + "┐"]
    for number, row in enumerate(lines):
        if headings and number == 1:
            out.append("├" + "┼".join(bars) + "┤")
        out += [_line(part, widths, "│ ", " │ ", " │") for part in _parts(row)]
    out.append("└" + "┴".join(bars) + "┘")
    return "\n".join(out) + "\n"


def printable(text: str) -> str:
    r"""Write control characters as escapes, so that data cannot steer a terminal.

    >>> printable("a\x1b[2J")
    'a\\x1b[2J'
    """
    return text if text.isprintable() else "".join(map(_visible, text))


def for_terminal(text: str) -> str:
    r"""Write control characters as escapes, but for those that only move on: ends of lines, tabs.

    >>> for_terminal("a\tb\x1b[2J\r\n")
    'a\tb\\x1b[2J\\r\n'
    """
    return escaped(text, _visible, kept="\t")


def escaped(text: str, escape: Callable[[str], str], kept: str = "") -> str:
    """Return a text whose characters that cannot be printed are escaped, line by line."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if not line.isprintable():
            lines[number] = "".join(
                each if each.isprintable() or each in kept else escape(each) for each in line
            )
    return "\n".join(lines)


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode("ascii")


def _lines(cell: str) -> list[str]:
    return [printable(line) for line in cell.split("\n")]


def _parts(row: Sequence[Sequence[str]]) -> Iterator[tuple[str, ...]]:
    return zip_longest(*row, fillvalue="")


def _line(cells: Sequence[str], widths: Sequence[int], left: str, between: str, right: str) -> str:
    padded = (
        cell + " " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=True)
    )
    return left + between.join(padded) + right


def _csv(heading: Sequence[Sequence[str]], rows: Sequence[Sequence[str]], form: Format) -> str:
    out = io.StringIO()
    separator = form.attributes.get("separator") or ","
    csv.writer(out, delimiter=separator[0], lineterminator="\n").writerows([*heading, *rows])
    return out.getvalue()
