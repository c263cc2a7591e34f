"""Creates, replaces and drops views of topics and backlogs, and leaves other views alone.

The comment on the first column identifies a view of the store: it names the view, the resource and
the store. A view that a user makes of it inherits the comment, but has another name.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, Row, SparkSession

from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.policy import view_names
from pubsub_delta.policy.ack_state import Span
from pubsub_delta.policy.schemas.validation import TypedReader
from pubsub_delta.tables.lanes.protocol import Conflict
from pubsub_delta.tables.lanes.spark.columns import sql_instant
from pubsub_delta.tables.lanes.spark.errors import translating_errors
from pubsub_delta.tables.lanes.spark.schemas import typed
from pubsub_delta.tables.lanes.spark.sql import literal
from pubsub_delta.tables.schemas import MESSAGE_COLUMNS

MOST_RUNS = 2_000
"""The most runs of positions in the SQL of a view."""

_IDENTITY = re.compile(r"pubsub_delta (\{.*\})")
_RACES = re.compile(
    r"(TABLE|VIEW|TABLE_OR_VIEW)_ALREADY_EXISTS|AlreadyExistsException|NoSuchObjectException"
)
"""Errors of a view that another program creates, or replaces: Spark drops it and creates it anew.

The last two are those of Hive's metastore.
"""
_NO_VIEWS = re.compile(r"does not support views|MISSING_CATALOG_ABILITY|CATALOG_OPERATION")
_MESSAGE = {
    "message_id": "CAST(position AS STRING)",
    "publish_time": "publish_time",
    "text": "try_validate_utf8(CAST(coalesce(data, X'') AS STRING))",
    "data": "coalesce(data, X'')",
    "attributes": "coalesce(attributes, CAST(map() AS MAP<STRING, STRING>))",
    "ordering_key": "coalesce(ordering_key, '')",
}

_LIKE_A_MESSAGE = (
    "position, timestamp_micros(position) AS publish_time, "
    "date_add(DATE'1970-01-01', CAST(position AS INT)) AS publish_date, "
    "CAST(CAST(position AS STRING) AS BINARY) AS data, CAST(position AS STRING) AS ordering_key, "
    "map(CAST(position AS STRING), CAST(position AS STRING)) AS attributes"
)
"""The columns of a message, of a number. A constant would let Spark leave out what is read."""


@dataclass(frozen=True)
class ViewSubject:
    """What a view shows.

    Args:
        resource: the full name of the topic or subscription.
        registry: the table of its row.
        uid: its uid there.
        kind: ``topic`` or ``subscription``.
        typed: whether it shows the fields of messages, too.
    """

    resource: str
    registry: str
    uid: str
    kind: str
    typed: bool = False

    @property
    def key(self) -> str:
        """A key that no other view of the store has."""
        return f"{self.resource} typed" if self.typed else self.resource


class Views:
    """The views of a store in one place: a schema of the catalog, or the session.

    Args:
        spark: the session.
        schema: as an identifier; None for temporary views.
        store: the store's root.
        project: the project of the resources.
    """

    def __init__(self, spark: SparkSession, schema: str | None, store: str, project: str) -> None:
        self._spark = spark
        self._schema = schema
        self._store = hashlib.sha256(store.encode()).hexdigest()[:16]
        self._project = project

    def names(self) -> list[str]:
        """Return the names of all views, also of those by users.

        TableMissing if the schema does not exist; FailedPrecondition if its catalog has no views.
        """
        where = "" if self._schema is None else f" IN {self._schema}"
        rows = self._collect(f"SHOW VIEWS{where}")
        wanted = self._schema is None
        return [str(row["viewName"]) for row in rows if bool(row["isTemporary"]) == wanted]

    def identity(self, name: str) -> Mapping[str, str] | None:
        """Return the identity of a view of this store; None for another view; TableMissing.

        The SQL of the view is not analysed, because its tables may be gone.
        """
        rows = self._collect(f"DESCRIBE TABLE {self._identifier(name)}")
        found = _IDENTITY.fullmatch((rows[0]["comment"] or "") if rows else "")
        if found is None:
            return None
        identity: dict[str, str] = json.loads(found[1])
        ours = self._identity(name, "", "")
        same = all(identity.get(key) == ours[key] for key in ("view", "store", "project"))
        return identity if same else None

    def drop(self, name: str) -> None:
        """Drop a view."""
        self._collect(f"DROP VIEW IF EXISTS {self._identifier(name)}")

    def show(
        self,
        name: str,
        subject: ViewSubject,
        query: str,
        typing: TypedReader | None,
        *,
        replace: bool,
    ) -> None:
        """Create a view of a query, or replace a view of this store.

        ``typing``: with the fields of the messages as columns. Python reads those, so such a view
        is a temporary one. Conflict if a table or view of that name was created since.
        """
        identity = self._identity(name, subject.resource, self.digest(query, typing))
        comment = view_names.comment(identity)
        if typing is not None:
            with translating_errors(subject.resource):
                frame = typed(self._spark.sql(query), typing)
            self._show_frame(name, frame, comment, replace=replace)
            return
        how = ("OR REPLACE " if replace else "") + ("TEMPORARY " if self._schema is None else "")
        columns = _columns_of(self._spark, query, subject.resource)
        first = f"`{columns[0]}` COMMENT '{comment}'"
        listed = ", ".join([first, *(f"`{column}`" for column in columns[1:])])
        self._collect(f"CREATE {how}VIEW {self._identifier(name)} ({listed}) AS {query}")

    def _show_frame(self, name: str, frame: DataFrame, comment: str, *, replace: bool) -> None:
        described = frame.withMetadata(frame.columns[0], {"comment": comment})
        with _telling_of_views("the session"):
            if replace:
                described.createOrReplaceTempView(name)
            else:
                described.createTempView(name)

    def digest(self, query: str, typing: TypedReader | None) -> str:
        """Return a digest of a view's query and fields, for its comment."""
        text = query if typing is None else f"{query} {typing}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _identity(self, name: str, resource: str, digest: str) -> dict[str, str]:
        where = "" if self._schema is None else self._schema
        view = hashlib.sha256(f"{where}.{name}".casefold().encode()).hexdigest()[:16]
        of = {"of": resource, "project": self._project}
        return {**of, "view": view, "store": self._store, "digest": digest}

    def _identifier(self, name: str) -> str:
        quoted = f"`{name.replace('`', '``')}`"
        return quoted if self._schema is None else f"{self._schema}.{quoted}"

    def _collect(self, statement: str) -> list[Row]:
        with _telling_of_views(self._schema or "the session"):
            return self._spark.sql(statement).collect()


