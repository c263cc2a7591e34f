"""Schemas: the list, and one schema's page with its revisions. They are changed by commands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import unified_diff
from itertools import zip_longest

from fastapi import APIRouter, Request, Response

from pubsub_delta.console.context import console_of
from pubsub_delta.console.formatting import definition
from pubsub_delta.console.lists import Column, list_all, list_page, store_columns
from pubsub_delta.console.responses import render
from pubsub_delta.schemas import Schema

router = APIRouter()


@dataclass(frozen=True)
class Row:
    """A schema in the list, by its newest revision. ``topics``: how many topics use it."""

    id: str
    schema: Schema
    topics: int


@dataclass(frozen=True)
class Revision:
    """A revision of a schema. ``changes``: the lines that differ from the revision before it.

    Each has a sign before it: + where it was added, - where it was removed, else a space.
    """

    schema: Schema
    before: str
    changes: tuple[tuple[str, str], ...]


def revisions_of(schemas: Sequence[Schema]) -> list[Revision]:
    """Return revisions, the newest first, with what changed since the one before."""
    found = []
    for each, before in zip_longest(schemas, schemas[1:]):
        if before is None:
            found.append(Revision(each, "", ()))
            continue
        old, new = (definition(which.definition).splitlines() for which in (before, each))
        lines = list(unified_diff(old, new, n=_CONTEXT, lineterm=""))[2:]  # without file names
        changes = tuple((line[:1], line[1:]) for line in lines)
        found.append(Revision(each, before.revision_id, changes))
    return found


_CONTEXT = 2
"""Unchanged lines around a change."""

COLUMNS: tuple[Column[Row], ...] = (
    Column("id", "Schema ID", lambda row: row.id),
    Column("type", "Type", lambda row: row.schema.type.value),
    Column("revision", "Newest revision", lambda row: row.schema.revision_id),
    Column("committed", "Committed", lambda row: row.schema.revision_create_time),
    Column("topics", "Topics", lambda row: row.topics, is_number=True),
)


@router.get("/schemas")
def show_all(request: Request) -> Response:
    """List the schemas of the project."""
    console = console_of(request)
    every = list_all(console.store.list_schemas)
    users: Counter[str] = Counter()
    if every:
        topics = list_all(console.store.list_topics)
        users.update(each.schema_settings.schema for each in topics if each.schema_settings)
    rows = [Row(console.short(each.name), each, users[each.name]) for each in every]
    found = list_page(request, "/schemas", rows, COLUMNS, "id")
    return store_columns(request, render(request, "schemas.html", found=found), "/schemas")


@router.get("/schemas/{id_}")
def show(request: Request, id_: str) -> Response:
    """Show a schema: its revisions, the newest first, and the topics that use it."""
    store = console_of(request).store
    newest = store.get_schema(id_)
    topics = [
        each.name
        for each in list_all(store.list_topics)
        if each.schema_settings and each.schema_settings.schema == newest.name
    ]
    return render(
        request,
        "schema.html",
        id=id_,
        schema=newest,
        revisions=revisions_of(list_all(store.list_schema_revisions, newest.name)),
        topics=topics,
    )
