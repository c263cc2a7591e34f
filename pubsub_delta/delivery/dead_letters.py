"""Forwards exhausted messages to the dead-letter topic, each once, also if a process crashes.

Forwarding has three steps that can each be repeated. A commit of the ack state moves the messages
to a forwarding with a number of its own. They are appended to the dead-letter topic in a commit
that carries the number as a transaction, which lands once. Another commit acknowledges them. The
next consumer completes forwardings that are under way, in the order of their numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

import pyarrow as pa

from pubsub_delta.clock import rfc3339
from pubsub_delta.delivery import table_writes
from pubsub_delta.delivery.sources import Source
from pubsub_delta.delivery.unreadable import (
    LOST,
    STRAY,
    find_unreadable,
    positions_of,
    python_values,
)
from pubsub_delta.errors import DataLoss, counted, first_line
from pubsub_delta.names import subscription_name
from pubsub_delta.policy import redelivery
from pubsub_delta.policy.ack_state import AckState, Span, spans_within, union
from pubsub_delta.policy.messages import MAX_VALUE_BYTES
from pubsub_delta.policy.positions import Positions
from pubsub_delta.policy.transactions import application_of, publish_id_of_letters
from pubsub_delta.tables.lanes.protocol import TableMissing
from pubsub_delta.tables.lanes.retries import repeat_on_conflict
from pubsub_delta.tables.schemas import TEXT_BY_TEXT
from pubsub_delta.tables.store import Tables

GONE = "does not exist any more; create it, or set another dead_letter_policy"
UNREADABLE = "pubsub_delta_unreadable"
"""The attribute of a dead letter that says why its message could not be read."""
MOST_BYTES = 16_000_000
"""Bytes of dead letters in one commit; a larger message goes alone.

