"""Publish: one atomic append, stamped once, checked in the same pass that writes it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import cached_property

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, DataType, MapType, NullType, StringType

from pubsub_delta.errors import FailedPrecondition, InvalidArgument, NotFound
from pubsub_delta.policy.messages import FIELD_OF_RULE, as_message
from pubsub_delta.resources import Ids
from pubsub_delta.session import few_rows
from pubsub_delta.tables.columns import surely_valid, violations
from pubsub_delta.tables.commits import repeat_on_conflict
from pubsub_delta.tables.history import Commit
from pubsub_delta.tables.messages import Messages
from pubsub_delta.tables.ordering import in_key_order
from pubsub_delta.tables.store import Tables

_IGNORED = ("message_id", "publish_time", "publish_date")
"""Columns that the server fills in; values that a client supplies for them are ignored."""

_FEW = 10_000
"""So many messages are written sooner in the session for small work."""

_SUSPECT = "pubsub_delta: this message may break a rule"


class PublishResult:
    """What a publish wrote: ``publish_time``, ``message_count`` and ``message_ids``.

    The ids are looked up when first asked for. For messages given one by one they stand in
    request order, for a DataFrame in the order in which its rows were stored.
    """

    def __init__(self, messages: Messages, publish_time: datetime, publish_id: str) -> None:
        self.publish_time = publish_time
        self._messages = messages
        self._publish_id = publish_id

    @cached_property
    def message_count(self) -> int:
        """The number of messages that this publish wrote."""
        return 0 if self._commit is None else self._commit.message_count

    @cached_property
    def message_ids(self) -> Ids:
        """The ids of the messages, unique in the topic."""
        if self._commit is None:
            return Ids.of(())
        positions = self._messages.positions_of(self._commit)
        return Ids(len(positions), lambda: map(str, positions))

    @cached_property
    def _commit(self) -> Commit | None:
        """The commit; None for a DataFrame without rows, of which Delta makes no commit."""
        commit = self._messages.history.published_as(self._publish_id)
        if commit is None and not self._messages.history.reaches_back_to(self.publish_time):
            raise NotFound(
                f"publish {self._publish_id} is no longer in the topic's history, "
                "which is kept for 8 days, or as long as maintain(truncate_history=...) says"
            )
        return commit

    def __repr__(self) -> str:
        return f"PublishResult({self.message_count} messages at {self.publish_time.isoformat()})"


def publish(
    tables: Tables,
    messages: Messages,
    what: DataFrame | Iterable[object],
    now: datetime,
    idempotency_id: tuple[str, int] | None,
    order_by: str | None = None,
) -> PublishResult:
    """Append messages in one commit, or none of them.

    With an idempotency id (application, version) the second publish of the same id writes
    nothing and gives the result of the first. Versions of one application must rise. With
    ``order_by`` the messages of an ordering key are received in the order of that column.
    """
    publish_id = tables.new_id()
    if idempotency_id is not None:
        publish_id = _publish_id(idempotency_id)
    if isinstance(what, (str, bytes, bytearray)):
        raise InvalidArgument(
            f"messages: a single {type(what).__name__}; pass a list of messages or a DataFrame"
        )
    if hasattr(what, "sparkSession") and hasattr(what, "schema"):
        frame = _conformed(what, order_by)  # type: ignore[arg-type]
        repeat_on_conflict(
            lambda: _append_checked(messages, frame, now, publish_id, idempotency_id), "publish"
        )
    elif order_by is not None:
        raise InvalidArgument(
            f"order_by: {order_by!r} names a column, and these messages are no DataFrame; "
            "messages given one by one are received in that order"
        )
    else:
        rows = _rows_of(tables, what)
        repeat_on_conflict(
            lambda: messages.append(rows, now, publish_id, idempotency_id), "publish"
        )
    if idempotency_id is not None:
        now = _publish_time(messages, publish_id, idempotency_id)
    return PublishResult(messages, now, publish_id)


def _rows_of(tables: Tables, what: Iterable[object]) -> DataFrame:
    """Check messages given one by one, and make them rows of one file, in request order."""
    try:
        given = list(what)
    except TypeError:
        raise InvalidArgument(
            f"messages: a {type(what).__name__} is neither a DataFrame nor iterable; "
            "pass a list of Message, bytes or str"
        ) from None
    checked = [as_message(value, index) for index, value in enumerate(given)]
    if not checked:
        raise InvalidArgument("messages: an empty list; at least one message is needed")
    rows = pa.table(
        {
            "data": pa.array([bytes(message.data) for message in checked], pa.binary()),
            "attributes": pa.array(
                [list(message.attributes.items()) for message in checked],
                pa.map_(pa.string(), pa.string()),
            ),
            "ordering_key": pa.array([m.ordering_key for m in checked], pa.string()),
        }
    )
    session = tables.small if len(checked) <= _FEW else tables.spark
    return few_rows(tables.spark, session, rows).coalesce(1)


def check_stream(frame: DataFrame, order_by: str | None = None) -> None:
    """Refuse what is no streaming DataFrame, or has other columns than messages have."""
    if not getattr(frame, "isStreaming", False):
        raise InvalidArgument(
            f"streaming_df: a {type(frame).__name__} that does not stream; "
            "a streaming DataFrame (spark.readStream) is accepted"
        )
    _check_columns(frame, order_by)


def _conformed(frame: DataFrame, order_by: str | None) -> DataFrame:
    """Return a DataFrame's data, attributes and ordering_key, in order, or refuse its columns."""
    if frame.isStreaming:
        raise InvalidArgument(
            "messages: a streaming DataFrame; a batch DataFrame is accepted, "
            "and publish_stream publishes a streaming one"
        )
    given = _check_columns(frame, order_by)
    absent = {"data": F.lit(None), "attributes": F.create_map(), "ordering_key": F.lit("")}
    columns = []
    for name, accepted in _ACCEPTED.items():
        column = F.col(name) if name in given else absent[name]
        if given.get(name) != accepted[0]:
            column = column.cast(accepted[0])
        columns.append(column.alias(name))
    if order_by is None:
        return frame.select(*columns)
    ordered = frame.select(*columns, F.col(f"`{order_by.replace('`', '``')}`").alias(_ORDER))
    return in_key_order(ordered, F.col(_ORDER)).drop(_ORDER)


