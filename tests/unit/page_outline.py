"""A page of HTML as lines of text: what a reader sees of it, and what its fields would send."""

from __future__ import annotations

from collections.abc import Iterable
from html.parser import HTMLParser

_SHOWN = (
    *(
        "action",
        "autofocus",
        "checked",
        "colspan",
        "cx",
        "cy",
        "d",
        "datetime",
        "disabled",
        "height",
    ),
    *(
        "href",
        "max",
        "maxlength",
        "method",
        "min",
        "name",
        "open",
        "pattern",
        "placeholder",
        "points",
    ),
    *("readonly", "required", "role", "rows", "selected", "src", "step", "text-anchor", "title"),
    *("transform", "type", "value", "viewbox", "width", "x", "x1", "x2", "y", "y1", "y2"),
)
"""Attributes that change what a page says or does; ``data-`` and ``hx-`` ones as well."""
_WITHIN_A_LINE = (
    "a",
    "abbr",
    "b",
    "br",
    "code",
    "em",
    "kbd",
    "option",
    "span",
    "strong",
    "td",
    "th",
    "time",
)
_LEFT_OUT = ("footer", "header", "nav", "script", "style")
_NOT_SEEN = ("body", "br", "div", "dl", "head", "html", "main", "section", "span", "ul")
"""Elements that say nothing without attributes."""


def outline(html: str) -> str:
    """Return a page without its frame: a line for each element, with what it holds.

    >>> print(outline("<main><p class=a>Two <b>words</b></p><input name=n value=3></main>"))
    <p> Two <b> words
    <input name=n value=3>
    """
    found = _Outline()
    found.feed(html)
    return "\n".join(line for each in found.lines if (line := " ".join(" ".join(each).split())))


class _Outline(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[list[str]] = [[]]
        self._left_out = 0

    def handle_starttag(self, tag: str, attrs: Iterable[tuple[str, str | None]]) -> None:
        self._left_out += tag in _LEFT_OUT
        if self._left_out or tag in ("meta", "link"):
            return
        shown = [
            name if value is None else f"{name}={value}"
            for name, value in attrs
            if name in _SHOWN or name.startswith(("data-", "hx-"))
        ]
        if tag not in _WITHIN_A_LINE:
            self.lines.append([])
        if shown or tag not in _NOT_SEEN:
            self.lines[-1].append(f"<{' '.join([tag, *shown])}>")

    def handle_endtag(self, tag: str) -> None:
        self._left_out -= tag in _LEFT_OUT
        if tag not in _WITHIN_A_LINE:
            self.lines.append([])

    def handle_data(self, data: str) -> None:
        if not self._left_out:
            self.lines[-1].append(data)
