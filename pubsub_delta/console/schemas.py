"""Schemas: the list, and one schema's page with its revisions. They are changed by commands."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from fastapi import APIRouter, Request, Response

from pubsub_delta.console.listing import listed
from pubsub_delta.console.lists import Column, chosen, remember
from pubsub_delta.console.pages import of, page
from pubsub_delta.schemas import Schema

router = APIRouter()


@dataclass(frozen=True)
class Row:
    """A schema in the list, by its newest revision. ``topics``: how many ask for it."""

    id: str
    schema: Schema
    topics: int


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
    console = of(request)
    every = listed(console.store.list_schemas)
    users: Counter[str] = Counter()
    if every:
        topics = listed(console.store.list_topics)
        users.update(each.schema_settings.schema for each in topics if each.schema_settings)
    rows = [Row(console.short(each.name), each, users[each.name]) for each in every]
    found = chosen(request, "/schemas", rows, COLUMNS, "id")
    return remember(request, page(request, "schemas.html", found=found), "/schemas")


@router.get("/schemas/{id_}")
def show(request: Request, id_: str) -> Response:
    """Show a schema: its revisions, the newest first, and the topics that ask for it."""
    store = of(request).store
    newest = store.get_schema(id_)
    topics = [
        each.name
        for each in listed(store.list_topics)
        if each.schema_settings and each.schema_settings.schema == newest.name
    ]
    return page(
        request,
        "schema.html",
        id=id_,
        schema=newest,
        revisions=listed(store.list_schema_revisions, newest.name),
        topics=topics,
    )
