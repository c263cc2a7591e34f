"""Views of topics and backlogs under plain names, for SQL without the uids of tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from pubsub_delta.delivery.schemas import typed_reader_of
from pubsub_delta.delivery.sources import source_of
from pubsub_delta.errors import DataLoss, FailedPrecondition, InvalidArgument, NotFound
from pubsub_delta.names import DELETED_TOPIC
from pubsub_delta.policy.schemas.validation import TypedReader
from pubsub_delta.policy.view_names import (
    backlog_view,
    check_prefix,
    distinct,
    topic_view,
    typed_view,
)
from pubsub_delta.resources import Topic
from pubsub_delta.schemas import Encoding
from pubsub_delta.tables.lanes.protocol import Conflict, TableMissing
from pubsub_delta.tables.layout import layout_of
from pubsub_delta.tables.store import Tables

if TYPE_CHECKING:
    from pubsub_delta.tables.lanes.spark.views import Views, ViewSubject

_TRIES = 3
_REGISTRY = ("topics", "subscriptions", "snapshots", "schemas")
_TAKEN = (
    "a table or view of this name is there that create_views of this store has not made; "
    "create_views(prefix=…) takes other names"
)
_ELSEWHERE = "temporary=True, or read_topic(typed=True), has the fields"
_PIECES = (
    "the backlog is in too many pieces for a view; maintain or a pull of it may join them, and "
    "backlog() of the store reads it as it is"
)


@dataclass(frozen=True)
class ViewsReport:
    """What ``create_views`` did, by the names of the views.

    ``refused``: views that could not be created, and why; tables and views of those names are
    unchanged. ``untyped``: topics with a schema that have no view of their fields, and why.
    """

    created: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    untyped: Mapping[str, str] = field(default_factory=dict)

    @property
    def views(self) -> tuple[str, ...]:
        """The views that exist now, by name."""
        return tuple(sorted((*self.created, *self.replaced, *self.unchanged)))

    def lines(self) -> Iterator[str]:
        """Yield a line for each view that was created, replaced, dropped, refused or omitted."""
        for done in ("created", "replaced", "dropped"):
            yield from (f"{done}: {name}" for name in getattr(self, done))
        yield from (f"refused: {name}: {why}" for name, why in self.refused.items())
        yield from (f"without fields: {topic}: {why}" for topic, why in self.untyped.items())


@dataclass(frozen=True)
class _View:
    """A view to create.

    ``plain``: its name, if no other view has it. ``subject``: its content. ``query``: its SQL; None
    if there is none, for the reason ``problem``. ``typing``: the fields that Python reads from its
    rows.
    """

    plain: str
    subject: ViewSubject
    query: str | None
    typing: TypedReader | None = None
    problem: str = _PIECES


def create_views(
    tables: Tables,
    project: str,
    now: datetime,
    schema: str | None = None,
    prefix: str = "",
    *,
    temporary: bool | None = None,
) -> ViewsReport:
    """Create, replace and drop views, so that they are those of the resources of a project."""
    check_prefix(prefix)
    place = _place(tables, schema, temporary=temporary)
    spark = tables.spark
    tables.check_created()  # else all views are dropped while a disk is not mounted
    from pubsub_delta.tables.lanes.spark.views import Views  # this is what needs Spark

    views = Views(spark, place, tables.layout.base, project)
    try:
        there = views.names()
    except TableMissing:
        raise NotFound(f"schema: {schema!r} does not exist; create it, and try again") from None
    topics = tables.registry.topics(f"projects/{project}/")
    if topics:
        tables.lanes.session_for(tables.layout.topics)  # Spark must find this store, and no copy
    typed, untyped = _typed(tables, topics, temporary=place is None)
    found = [*_topics(tables, topics), *typed, *_backlogs(tables, project, now)]
    wanted = sorted(found, key=lambda each: each.plain)
    names = distinct({each.subject.key: each.plain for each in wanted}, prefix, _REGISTRY)
    kept = {name.casefold() for name in names.values()}
    done: dict[str, list[str]] = {each: [] for each in ("created", "replaced", "unchanged")}
    dropped = _drop(views, [name for name in there if name.casefold() not in kept])
    refused = {}
    for each in wanted:
        name = names[each.subject.key]
        try:
            done[_make(views, name, each)].append(name)
        except _Refused as error:
            refused[name] = str(error)
    return ViewsReport(
        **{key: tuple(value) for key, value in done.items()},
        dropped=dropped,
        refused=refused,
        untyped=untyped,
    )


def _place(tables: Tables, schema: str | None, *, temporary: bool | None) -> str | None:
    """Return the schema for the views, as an identifier; None for the session."""
    if schema is not None:
        if temporary:
            raise InvalidArgument(
                f"schema: {schema!r} together with temporary=True; a temporary view has no "
                "schema, so one of the two is accepted"
            )
        layout = layout_of(schema, "schema")
        if not layout.in_catalog:
            raise InvalidArgument(
                f"schema: {schema!r} is a path; a schema of the catalog is accepted, such as bi "
                "or main.bi"
            )
        return layout.schema
    own = tables.layout.schema if tables.layout.in_catalog else None
    if temporary is False and own is None:
        raise InvalidArgument(
            f"schema: it is not given, and the store {tables.layout.base} is not in a catalog, "
            "where views that are not temporary would be; a schema of a catalog is accepted, such "
            "as bi or main.bi"
        )
    return None if temporary else own


def _topics(tables: Tables, topics: Sequence[Topic]) -> Iterator[_View]:
    from pubsub_delta.tables.lanes.spark.views import ViewSubject, topic_query

    for topic in topics:
        subject = ViewSubject(topic.name, tables.layout.topics, topic.uid, "topic")
        query = topic_query(tables.layout.messages(topic.uid), subject)
        yield _View(topic_view(_id(topic.name)), subject, query)


def _typed(
    tables: Tables, topics: Sequence[Topic], *, temporary: bool
) -> tuple[list[_View], dict[str, str]]:
    """Return the views of messages with their fields, and the topics that have none, and why.

    In a temporary view Python reads the fields; a view in a catalog is SQL alone.
    """
    found, untyped = [], {}
    for topic in topics:
        if topic.schema_settings is None:
            continue
        try:
            found.append(_typed_view(tables, topic, temporary=temporary))
        except (FailedPrecondition, DataLoss, _Refused) as why:
            untyped[topic.name] = str(why)
    return found, untyped


def _typed_view(tables: Tables, topic: Topic, *, temporary: bool) -> _View:
    from pubsub_delta.tables.lanes.spark.views import ViewSubject, messages_query

    typing = typed_reader_of(tables, topic)
    _ = typing.fields  # FailedPrecondition where the extra is not installed
    subject = ViewSubject(topic.name, tables.layout.topics, topic.uid, "topic", typed=True)
    plain = typed_view(_id(topic.name))
    query = messages_query(tables.layout.messages(topic.uid), subject)
    if temporary:
        return _View(plain, subject, query, typing)
    from pubsub_delta.tables.lanes.spark.typed_sql import Unreadable, typed_query

    settings = topic.schema_settings
    assert settings is not None
    try:
        return _View(plain, subject, typed_query(query, typing, Encoding(settings.encoding)))
    except Unreadable as why:
        raise _Refused(f"{why}, which SQL alone does not read; {_ELSEWHERE}") from why


def _backlogs(tables: Tables, project: str, now: datetime) -> Iterator[_View]:
    from pubsub_delta.tables.lanes.spark.views import ViewSubject, backlog_query

    topics = {each.uid: topic_uid for each, topic_uid in tables.registry.sources()}
    for subscription in tables.registry.subscriptions(f"projects/{project}/"):
        topic_uid = topics.get(subscription.uid)
        if topic_uid is None or subscription.detached:
            continue
        topic = None if subscription.topic == DELETED_TOPIC else _id(subscription.topic)
        plain = backlog_view(topic, _id(subscription.name))
        registry = tables.layout.subscriptions
        subject = ViewSubject(subscription.name, registry, subscription.uid, "subscription")
        source = source_of(tables, subscription, topic_uid)
        try:
            state = source.catch_up(tables.ack_states.read(source.uid), now)
        except DataLoss as why:
            if subscription.uid in {each.uid for each, _ in tables.registry.sources()}:
                yield _View(plain, subject, None, problem=str(why))
            continue  # else it was deleted meanwhile
        counted = subscription.dead_letter_policy is not None
        table = source.messages.table
        yield _View(
            plain, subject, backlog_query(table, subject, state.unacked(), now, counted=counted)
        )


def _drop(views: Views, names: Sequence[str]) -> tuple[str, ...]:
    """Drop those that are views of this store, and return them.

    Another program that makes the views may have dropped some since they were listed.
    """
    dropped = []
    for name in names:
        with suppress(TableMissing, Conflict):
            if views.identity(name) is not None:
                views.drop(name)
                dropped.append(name)
    return tuple(dropped)


def _make(views: Views, name: str, wanted: _View) -> str:
    """Create or replace a view, or leave it unchanged; return which. _Refused if it cannot be."""
    for _ in range(_TRIES):
        identity = _identity(views, name)
        if wanted.query is None:
            raise _Refused(wanted.problem)
        if identity is not None and identity["digest"] == views.digest(wanted.query, wanted.typing):
            return "unchanged"
        replace = identity is not None
        try:
            views.show(name, wanted.subject, wanted.query, wanted.typing, replace=replace)
        except Conflict:  # another program has created it meanwhile: a view of this store?
            continue
        except DataLoss as why:  # the table that it reads is damaged, or gone
            raise _Refused(str(why)) from why
        return "replaced" if replace else "created"
    raise _Refused(_TAKEN)


def _identity(views: Views, name: str) -> Mapping[str, str] | None:
    """Return the identity of a view of this store, None if the name is free; else _Refused."""
    try:
        identity = views.identity(name)
    except TableMissing:
        return None
    if identity is None:
        raise _Refused(_TAKEN)
    return identity


class _Refused(Exception):
    """A view that cannot be created, and why."""


def _id(name: str) -> str:
    return name.rpartition("/")[2]