@contextmanager
def _telling_of_views(place: str) -> Iterator[None]:
    try:
        with translating_errors(place):
            yield
    except AnalysisException as error:
        text = f"{error.getCondition()} {error}"
        if _RACES.search(text):
            raise Conflict(text.splitlines()[0]) from error
        if _NO_VIEWS.search(text):
            raise FailedPrecondition(
                f"{place}: its catalog has no views ({str(error).splitlines()[0]}); a schema of "
                "another catalog is accepted, or temporary=True"
            ) from error
        raise


def _columns_of(spark: SparkSession, query: str, resource: str) -> list[str]:
    with translating_errors(resource):
        return spark.sql(query).columns


def topic_query(messages: str, subject: ViewSubject) -> str:
    """Return the query of a topic's messages; it fails if that was deleted or created again."""
    columns = ", ".join(f"{value} AS {name}" for name, value in _MESSAGE.items())
    return _telling(subject, f"SELECT {columns}, publish_date", messages)


def messages_query(messages: str, subject: ViewSubject) -> str:
    """Return the query of a topic's messages, by the columns that their fields are read from."""
    columns = ", ".join(f"{_MESSAGE[name]} AS {name}" for name in ("message_id", *MESSAGE_COLUMNS))
    return _telling(subject, f"SELECT {columns}", messages)


def backlog_query(
    messages: str, subject: ViewSubject, spans: Sequence[Span], now: datetime, *, counted: bool
) -> str | None:
    """Return the query of a backlog as it is now; None if it has too many runs of positions.

    ``counted``: whether delivery attempts are counted.
    """
    left, states, attempts, all_runs = MOST_RUNS, [], [], []
    for span in spans:
        runs = span.positions.runs(limit=left + 1)
        left -= len(runs)
        if left < 0:
            return None
        test = " OR ".join(f"position BETWEEN {first:d} AND {last:d}" for first, last in runs)
        states.append(f"WHEN {test} THEN {literal(span.state.value)}")
        attempts.append(f"WHEN {test} THEN {span.delivery_attempt:d}")
        all_runs.append(f"({test})")
    state = f"CASE {' '.join(states)} END" if states else "CAST(NULL AS STRING)"
    attempt = f"CASE {' '.join(attempts)} END" if attempts and counted else "CAST(NULL AS INT)"
    columns = ", ".join(f"{value} AS {name}" for name, value in _MESSAGE.items())
    select = (
        f"SELECT {columns}, {state} AS state, {attempt} AS delivery_attempt, "
        f"{sql_instant(now)} AS as_of"
    )
    return _telling(subject, select, messages, f"({' OR '.join(all_runs) or 'false'})")


def _telling(subject: ViewSubject, select: str, messages: str, wanted: str = "true") -> str:
    """Return a query of messages that fails if a resource was deleted or created again.

    Each row tells it. The second part tells it without rows, too: Spark reads no row where a
    condition of the reader leaves out all of them. It has a row to look at, and returns none.
    """
    is_live = "delete_time IS NULL" if subject.kind == "topic" else "NOT detached"
    problem = literal(
        f"{subject.kind} {subject.resource} was deleted, or created anew, since this view was "
        "made; create_views of the store makes the views anew"
    )
    failing = f"CAST(raise_error({problem}) AS BOOLEAN)"
    there = f"FROM {subject.registry} WHERE uid = {literal(subject.uid)} AND {is_live}"
    return (
        f"{select} FROM {messages} "
        f"WHERE {wanted} AND coalesce((SELECT any_value(true) {there}), {failing}) "
        f"UNION ALL {select} FROM (SELECT {_LIKE_A_MESSAGE} FROM "
        f"(SELECT count(*) AS position {there})) WHERE if(position > 0, false, {failing})"
    )