def _check_columns(frame: DataFrame, order_by: str | None) -> dict[str, DataType]:
    names = frame.columns
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidArgument(f"column {twice!r} stands twice in {names}; each once is accepted")
    given = {column.name: column.dataType for column in frame.schema}
    if order_by is not None and (not isinstance(order_by, str) or order_by not in given):
        raise InvalidArgument(
            f"order_by: {order_by!r} is not a column; one of {', '.join(given)} is accepted"
        )
    for name, type_ in given.items():
        if name in (*_IGNORED, order_by) and name not in _ACCEPTED:
            continue
        if name not in _ACCEPTED:
            raise InvalidArgument(
                f"column {name!r} is not a column of a message; "
                "data BINARY, attributes MAP<STRING,STRING> and ordering_key STRING are accepted"
            )
        if not any(_fits(type_, accepted) for accepted in _ACCEPTED[name]):
            wanted = " or ".join(each.simpleString().upper() for each in _ACCEPTED[name])
            raise InvalidArgument(
                f"column {name!r} is {type_.simpleString().upper()}; {wanted} is accepted"
            )
    if "data" not in given and "attributes" not in given:
        raise InvalidArgument(
            f"columns {sorted(given)}: neither 'data' nor 'attributes'; at least one is needed"
        )
    return given


_ORDER = "_order"
_ACCEPTED: dict[str, tuple[DataType, ...]] = {
    "data": (BinaryType(), StringType()),
    "attributes": (MapType(StringType(), StringType()),),
    "ordering_key": (StringType(),),
}
"""The columns of a message with the types that they may have, first the one that is stored."""


