"""Lists of resources: search, sorting, chosen columns and pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

from fastapi import Request, Response

from pubsub_delta.resources import Page, all_pages

T = TypeVar("T")

MOST = 10_000
"""The largest number of resources in a list or in a menu."""
_PAGE = 1_000

_MOST_DIGITS = 9
PAGE_SIZE = 50
"""Rows of a page."""


@dataclass(frozen=True)
class Column(Generic[T]):
    """A column of a list.

    ``key``: returns the sort key of a row, or None if it is not known. ``is_number``: whether the
    column is right-aligned and sorted from the largest. ``is_default``: whether it is shown unless
    the reader chooses columns. ``is_searched``: whether the search reads it; it always reads the
    first column.
    """

    name: str
    label: str
    key: Callable[[T], Any]
    is_number: bool = False
    is_default: bool = True
    is_searched: bool = False


@dataclass(frozen=True)
class ListPage(Generic[T]):
    """One page of a list.

    ``total``: the number of rows that the search found, ``every``: of all rows. ``sort``: the name
    of a column. ``is_reversed``: whether the direction is not the column's own.
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
        """The number of pages, at least one."""
        return max(1, -(-self.total // PAGE_SIZE))

    def address(self, **changed: Any) -> str:
        """Return the address of this list with changed parameters."""
        names = [each.name for each in self.columns]
        given = {"q": self.query, "sort": self.sort, "page": self.page, "columns": names}
        given |= {"reverse": "on" if self.is_reversed else ""} | changed
        kept = [(name, value) for name, value in given.items() if value not in ("", None)]
        return f"{self.at}?{urlencode(kept, doseq=True)}"

    def sorted_by(self, name: str) -> str:
        """Return the address that sorts by a column, or reverses the order if it does already."""
        again = name == self.sort and not self.is_reversed
        return self.address(sort=name, reverse="on" if again else "", page=1)

    def direction(self, column: Column[T]) -> str:
        """Return the value of ``aria-sort`` for a column."""
        if column.name != self.sort:
            return "none"
        return "descending" if column.is_number != self.is_reversed else "ascending"


def list_page(
    request: Request, at: str, rows: Sequence[T], columns: Sequence[Column[T]], default_sort: str
) -> ListPage[T]:
    """Return the page of a list that a request asks for.

    The first column is always shown, and breaks ties.
    """
    asked = request.query_params
    by_name = {each.name: each for each in columns}
    wanted = asked.getlist("columns") or _stored_columns(request, at)
    names = [n for n in wanted if n in by_name] or [c.name for c in columns if c.is_default]
    query, first = asked.get("q", "").strip(), columns[0]
    searched = [each for each in columns if each.is_searched or each is first]
    found = [
        row for row in rows if any(query.lower() in str(each.key(row)).lower() for each in searched)
    ]
    sort = by_name.get(asked.get("sort", ""), by_name[default_sort])
    is_reversed = asked.get("reverse") == "on"
    found.sort(key=first.key)
    known = [row for row in found if sort.key(row) is not None]
    known.sort(key=sort.key, reverse=sort.is_number != is_reversed)
    found = known + [row for row in found if sort.key(row) is None]
    shown_columns = tuple(each for each in columns if each.name in names or each is first)
    made = ListPage(
        at, (), len(found), len(rows), query, sort.name, is_reversed, 1, shown_columns,
        tuple(columns[1:]),
    )  # fmt: skip
    number = asked.get("page", "1")
    is_number = number.isdecimal() and number.isascii() and len(number) <= _MOST_DIGITS
    page = min(int(number), made.pages) if is_number else 1
    page = max(1, page)
    return replace(made, page=page, rows=tuple(found[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]))


def _cookie(at: str) -> str:
    return f"columns_{at.strip('/')}"


def _stored_columns(request: Request, at: str) -> list[str]:
    return request.cookies.get(_cookie(at), "").split(".")


def store_columns(request: Request, response: Response, at: str) -> Response:
    """Store the chosen columns in a cookie."""
    names = request.query_params.getlist("columns")
    if names and all(each.isidentifier() and each.isascii() for each in names):
        response.set_cookie(
            _cookie(at), ".".join(names), max_age=31_536_000, httponly=True, samesite="strict"
        )
    return response


def list_all(fetch: Callable[..., Page[T]], *names: str) -> list[T]:
    """Return the items of all pages of a listing of the store, at most ``MOST``."""
    pages = all_pages(lambda token: fetch(*names, page_size=_PAGE, page_token=token))
    return list(islice(pages, MOST))
