"""Publish: one atomic append of messages, with one publish time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from pubsub_delta.delivery.message_rows import checked_rows
from pubsub_delta.delivery.schemas import validated, validator_of
from pubsub_delta.errors import FailedPrecondition, InvalidArgument, NotFound
from pubsub_delta.ids import Ids
from pubsub_delta.policy.positions import Positions
from pubsub_delta.policy.schemas.validation import SchemaValidator
from pubsub_delta.policy.transactions import OWN
from pubsub_delta.resources import Topic
from pubsub_delta.session import is_dataframe
from pubsub_delta.tables.lanes.retries import repeat_on_conflict
from pubsub_delta.tables.messages.commits import Commit
from pubsub_delta.tables.messages.messages import Messages
from pubsub_delta.tables.store import Tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Prepare: TypeAlias = "Callable[[DataFrame, int], DataFrame]"
"""Returns the messages of the rows of a micro-batch, and of its number."""


class PublishResult:
    """What a publish wrote: ``publish_time``, ``message_count`` and ``message_ids``.

    The ids of a list are in request order. Those of a DataFrame are in the order of its stored
    rows, and are read when they are first accessed, or pickled. NotFound if the publish was an
    earlier attempt whose commit is no longer in the topic's history.
    """

    def __init__(
        self,
        messages: Messages,
        publish_time: datetime | None,
        publish_id: str,
        positions: Positions | None = None,
    ) -> None:
        self._time = publish_time
        self._messages = messages
        self._publish_id = publish_id
        self._positions = positions

    @property
    def publish_time(self) -> datetime:
        """The publish time of the messages, an aware datetime; NotFound as above."""
        if self._time is not None:
            return self._time
        raise self._forgotten()

    @cached_property
    def message_count(self) -> int:
        """The number of messages that this publish wrote; NotFound as above."""
        if self._positions is not None:
            return len(self._positions)
        if self._commit is None:
            return 0
        return self._commit.message_count or len(self.message_ids)  # a session may count nothing

    @cached_property
    def message_ids(self) -> Ids:
        """The message ids, unique in the topic, read when iterated; NotFound as above."""
        found = self._found
        return Ids(len(found), lambda: map(str, found))

    @cached_property
    def _found(self) -> Positions:
        if self._positions is not None:
            return self._positions
        return Positions() if self._commit is None else self._messages.positions_of(self._commit)

    def __reduce__(self) -> tuple[Any, ...]:
        return PublishResult, (None, self.publish_time, self._publish_id, self._found)

    @cached_property
    def _commit(self) -> Commit | None:
        """The commit; None for a DataFrame without rows, for which Delta makes no commit."""
        history = self._messages.history
        commit = history.published_as(self._publish_id)
        if commit is None and (self._time is None or not history.reaches_back_to(self._time)):
            raise self._forgotten()
        return commit

    def _forgotten(self) -> NotFound:
        return NotFound(
            f"publish {self._publish_id} is no longer in the topic's history; the log retention "
            "of the topic's table says how long it is kept: 8 days by default"
        )

    def __repr__(self) -> str:
        if self._time is None:
            return f"PublishResult({self._publish_id}, published earlier)"
        return f"PublishResult({self.message_count} messages at {self._time.isoformat()})"


def publish(
    tables: Tables,
    topic: Topic,
    what: DataFrame | pa.Table | pa.RecordBatch | Iterable[object],
    now: datetime,
    idempotency_id: tuple[str, int] | None,
    order_by: str | None = None,
) -> PublishResult:
    """Append messages in one commit, or none of them.

    A second publish of the same idempotency id (application id, version) writes nothing and returns
    the result of the first. Versions of one application must rise. ``order_by``: the column that
    gives the order of receipt within an ordering key.

    NotFound if the topic was deleted meanwhile, so that no subscription can get the messages.
    InvalidArgument if a message breaks a rule, or does not fit the topic's schema.
    """
    messages = tables.messages(topic.uid)
    publish_id = tables.new_id() if idempotency_id is None else publish_id_of(idempotency_id)
    if isinstance(what, (str, bytes, bytearray)):
        raise InvalidArgument(
            f"messages: a single {type(what).__name__}; pass a list of messages or a DataFrame"
        )
    if topic.schema_settings is not None and has_landed(messages, idempotency_id):
        assert idempotency_id is not None
        return earlier(messages, publish_id, idempotency_id, partial(_has_messages, what))
    validator = validator_of(tables, topic)
    if is_dataframe(what):
        landed = _publish_frame(
            messages, what, now, publish_id, idempotency_id, order_by, validator
        )
        positions = None
    else:
        if order_by is not None and not isinstance(what, (pa.Table, pa.RecordBatch)):
            raise InvalidArgument(
                f"order_by: {order_by!r} names a column, but a list of messages has no columns; "
                "leave it out: the order of the list is the order of receipt"
            )
        rows = validated(checked_rows(what, order_by), validator)
        positions = repeat_on_conflict(
            lambda: messages.append(rows, now, publish_id, idempotency_id), "publish"
        )
        landed = positions is not None
    if not landed and idempotency_id is not None:
        return earlier(messages, publish_id, idempotency_id, partial(_has_messages, what))
    check_received(tables, topic.name, topic.uid)
    return PublishResult(messages, now, publish_id, positions)


def check_messages(tables: Tables, topic: Topic | None, frame: DataFrame) -> DataFrame:
    """Return the rows of a DataFrame with ``why``: why a publish would refuse them, or null.

    By the rules of all topics, and the schema of a topic as it is now. FailedPrecondition if that
    was deleted; InvalidArgument for what is no DataFrame of messages.
    """
    if not is_dataframe(frame):
        raise InvalidArgument(f"messages: a {type(frame).__name__}; a DataFrame is accepted")
    from pubsub_delta.tables.lanes.spark import publishing  # this is what needs Spark

    return publishing.checked(frame, None if topic is None else validator_of(tables, topic))


def publish_micro_batch(
    tables: Tables,
    topic: Topic,
    frame: DataFrame,
    now: datetime,
    query_id: str,
    batch_id: int,
    order_by: str | None,
    prepare: Prepare | None = None,
) -> None:
    """Append a micro-batch of a streaming query in one commit, unless it has landed before.

    The id of a query is unique, and it counts its micro-batches: so a commit that Delta skips has
    landed before, even if the topic's history does not reach back to it. FailedPrecondition if a
    later one of the query has landed. ``prepare``: returns the messages of a micro-batch that
    has not landed; without it the rows are messages.
    """
    idempotency_id, messages = (query_id, batch_id), tables.messages(topic.uid)
    publish_id = publish_id_of(idempotency_id)
    landed = False
    looks = topic.schema_settings is not None or prepare is not None
    if not looks or not has_landed(messages, idempotency_id):
        rows = frame if prepare is None else prepare(frame, batch_id)
        validator = validator_of(tables, topic)
        landed = _publish_frame(
            messages, rows, now, publish_id, idempotency_id, order_by, validator
        )
    if not landed:
        check_is_last(messages, topic.name, query_id, batch_id)
    check_received(tables, topic.name, topic.uid)


def check_is_last(messages: Messages, topic: str, query_id: str, batch_id: int) -> None:
    """Raise FailedPrecondition if a later micro-batch of a query has landed than the one it runs.

    Spark repeats the last micro-batch only. With an older copy of the checkpoint it plans earlier
    ones anew, perhaps with other rows. Delta skips them by their numbers, and would lose the rows.
    """
    last = messages.last_version_of(query_id)
    if last is not None and last > batch_id:
        raise FailedPrecondition(
            f"checkpoint: it is an older copy: micro-batch {last} of query {query_id} is published "
            f"to {topic}, and now the query runs micro-batch {batch_id}, perhaps with other rows; "
            "nothing of it was published: use the newest checkpoint of the query, or a new one"
        )


def check_received(tables: Tables, name: str, uid: str) -> None:
    """Raise NotFound if no subscription can get messages that have landed.

    Then the topic was deleted, and none of its subscriptions is attached. Where the registry cannot
    be read any more, the messages have landed all the same: an error would deny it.
    """
    try:
        is_received = tables.is_received(uid)
    except Exception:
        return
    if not is_received:
        raise NotFound(
            f"topic {name} was deleted meanwhile, and no subscription is left to get the "
            "messages; create the topic again and publish them again"
        )


_FIRST_PARTITIONS = 1024
"""Partitions of a DataFrame that positions are reserved for at first; Spark knows their number only
when it writes.
"""
_MOST_PARTITIONS = 1 << 20


def _publish_frame(
    messages: Messages,
    frame: DataFrame,
    now: datetime,
    publish_id: str,
    idempotency_id: tuple[str, int] | None,
    order_by: str | None,
    validator: SchemaValidator | None,
) -> bool:
    """Check and write a DataFrame in one pass; return whether it was written now.

    Each partition gets a range of positions. If the DataFrame has more partitions than ranges,
    nothing is written, and it is computed again with more ranges.
    """
    from pubsub_delta.tables.lanes.spark import publishing  # this is what needs Spark

    rows = publishing.conformed(frame, order_by)
    partitions = _FIRST_PARTITIONS
    while True:
        try:
            return repeat_on_conflict(
                partial(
                    messages.append_frame,
                    rows,
                    now,
                    publish_id,
                    idempotency_id,
                    partitions,
                    validator,
                ),
                "publish",
            )
        except publishing.TooManyPartitions:
            if partitions >= _MOST_PARTITIONS:
                raise InvalidArgument(
                    f"messages: the DataFrame has more than {partitions:,} partitions; coalesce "
                    "it to fewer"
                ) from None
            partitions = min(32 * partitions, _MOST_PARTITIONS)


def _has_bytes(text: str, least: int, most: int) -> bool:
    """Return whether a text can be written as UTF-8, in ``least`` to ``most`` bytes."""
    try:
        return least <= len(text.encode()) <= most
    except UnicodeEncodeError:
        return False


def publish_id_of(idempotency_id: tuple[str, int]) -> str:
    """Return the publish id that an idempotency id stands for; InvalidArgument if it is none."""
    valid = isinstance(idempotency_id, tuple) and len(idempotency_id) == 2
    if valid:
        application, version = idempotency_id
        valid = isinstance(application, str) and _has_bytes(application, 1, 256)
        valid = valid and not application.startswith(OWN)
        valid = valid and type(version) is int and 0 <= version < 2**63
    if not valid:
        raise InvalidArgument(
            f"idempotency_id: {idempotency_id!r}; (application id, version) is accepted: a text of "
            f"1 to 256 bytes that does not begin with {OWN!r}, and a whole number from 0"
        )
    return f"{application}:{version}"


def has_landed(messages: Messages, idempotency_id: tuple[str, int] | None) -> bool:
    """Return whether an earlier attempt is known to have landed: the schema may refuse it by now.

    The table knows the last of each application at once, also where its history has forgotten it.
    The history, which can be long, is read for an earlier one.
    """
    if idempotency_id is None:
        return False
    publish_id, (application, version) = publish_id_of(idempotency_id), idempotency_id
    last = messages.last_version_of(application)
    if last is None or last <= version:
        return last == version
    return messages.history.published_as(publish_id) is not None


def earlier(
    messages: Messages,
    publish_id: str,
    idempotency_id: tuple[str, int],
    has_messages: Callable[[], bool] = lambda: True,
) -> PublishResult:
    """Return the result of an earlier attempt of an idempotent publish.

    Delta skips a version that is not above the application's last one. FailedPrecondition if that
    version was another publish, or an operator has restored the topic as it was before it: then the
    messages are not published. So it is if that version was a DataFrame without rows, as of an
    input that had not arrived yet, and this attempt ``has_messages``.
    """
    commit, (application, version) = messages.history.published_as(publish_id), idempotency_id
    if commit is not None and _is_taken_back(messages, commit):
        raise FailedPrecondition(
            f"idempotency_id: version {version} of {application!r} was published, its messages are "
            "not stored any more, and the topic was restored since; nothing was published now: use "
            "a higher version, or another application id, to publish them again"
        )
    if commit is not None and _had_no_messages(messages, commit) and has_messages():
        raise FailedPrecondition(
            f"idempotency_id: version {version} of {application!r} was published without messages, "
            "by a DataFrame that had no rows; nothing was published now: use a higher version, or "
            "another application id, to publish these messages"
        )
    if commit is None and not messages.was_last_of(idempotency_id):
        raise FailedPrecondition(
            f"idempotency_id: version {version} of {application!r} is not above the last version "
            "that was published, and the topic's history does not have it; nothing was published "
            "now: unless it was published before that history begins, use a higher version, or "
            "another application id"
        )
    return PublishResult(messages, commit.publish_time if commit else None, publish_id)


def _has_messages(what: object) -> bool:
    """Return whether a publish has messages: only a DataFrame may have none."""
    return not (is_dataframe(what) and what.isEmpty())


def _had_no_messages(messages: Messages, publish: Commit) -> bool:
    """Return whether a publish had no messages, and has not merely lost them since."""
    if publish.message_count:
        return False
    later = messages.history.commits_after(publish.version)
    return not later.may_lack_messages and not messages.positions_of(publish)


def _is_taken_back(messages: Messages, publish: Commit) -> bool:
    """Return whether the topic was restored after a publish, and none of its messages is stored."""
    later = messages.history.commits_after(publish.version)
    if not any(each.restores for each in later.commits):
        return False
    return not messages.positions_within(messages.positions_of(publish))