The process that forwards them takes several times as much memory.
"""
MOST_MESSAGES = 10_000
"""Dead letters in one commit."""
_MEASURED_FIRST = 8
_PREFIX = "CloudPubSubDeadLetterSource"


@dataclass(frozen=True)
class Forwarded:
    """The number of forwarded messages, and why others were not forwarded."""

    count: int = 0
    problem: str | None = None


def decide_forwarding(
    tables: Tables, source: Source, state: AckState
) -> tuple[AckState, str | None]:
    """Move exhausted messages to a forwarding; without a dead-letter topic return the problem."""
    policy = source.subscription.dead_letter_policy
    exhausted = redelivery.exhausted(state, source.subscription)
    if policy is None or not exhausted:
        return state, None
    topic = tables.registry.topic(policy.dead_letter_topic)
    why = GONE if topic is None else _why_not(tables, topic.uid)
    if topic is None or why is not None:
        count = sum(map(len, exhausted))
        return state, _not_forwarded(source, count, f"{policy.dead_letter_topic} {why}")
    parts = _parts(source, exhausted)
    return redelivery.decide_forwarding(state, source.subscription, topic.uid, parts), None


def _why_not(tables: Tables, topic_uid: str) -> str | None:
    """Return why a dead-letter topic takes no messages; None if it does.

    The subscriptions that forward to a damaged one go on with their other messages. One whose table
    is gone is damaged, unless it was deleted meanwhile.
    """
    messages = tables.messages(topic_uid)
    try:
        if messages.exists():
            return None
    except DataLoss as error:
        return _cannot_be_written(error)
    if tables.registry.topic_of_uid(topic_uid) is None:
        return GONE
    return _cannot_be_written(TableMissing(messages.table))


def _cannot_be_written(error: Exception) -> str:
    return f"cannot be written: {first_line(error)}"


def _parts(source: Source, spans: Sequence[Span]) -> list[Positions]:
    """Divide messages into parts that each fit into memory.

    A few are measured first; their size decides how many are measured next.
    """
    left, found, size, most = union(spans), [Positions()], 0, _MEASURED_FIRST
    if len(left) <= _MEASURED_FIRST:
        return [left]
    while left:
        next_ones = left.first(most)
        measured = _bytes_of(source, spans, next_ones)
        if measured > MOST_BYTES and len(next_ones) > 1:
            most = len(next_ones) // 2
            continue
        together = len(found[-1]) + len(next_ones)
        if found[-1] and (size + measured > MOST_BYTES or together > MOST_MESSAGES):
            found.append(Positions())
            size = 0
        found[-1] |= next_ones
        left, size = left - next_ones, size + measured
        fitting = len(next_ones) * MOST_BYTES // (4 * max(measured, 1))
        most = min(max(fitting, 1), 4 * len(next_ones), max(MOST_MESSAGES // 4, 1))
    return found


def _bytes_of(source: Source, spans: Sequence[Span], positions: Positions) -> int:
    try:
        return source.messages.byte_count(spans_within(spans, positions))
    except Exception:  # unreadable messages are reported when they are forwarded
        return 0


def forward(tables: Tables, source: Source, now: datetime) -> Forwarded:
    """Append messages under forwarding to the dead-letter topic, and acknowledge them here.

    A dead-letter topic that was deleted meanwhile gets them if it still has a subscription, as
    another process may have appended them already. Without one they become available again. If
    other messages have used the number, these get a higher one, and are appended under that.
    Messages that cannot be read hold up no others, nor does a topic that cannot be written hold up
    what goes to another one.
    """
    count, problem, unwritable = 0, None, set[str]()
    forwarded = partial(redelivery.forwarded, retain=source.subscription.retain_acked_messages)
    waiting = redelivery.forwardings(tables.ack_states.read(source.uid))
    while waiting:
        number = min(waiting)
        spans = waiting.pop(number)
        messages = sum(map(len, spans))
        target = spans[0].forward_to
        assert target is not None
        if target in unwritable:
            continue
        done: Callable[..., AckState] = forwarded
        try:
            takes_any = tables.is_received(target)
            landed = takes_any and _append(tables, source, target, number, spans, now)
        except _CannotBeRead as error:
            problem = f"{_could_not_be_forwarded(source, messages)}: {error}"
            continue
        except Exception as error:
            topic = tables.registry.topic_of_uid(target)
            name = "that was deleted" if topic is None else topic.name
            why = f"{name} {_cannot_be_written(error)}"
            problem = _not_forwarded(source, messages, why)
            unwritable.add(target)
            continue
        if takes_any and not landed:
            step = partial(redelivery.renumbered, number=number)
            waiting = redelivery.forwardings(tables.ack_states.update(source.uid, step))
            continue
        if landed and tables.is_received(target):
            count += messages
        else:  # perhaps deleted meanwhile: nobody can get what was appended
            done, problem = redelivery.give_back, _not_forwarded(source, messages, GONE)
        tables.ack_states.update(source.uid, partial(done, number=number))
    return Forwarded(count, problem)


class _CannotBeRead(Exception):
    """The messages of a forwarding cannot be read from their own topic."""


def _append(
    tables: Tables, source: Source, target: str, number: int, spans: Sequence[Span], now: datetime
) -> bool:
    """Append dead letters; return whether they have landed, now or before.

    Delta skips them where other messages have landed under that number, or a higher one. That
    happens after an operator has restored an earlier ack state. The commit of these tells which it
    is, or, where the log does not have it any more, the last number that was used.
    """
    messages = tables.messages(target)
    try:
        letters = _letters(tables, source, spans)
    except Exception as error:
        raise _CannotBeRead(first_line(error)) from error
    publish_id = publish_id_of_letters(source.uid, number, table_writes.digest(spans))
    transaction = application_of(source.uid), number
    landed = repeat_on_conflict(
        lambda: messages.append(letters, now, publish_id, transaction),
        f"dead letters of {source.subscription.name}",
    )
    history = messages.history
    if landed is not None or history.published_as(publish_id) is not None:
        return True
    return not history.has_all_commits() and messages.was_last_of(transaction)


def _letters(tables: Tables, source: Source, spans: Sequence[Span]) -> pa.Table:
    """Return messages with the attributes of dead letters, which name their source.

    Pub/Sub: an attribute says why a message could not be written to a table. A message that cannot
    be read is forwarded in its readable parts, with an attribute that names the fault.
    """
    own_name = subscription_name(source.subscription.name, project="")
    subscription_names = {"Subscription": own_name.id, "SubscriptionProject": own_name.project}
    rows, wrong, lost = _stored(source, spans)
    write_errors = dict[int, str]()
    if source.subscription.table_config is not None:
        write_errors = table_writes.reasons(tables, source, rows)

    def attributes(row: dict[str, Any]) -> list[tuple[str, str]]:
        position, time = row["position"], row["publish_time"]
        attempt = next(s.delivery_attempt for s in spans if position in s.positions)
        added = {"DeliveryCount": str(attempt - 1), **subscription_names}
        if time is not None:
            added["TopicPublishTime"] = rfc3339(time)
        if position in write_errors:
            added["DeliveryErrorMessage"] = _shortened(write_errors[position], MAX_VALUE_BYTES)
        named = {f"{_PREFIX}{name}": value for name, value in added.items()}
        if position in wrong:
            named[UNREADABLE] = f"message {position}: {wrong[position]}"
        return [*{**dict(row["attributes"] or ()), **named}.items()]

    described = python_values(rows.select([name for name in rows.column_names if name != "data"]))
    nothing = {"publish_time": None, "attributes": (), "ordering_key": ""}
    described += [{"position": position, **nothing} for position in lost]
    return pa.table(
        {
            "data": pa.chunked_array(
                [*rows["data"].chunks, pa.array([b""] * len(lost), rows["data"].type)]
            ),
            "attributes": pa.array([attributes(row) for row in described], TEXT_BY_TEXT),
            "ordering_key": pa.array([row["ordering_key"] for row in described], pa.string()),
        }
    )


def _stored(source: Source, spans: Sequence[Span]) -> tuple[pa.Table, dict[int, str], Positions]:
    """Return stored messages, why some of them cannot be read, and which are lost."""
    rows, lost, wrong = source.messages.rows(spans), Positions(), dict[int, str]()
    held = union(spans)
    if rows.num_rows < len(held):
        missing = held - positions_of(rows)
        stray = source.messages.rows_at(missing)
        lost = missing - positions_of(stray)
        wrong = {**dict.fromkeys(missing, STRAY), **dict.fromkeys(lost, LOST)}
        rows = pa.concat_tables([rows, stray]).sort_by("position")
    for place, why in find_unreadable(rows).items():
        wrong[rows["position"][place].as_py()] = why
    return rows, wrong, lost


def _shortened(text: str, size: int) -> str:
    """Return the beginning of a text, of at most ``size`` bytes."""
    return text.encode()[:size].decode(errors="ignore")


def _not_forwarded(source: Source, count: int, why: str) -> str:
    what = _could_not_be_forwarded(source, count)
    return f"{what}, and nothing is lost: the dead-letter topic {why}"


def _could_not_be_forwarded(source: Source, count: int) -> str:
    return f"{counted(count, 'message')} of {source.subscription.name} could not be forwarded"