def _fits(given: DataType, accepted: DataType) -> bool:
    """Tell whether a column's type is accepted; one without any value fits everywhere."""
    if isinstance(given, MapType) and isinstance(accepted, MapType):
        return _fits(given.keyType, accepted.keyType) and _fits(given.valueType, accepted.valueType)
    return isinstance(given, NullType) or given == accepted


def _append_checked(
    messages: Messages,
    frame: DataFrame,
    now: datetime,
    publish_id: str,
    idempotency_id: tuple[str, int] | None,
) -> None:
    """Write and check in one pass: the first suspect message fails the write, and all of it.

    The quick check suspects messages of many attributes, or without data, too. If a look at all
    messages finds that no rule is broken, they are written again with the exact check.
    """
    for valid in (surely_valid(), ~_broken()):
        try:
            messages.append(_failing_unless(valid, frame), now, publish_id, idempotency_id)
            return
        except Exception as error:
            if _SUSPECT not in str(error):
                raise
            _refuse_broken(frame)
    raise InvalidArgument(
        "messages: a message broke a rule when it was written, but none does when they are read "
        "again; a DataFrame that gives other rows each time cannot be published: store it first"
    )


def _failing_unless(valid: Column, frame: DataFrame) -> DataFrame:
    suspect = F.raise_error(F.lit(_SUSPECT)).cast("binary")
    return frame.withColumn("data", F.when(valid, F.col("data")).otherwise(suspect))


def _broken() -> Column:
    broken = F.lit(False)
    for wrong in violations().values():
        broken |= wrong
    return broken


def _refuse_broken(frame: DataFrame) -> None:
    """Raise InvalidArgument with the number of offending rows by rule, and one of them."""
    wrong = violations()
    counts = frame.agg(
        *(F.count_if(broken).alias(f"rule{n}") for n, broken in enumerate(wrong.values()))
    ).collect()[0]
    found = {rule: counts[f"rule{n}"] for n, rule in enumerate(wrong) if counts[f"rule{n}"]}
    if not found:
        return
    told = "; ".join(
        f"column {FIELD_OF_RULE[rule]!r}: {rule}: {count:,} offending row{'s' * (count > 1)}"
        for rule, count in found.items()
    )
    example = frame.where(_broken()).limit(1).select(*map(_shortened, frame.columns)).collect()
    shown = f"; one of them: {example[0].asDict()}" if example else ""
    raise InvalidArgument(f"{told}; nothing was published{shown}")


def _shortened(name: str) -> Column:
    text = F.col(name).cast("string")
    return (
        F.when(F.length(text) > 80, F.concat(F.left(text, F.lit(77)), F.lit("...")))
        .otherwise(text)
        .alias(name)
    )


def _has_bytes(text: str, least: int, most: int) -> bool:
    """Tell whether a text can be written as UTF-8, in so many bytes."""
    try:
        return least <= len(text.encode()) <= most
    except UnicodeEncodeError:
        return False


def _publish_id(idempotency_id: tuple[str, int]) -> str:
    valid = isinstance(idempotency_id, tuple) and len(idempotency_id) == 2
    if valid:
        application, version = idempotency_id
        valid = isinstance(application, str) and _has_bytes(application, 1, 256)
        valid = valid and type(version) is int and 0 <= version < 2**63
    if not valid:
        raise InvalidArgument(
            f"idempotency_id: {idempotency_id!r} is not one; (application id, version) is "
            "accepted: a text of 1 to 256 bytes and a whole number from 0"
        )
    return f"{application}:{version}"


def _publish_time(messages: Messages, publish_id: str, idempotency_id: tuple[str, int]) -> datetime:
    """Return when an idempotent publish was made, now or by an earlier attempt.

    Delta skips a version that is not above the application's last one without a word. If that was
    not this very publish, the messages are nowhere, and the caller must know.
    """
    commit = messages.history.published_as(publish_id)
    if commit is None or commit.publish_time is None:
        application, version = idempotency_id
        raise FailedPrecondition(
            f"idempotency_id: version {version} of {application!r} is not above the last version "
            "that was published, and what is kept of the topic's history does not show it either; "
            "nothing was published: use a higher version, or another application id"
        )
    return commit.publish_time
