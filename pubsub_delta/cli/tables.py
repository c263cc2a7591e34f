"""Draws tables as gcloud does: sorted, aligned, boxed, and without truncated cells."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from rich.cells import cell_len

from pubsub_delta.cli.column_widths import fitted, folded, worded, wrapped
from pubsub_delta.cli.formats import Column
from pubsub_delta.cli.grammar.syntax import small_number
from pubsub_delta.cli.grammar.transforms import float_text, text_of
from pubsub_delta.cli.terminal import printable

Attributes = Mapping[str, str]
INDENTED = 4
"""The indentation of a nested format under a row."""
_WIDTH = 80
"""The default width of a table with wrapped columns."""


def table_text(
    columns: Sequence[Column],
    rows: Sequence[Sequence[Any]],
    given: Attributes,
    width: int | None = None,
    below: Callable[[Sequence[Any]], str] | None = None,
) -> str:
    """Draw rows as a table, as wide as its cells or folded into a width.

    A row has a value for each column, hidden ones too. Without rows there is no table.

    ``below``: returns the text to print under a row.

    >>> from pubsub_delta.cli.formats import parse_format
    >>> columns = parse_format("table(name, n:align=right)").columns
    >>> print(table_text(columns, [["flights", 7], ["delays", 12]], {}), end="")
    NAME      N
    flights   7
    delays   12
    """
    shown = [
        number
        for number, each in enumerate(columns)
        if not (each.hidden or each.nested or (each.optional and _is_empty(rows, number)))
    ]
    if not rows or not shown:
        return ""
    visible = [columns[number] for number in shown]
    ordered = _sorted(columns, rows)
    cells = [[_cell(row[number]) for number in shown] for row in ordered]
    heading = [printable(each.heading) for each in visible]
    heads = [heading] if "no-heading" not in given and any(heading) else []
    widths = [
        max(
            [
                each.width or 0,
                *(cell_len(line) for row in [*heads, *cells] for line in _lines(row[n])),
            ]
        )
        for n, each in enumerate(visible)
    ]
    aligns = [each.align or "left" for each in visible]
    boxed = "box" in given or "all-box" in given
    frame = 3 * len(widths) + 1 if boxed else _number(given, "pad", 2) * (len(widths) - 1)
    wraps = {n: each.wrap for n, each in enumerate(visible) if each.wrap}
    if wraps:
        room = _number(given, "width", width or _WIDTH) - _number(given, "margin", 0)
        widths = wrapped(widths, wraps, room - frame)
        heads, cells = (_broken(each, widths, worded, wraps) for each in (heads, cells))
    if width is not None:
        widths = fitted(widths, width - frame)
        heads, cells = (
            _broken(each, widths, folded, range(len(widths))) for each in (heads, cells)
        )
    if "title" in given and not wraps:
        widths = _widened(widths, printable(given["title"]))
    under = None if below is None else [below(row).splitlines() for row in ordered]
    draw = _boxed if boxed else _plain
    return "".join(f"{line}\n" for line in draw(heads, cells, widths, aligns, given, under))


def _plain(
    heads: Sequence[Sequence[str]],
    rows: Sequence[Sequence[str]],
    widths: Sequence[int],
    aligns: Sequence[str],
    given: Attributes,
    under: Sequence[Sequence[str]] | None,
) -> Iterator[str]:
    between = _number(given, "pad", 2)
    if "title" in given:
        width = sum(widths) + between * (len(widths) - 1)
        yield justified(printable(given["title"]), width, "center").rstrip()
    for number, row in enumerate([*heads, *rows], start=-len(heads)):
        for part in _parts(row):
            yield (" " * between).join(map(justified, part, widths, aligns)).rstrip()
        if under is not None and number >= 0:
            yield from _indented(under[number])


def _boxed(
    heads: Sequence[Sequence[str]],
    rows: Sequence[Sequence[str]],
    widths: Sequence[int],
    aligns: Sequence[str],
    given: Attributes,
    under: Sequence[Sequence[str]] | None,
) -> Iterator[str]:
    titled = "title" in given
    if titled:
        width = sum(widths) + 3 * len(widths) - 1
        yield f"┌{'─' * width}┐"
        yield f"│{justified(printable(given['title']), width, 'center')}│"
    bars = ["─" * (width + 2) for width in widths]
    rule, top, bottom = f"├{'┼'.join(bars)}┤", f"┌{'┬'.join(bars)}┐", f"└{'┴'.join(bars)}┘"
    yield f"├{'┬'.join(bars)}┤" if titled else top
    for head in heads:
        for part in _parts(head):
            yield f"│ {' │ '.join(map(justified, part, widths, ['center'] * len(widths)))} │"
        yield rule
    for number, row in enumerate(rows):
        if number and under is not None:  # text under the row before has closed the box
            yield top
        elif number and "all-box" in given:
            yield rule
        for part in _parts(row):
            yield f"│ {' │ '.join(map(justified, part, widths, aligns))} │"
        if under is not None:
            yield bottom
            yield from _indented(under[number])
    if under is None:
        yield bottom


def _indented(lines: Sequence[str]) -> Iterator[str]:
    return (f"{' ' * INDENTED}{line}" for line in lines)


def _number(given: Attributes, name: str, usual: int) -> int:
    number = small_number(given.get(name, ""))
    return usual if number is None else number


def _broken(
    rows: Sequence[Sequence[str]],
    widths: Sequence[int],
    lines_of: Callable[[str, int], Iterator[str]],
    which: Container[int],
) -> list[list[str]]:
    """Return rows with some columns broken into lines of the width of the column."""
    return [
        [
            "\n".join(part for line in _lines(cell) for part in lines_of(line, widths[n]))
            if n in which
            else cell
            for n, cell in enumerate(row)
        ]
        for row in rows
    ]


def justified(text: str, width: int, align: str) -> str:
    """Pad a text to a width on a terminal.

    >>> justified("東京", 6, "right"), justified("x", 4, "center")
    ('  東京', ' x  ')
    """
    blanks = max(width - cell_len(text), 0)
    if align == "center":
        left = blanks // 2 + (blanks & width & 1)  # as Python's own center() rounds
        return " " * left + text + " " * (blanks - left)
    return " " * blanks + text if align == "right" else text + " " * blanks


def _widened(widths: Sequence[int], title: str) -> list[int]:
    """Return widths that are large enough for a title."""
    if sum(widths) >= cell_len(title):
        return list(widths)
    more = -(-cell_len(title) // len(widths))
    return [width + more for width in widths]


def _sorted(columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> list[Sequence[Any]]:
    """Return rows sorted by the sort keys of columns; reversed columns without one come last."""
    ordered = sorted(
        (each.order or len(columns) + 1_000_000, number, bool(each.reverse))
        for number, each in enumerate(columns)
        if each.order or each.reverse
    )
    kept = list(rows)
    for _, number, reverse in reversed(ordered):
        # The sort is stable, also in reverse.
        kept = sorted(kept, key=lambda row: _rank(row[number]), reverse=reverse)
    return kept


def _rank(value: Any) -> tuple[float, str]:
    number = float(value) if isinstance(value, (int, float)) else float("inf")
    return number, "" if value is None else text_of(value)


def _is_empty(rows: Sequence[Sequence[Any]], number: int) -> bool:
    return all(_cell(row[number]) == "" for row in rows)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = float_text(value) if isinstance(value, float) else text_of(value)
    return "\n".join(map(printable, _lines(text)))


def _lines(text: str) -> list[str]:
    return text.split("\n")


def _parts(row: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return zip_longest(*map(_lines, row), fillvalue="")
