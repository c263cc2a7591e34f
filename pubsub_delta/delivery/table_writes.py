"""Writes messages to the tables of subscriptions, each once, also if a process crashes.

The steps are those of ``policy.table_writes``. One commit of the table has the rows and the number
of their write, by which any process finds out whether they have landed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa

from pubsub_delta.delivery.leases import Lease
from pubsub_delta.delivery.schemas import typed_reader_of
from pubsub_delta.delivery.sources import Source
from pubsub_delta.delivery.sources import source as source_again
from pubsub_delta.delivery.unreadable import python_values
from pubsub_delta.errors import DataLoss, FailedPrecondition, InvalidArgument, NotFound
from pubsub_delta.names import subscription_name
from pubsub_delta.policy import table_writes
from pubsub_delta.policy.ack_state import AckState, Span, union
from pubsub_delta.policy.messages import size_of
from pubsub_delta.policy.positions import Positions
from pubsub_delta.policy.transactions import application_of
from pubsub_delta.resources import ReceivedMessage, Subscription
from pubsub_delta.table_config import TableConfig, TableState
from pubsub_delta.tables.lanes.retries import repeat_on_conflict
from pubsub_delta.tables.store import Tables
from pubsub_delta.tables.target_rows import RowConverter
from pubsub_delta.tables.targets import Outcome, Target, Unwritable

SLICE_MESSAGES = 10_000
SLICE_BYTES = 32_000_000
"""The most messages and bytes of one write; a larger message is written alone."""
_PROBE = 8
"""Messages that are read first, to measure them."""


@dataclass(frozen=True)
class Finished:
    """The number of messages that have landed, and why others have not."""

    count: int = 0
    problem: Exception | None = None


def row_converter(tables: Tables, subscription: Subscription, target: Target) -> RowConverter:
    """Return the converter of messages to rows; Unwritable if no message can fit."""
    converter = _converter(tables, subscription, target)
    wrong = converter.mismatch()
    if wrong is not None:
        raise Unwritable(TableState.SCHEMA_MISMATCH, wrong)
    return converter


def _converter(tables: Tables, subscription: Subscription, target: Target) -> RowConverter:
    config, typing = _config(subscription), None
    if config.use_topic_schema:
        topic = tables.registry.topic(subscription.topic)
        stored = tables.registry.source(subscription.name)
        is_later = topic is not None and stored is not None and stored[1] != topic.uid
        if topic is None or is_later:  # another topic may have the name of one that was deleted
            raise Unwritable(
                TableState.SCHEMA_MISMATCH,
                "the topic was deleted, and its schema settings with it",
            )
        try:
            typing = typed_reader_of(tables, topic)
            _ = typing.fields
        except FailedPrecondition as error:
            raise Unwritable(TableState.SCHEMA_MISMATCH, str(error)) from error
    return RowConverter(config, subscription.name, target.columns, typing, target.partition_columns)


def read_slice(lease: Lease) -> tuple[list[ReceivedMessage], Positions]:
    """Read the first messages of a lease, up to ``SLICE_BYTES``; return them and their positions.

    Positions without a message belong to messages that cannot be read.
    """
    left, room, largest = lease.positions, SLICE_BYTES, 0
    read: list[ReceivedMessage] = []
    while left and room > 0:
        wanted = left.first(max(1, room // largest) if largest else _PROBE)
        got = lease.receive(wanted, room)
        reached = wanted
        if got and len(got) < len(wanted - lease.set_aside.positions):
            reached = wanted.within(0, int(got[-1].message_id))
        sizes = [size_of(each) for each in got]
        largest = max([*sizes, largest, 1])
        read += got
        left, room = left - reached, room - sum(sizes)
        if reached != wanted:
            break
    return read, lease.positions - left


@dataclass(frozen=True)
class Prepared:
    """Rows of messages, converted for a table as it was then."""

    positions: Positions
    target: Target
    rows: pa.Table


def finish(
    tables: Tables, source: Source, state: AckState, prepared: Prepared | None = None
) -> Finished:
    """Complete the writes that were decided, the lowest number first, as far as it succeeds.

    It raises nothing: what was decided has landed, and so have the lease and the outcomes of that
    commit. ``prepared``: rows that were read and converted before.
    """
    count = 0
    waiting = table_writes.writes(state)
    try:
        while waiting:
            number = min(waiting)
            spans = waiting.pop(number)
            is_prepared = prepared is not None and prepared.positions == union(spans)
            at_hand = [prepared] if prepared is not None and is_prepared else []
            step = partial(_carry_out, tables, source, number, spans, at_hand)
            done = repeat_on_conflict(step, f"rows of {source.subscription.name}")
            following = tables.ack_states.update(source.uid, partial(done, number=number))
            if done is table_writes.renumbered:
                waiting = table_writes.writes(following)
            elif done is not table_writes.given_back:
                count += sum(map(len, spans))
    except Exception as problem:
        return Finished(count, problem)
    return Finished(count)


_Step = Callable[..., AckState]
"""Takes an ack state, and the ``number`` of a write; returns the next state."""


def _carry_out(
    tables: Tables, source: Source, number: int, spans: Sequence[Span], at_hand: list[Prepared]
) -> _Step:
    """Append the messages of a write unless they have landed; return the next step of their state.

    Conflict if another process was faster: the caller tries again, and finds the outcome.
    ``at_hand``: prepared rows for the first attempt.

    The subscription is read again, after the commit that found its messages: so what was published
    since it was deleted, detached or given another table is not written. NotFound or
    FailedPrecondition if it has ended.
    """
    name = subscription_name(source.subscription.name, "")
    subscription = source_again(tables, name, source.uid).subscription
    table, config = spans[0].forward_to, subscription.table_config
    assert table is not None
    written = partial(table_writes.written, retain=subscription.retain_acked_messages)
    key, write_id = (application_of(source.uid), number), _write_id(source, number, spans)
    is_wanted = config is not None and config.table == table
    if at_hand and is_wanted:
        prepared = at_hand.pop()
        if prepared.target.outcome(key, write_id) is None:
            prepared.target.append(prepared.rows, key, write_id)
            return written
    try:
        target = tables.target(table, takes_rows=is_wanted)
    except (Unwritable, DataLoss):
        if is_wanted:
            raise
        return table_writes.given_back  # nobody waits for a table that the subscription had before
    outcome = target.outcome(key, write_id)
    if outcome is Outcome.WRITTEN:
        return written
    if outcome is not None:
        cancelled = outcome is Outcome.CANCELLED
        return table_writes.given_back if cancelled else table_writes.renumbered
    current = replace(source, subscription=subscription)
    rows = _rows(tables, current, target, spans) if is_wanted else None
    if rows is None:
        try:
            target.cancel(key, write_id)
        except Unwritable:
            if is_wanted:
                raise
        return table_writes.given_back
    target.append(rows, key, write_id)
    return written


def _rows(tables: Tables, source: Source, target: Target, spans: Sequence[Span]) -> pa.Table | None:
    """Return the rows of messages; None if one of them no longer fits."""
    lease = Lease(tables.lanes, source, spans)
    messages = lease.receive(lease.positions, 2 * SLICE_BYTES)
    if len(messages) < len(lease.positions):
        return None
    try:
        made = row_converter(tables, source.subscription, target).rows(messages)
    except Unwritable:
        return None
    return None if made.unfit else made.rows


def reasons(tables: Tables, source: Source, rows: pa.Table) -> dict[int, str]:
    """Return why messages (with the columns of a topic) do not fit their table, by position.

    Messages that fit by now have no reason; no message has one if the table cannot be opened.
    """
    messages = [
        ReceivedMessage(
            ack_id="",
            message_id=str(row["position"]),
            publish_time=row["publish_time"],
            data=row["data"] or b"",
            attributes=dict(row["attributes"] or ()),
            ordering_key=row["ordering_key"] or "",
            delivery_attempt=None,
        )
        for row in python_values(rows)
        if row["publish_time"] is not None
    ]
    try:
        target = tables.target(_config(source.subscription).table)
        unfit = row_converter(tables, source.subscription, target).rows(messages).unfit
    except Unwritable as why:
        if why.state is not TableState.SCHEMA_MISMATCH:
            return {}
        return dict.fromkeys((int(each.message_id) for each in messages), str(why))
    except DataLoss:
        return {}
    return {int(messages[place].message_id): why for place, why in unfit.items()}


def table_state(tables: Tables, subscription: Subscription) -> tuple[TableState, str]:
    """Return whether messages of a subscription can be written to its table, and why not."""
    try:
        row_converter(tables, subscription, tables.target(_config(subscription).table))
    except Unwritable as why:
        return why.state, str(why)
    return TableState.ACTIVE, ""


def with_state(tables: Tables, subscription: Subscription) -> Subscription:
    """Return a subscription with the state of its table, if that can be read."""
    config = subscription.table_config
    if config is None:
        return subscription
    try:
        state = table_state(tables, subscription)[0]
    except Exception:  # a storage that does not respond must not hide the subscription
        return subscription
    return replace(subscription, table_config=replace(config, state=state))


def check(tables: Tables, subscription: Subscription) -> None:
    """Refuse a table_config whose table cannot be written to, as Pub/Sub does.

    NotFound if the table does not exist; InvalidArgument if its columns do not fit.
    """
    if subscription.table_config is None:
        return
    state, why = table_state(tables, subscription)
    if state is TableState.NOT_FOUND:
        raise NotFound(f"table_config.table: {why}")
    if state is not TableState.ACTIVE:
        raise InvalidArgument(f"table_config.table: {why}")


def cannot_pull(subscription: Subscription) -> FailedPrecondition:
    """Return the error for a pull from a subscription whose messages are written to a table."""
    return FailedPrecondition(
        f"subscription {subscription.name} writes its messages to the table "
        f"{_config(subscription).table!r}; clear its table_config to pull from it"
    )


def _config(subscription: Subscription) -> TableConfig:
    config = subscription.table_config
    assert config is not None
    return config


def _write_id(source: Source, number: int, spans: Sequence[Span]) -> str:
    """Return an id that identifies a write among others of the same number."""
    return f"{source.uid}.{number}.{digest(spans)}"


def digest(spans: Sequence[Span]) -> str:
    """Return a text that identifies the messages of spans."""
    positions = np.fromiter(union(spans), np.int64)
    return hashlib.blake2b(positions.tobytes(), digest_size=8).hexdigest()
