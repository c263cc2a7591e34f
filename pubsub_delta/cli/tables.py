"""Tables as gcloud draws them: sorted, aligned, in boxes, and never with a cell cut off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from rich.cells import cell_len

from pubsub_delta.cli.formats import Column
from pubsub_delta.cli.grammar.transforms import float_text, text_of
from pubsub_delta.cli.terminal import printable
from pubsub_delta.cli.widths import fitted, folded

Attributes = Mapping[str, str]


def table_text(
    columns: Sequence[Column],
    rows: Sequence[Sequence[Any]],
    given: Attributes,
    width: int | None = None,
) -> str:
    """Write rows as a table as wide as its cells, or folded into a width: nothing is cut off.

    A row has a value for each column, hidden ones too. No rows are no table.

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
        if not each.hidden and not (each.optional and _is_empty(rows, number))
    ]
    if not rows or not shown:
        return ""
    visible = [columns[number] for number in shown]
    cells = [[_cell(row[number]) for number in shown] for row in _sorted(columns, rows)]
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
    if width is not None:
        frame = 3 * len(widths) + 1 if boxed else _pad(given) * (len(widths) - 1)
        widths = fitted(widths, width - frame)
        heads, cells = _folded(heads, widths), _folded(cells, widths)
    if boxed:
        lines = _boxed(heads, cells, widths, aligns, given)
    else:
        lines = _plain(heads + cells, widths, aligns, given)
    return "".join(f"{line}\n" for line in lines)


def _plain(
    rows: Sequence[Sequence[str]], widths: Sequence[int], aligns: Sequence[str], given: Attributes
) -> Iterator[str]:
    between = _pad(given)
    if "title" in given:
        title = printable(given["title"])
        widths = _widened(widths, title)
        yield justified(title, sum(widths) + between * (len(widths) - 1), "center").rstrip()
    for row in rows:
        for part in _parts(row):
            yield (" " * between).join(map(justified, part, widths, aligns)).rstrip()


def _boxed(
    heads: Sequence[Sequence[str]],
    rows: Sequence[Sequence[str]],
    widths: Sequence[int],
    aligns: Sequence[str],
    given: Attributes,
) -> Iterator[str]:
    titled = "title" in given
    if titled:
        title = printable(given["title"])
        widths = _widened(widths, title)
        width = sum(widths) + 3 * len(widths) - 1
        yield f"┌{'─' * width}┐"
        yield f"│{justified(title, width, 'center')}│"
    bars = ["─" * (width + 2) for width in widths]
    rule = f"├{'┼'.join(bars)}┤"
    yield f"{'├' if titled else '┌'}{'┬'.join(bars)}{'┤' if titled else '┐'}"
    for head in heads:
        for part in _parts(head):
            yield f"│ {' │ '.join(map(justified, part, widths, ['center'] * len(widths)))} │"
        yield rule
    for number, row in enumerate(rows):
        if number and "all-box" in given:
            yield rule
        for part in _parts(row):
            yield f"│ {' │ '.join(map(justified, part, widths, aligns))} │"
    yield f"└{'┴'.join(bars)}┘"


def _pad(given: Attributes) -> int:
    return int(given["pad"]) if given.get("pad", "").isdigit() else 2


def _folded(rows: Sequence[Sequence[str]], widths: Sequence[int]) -> list[list[str]]:
    return [
        [
            "\n".join(part for line in _lines(cell) for part in folded(line, width))
            for cell, width in zip(row, widths, strict=True)
        ]
        for row in rows
    ]


def justified(text: str, width: int, align: str) -> str:
    """Return a text with blanks around it, as wide on a terminal as it should be.

    >>> justified("東京", 6, "right"), justified("x", 4, "center")
    ('  東京', ' x  ')
    """
    blanks = max(width - cell_len(text), 0)
    if align == "center":
        left = blanks // 2 + (blanks & width & 1)  # as Python's own center() rounds
        return " " * left + text + " " * (blanks - left)
    return " " * blanks + text if align == "right" else text + " " * blanks


def _widened(widths: Sequence[int], title: str) -> list[int]:
    """Return widths with room for a title that is wider than all of them together."""
    if sum(widths) >= cell_len(title):
        return list(widths)
    more = -(-cell_len(title) // len(widths))
    return [width + more for width in widths]


def _sorted(columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> list[Sequence[Any]]:
    """Return rows in the order of the columns that say one; those that only reverse go last."""
    ordered = sorted(
        (each.order or len(columns) + 1_000_000, number, bool(each.reverse))
        for number, each in enumerate(columns)
        if each.order or each.reverse
    )
    kept = list(rows)
    for _, number, reverse in reversed(ordered):
        # Of equal rows the first stays first, the other way round, too.
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
