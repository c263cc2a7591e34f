"""Lists of resources: searched, sorted, with chosen columns, in pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

from fastapi import Request, Response

T = TypeVar("T")

PAGE = 50
"""Rows of a page."""


@dataclass(frozen=True)
class Column(Generic[T]):
    """A column of a list.

    ``key``: gives what rows are sorted by, None where that is not known. ``is_number``: it is
    written at the right, and the largest comes first. ``is_usual``: it is shown unless others are
    chosen.
    """

    name: str
    label: str
    key: Callable[[T], Any]
    is_number: bool = False
    is_usual: bool = True


@dataclass(frozen=True)
class Shown(Generic[T]):
    """A page of a list: its rows, and how they were found.

    ``total``: all that the search has found. ``sort``: a column's name; ``is_reversed``: against
    the column's own direction.
    """

    at: str
    rows: tuple[T, ...]
    total: int
    every: int
    query: str
    sort: str
    is_reversed: bool
    page: int
    columns: tuple[Column[T], ...]
    choices: tuple[Column[T], ...]

    @property
    def pages(self) -> int:
        """How many pages there are, at least one."""
        return max(1, -(-self.total // PAGE))

    def address(self, **changed: Any) -> str:
        """Return the address of this list with something changed."""
        names = [each.name for each in self.columns[1:]]
        given = {"q": self.query, "sort": self.sort, "page": self.page, "columns": names}
        given |= {"reverse": "on" if self.is_reversed else ""} | changed
        kept = [(name, value) for name, value in given.items() if value not in ("", None)]
        return f"{self.at}?{urlencode(kept, doseq=True)}"

    def sorted_by(self, name: str) -> str:
        """Return the address that sorts by a column; the other way round where it does already."""
        again = name == self.sort and not self.is_reversed
        return self.address(sort=name, reverse="on" if again else "", page=1)

    def direction(self, column: Column[T]) -> str:
        """Return how a column is sorted, in the words of ``aria-sort``."""
        if column.name != self.sort:
            return "none"
        return "descending" if column.is_number != self.is_reversed else "ascending"


def chosen(
    request: Request, at: str, rows: Sequence[T], columns: Sequence[Column[T]], usual_sort: str
) -> Shown[T]:
    """Return the page of a list that a request asks for.

    The first column is searched, always shown, and decides between equals.
    """
    asked = request.query_params
    by_name = {each.name: each for each in columns}
    wanted = asked.getlist("columns") or _remembered(request, at)
    names = [n for n in wanted if n in by_name] or [c.name for c in columns if c.is_usual]
    query, first = asked.get("q", "").strip(), columns[0]
    found = [row for row in rows if query.lower() in str(first.key(row)).lower()]
    sort = by_name.get(asked.get("sort", ""), by_name[usual_sort])
    is_reversed = asked.get("reverse") == "on"
    found.sort(key=first.key)
    told = [row for row in found if sort.key(row) is not None]
    told.sort(key=sort.key, reverse=sort.is_number != is_reversed)
    found = told + [row for row in found if sort.key(row) is None]
    shown_columns = tuple(each for each in columns if each.name in names or each is first)
    made = Shown(
        at, (), len(found), len(rows), query, sort.name, is_reversed, 1, shown_columns,
        tuple(columns[1:]),
    )  # fmt: skip
    number = asked.get("page", "1")
    page = min(int(number), made.pages) if number.isdecimal() and number.isascii() else 1
    page = max(1, page)
    return replace(made, page=page, rows=tuple(found[(page - 1) * PAGE : page * PAGE]))


def _cookie(at: str) -> str:
    return f"columns_{at.strip('/')}"


def _remembered(request: Request, at: str) -> list[str]:
    return request.cookies.get(_cookie(at), "").split(".")


def remember(request: Request, answer: Response, at: str) -> Response:
    """Have the browser keep the columns that were chosen just now."""
    names = request.query_params.getlist("columns")
    if names and all(each.isidentifier() for each in names):
        answer.set_cookie(
            _cookie(at), ".".join(names), max_age=31_536_000, httponly=True, samesite="strict"
        )
    return answer
