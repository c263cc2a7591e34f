"""Find messages: by time, id, key, attribute, text, JSON field or state, the newest first.

A search finds any stored message, with a subscription or without one. It leases and writes nothing.
It reads a topic a part at a time, so it has a progress and can be stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pubsub_delta.delivery.sources import source
from pubsub_delta.delivery.unreadable import python_values
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.names import subscription_name, topic_name
from pubsub_delta.policy.ack_ids import END_OF_POSITIONS
from pubsub_delta.policy.ack_state import Span, State, union
from pubsub_delta.policy.json_fields import WRITTEN_OTHERWISE, JsonField
from pubsub_delta.policy.message_queries import MessageQuery
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.lanes.scans import Window
from pubsub_delta.tables.messages.stored import StoredMessages
from pubsub_delta.tables.store import Tables

PART = 1 << 16
"""Positions that are searched at a time, at most."""
_PART_BYTES = 1 << 25
"""Compressed bytes of files that are searched at a time, about."""
_LEAST = 256
_MOST_EMPTY = 4
"""How many times as many parts by position as by message are searched."""
UNACKED = frozenset(state.value for state in State) - {State.ACKED.value, State.RETAINED.value}
"""The states of unacknowledged messages."""
KEPT = frozenset({State.ACKED.value, State.RETAINED.value})
"""The states of acknowledged messages that may return."""


@dataclass(frozen=True)
class FoundMessage:
    """A message that was found.

    ``data``: the first bytes of the data; ``data_size``: the size of all of it. ``state``: None for
    a message without a state; ``delivery_attempt``: None without a dead-letter policy.
    """

    message_id: str
    publish_time: datetime | None
    data: bytes
    data_size: int
    attributes: dict[str, str]
    ordering_key: str
    state: str | None
    delivery_attempt: int | None


@dataclass
class MessageSearch:
    """A search.

    ``topic_uid``: the searched topic. ``progress``: the searched part of it, from 0 to 1.
    ``version``: the version of its table at the start of the search, which finds all messages until
    then, and perhaps later ones.
    """

    topic_uid: str
    _messages: StoredMessages
    _query: MessageQuery
    _spans: Sequence[Span] = ()
    _is_counted: bool = False
    progress: float = field(default=0.0, init=False)
    version: int = field(default=-1, init=False)

    def rows(self, is_stopped: Callable[[], bool] = lambda: False) -> Iterator[pa.Table]:
        """Yield the messages that match as rows with the columns of a message, the newest first.

        It ends early when ``is_stopped`` returns true.
        """
        held = self._in_states()
        self.version = self._messages.history.version()
        if self._query.after_version is not None:
            added = self._added_after(self._query.after_version)
            held = added if held is None else held & added
        ranges = _ranges(self._messages, self._query, held)
        total = max(1, sum(each.reads for each in ranges))
        for number, part in enumerate(part for each in ranges for part in each.parts()):
            if is_stopped():
                return
            self.progress = min(number / total, 1.0)
            positions = held
            if part is not None:
                positions = Positions.between(*part)
                if held is not None:
                    positions &= held
            if positions is not None and not positions:
                continue
            window = Window(positions, self._query.earliest, self._query.latest)
            found = _matching(self._messages.rows_within(window), self._query)
            for end in range(found.num_rows, 0, -_AT_ONCE):
                start = max(0, end - _AT_ONCE)
                yield found.take(pa.array(range(end - 1, start - 1, -1)))
        self.progress = 1.0

    def messages(
        self, *, max_bytes: int = 4096, is_stopped: Callable[[], bool] = lambda: False
    ) -> Iterator[FoundMessage]:
        """Yield the messages that match, the newest first, with ``max_bytes`` of their data."""
        for rows in self.rows(is_stopped):
            for row in python_values(rows):
                yield self._found_message(row, max_bytes)

    def state_of(self, position: int) -> tuple[str | None, int | None]:
        """Return the state of a message, and its delivery attempt if that is counted."""
        span = next((each for each in self._spans if position in each.positions), None)
        if span is None:
            return None, None
        return span.state.value, span.delivery_attempt if self._is_counted else None

    def publish_id_of(self, message: FoundMessage) -> str | None:
        """Return the id of the publish that wrote a message; None if the log does not tell it."""
        time = message.publish_time
        if time is None:
            return None
        commits = self._messages.history.publishes_within(time, time) or ()
        position = int(message.message_id)
        found = (c for c in commits if c.first_position <= position < c.end_position)
        return next((each.publish_id for each in found), None)

    def _in_states(self) -> Positions | None:
        """Return the messages in the states of the query; None if it has no states."""
        states = self._query.states
        if states is None:
            return None
        return union(span for span in self._spans if span.state.value in states)

    def _added_after(self, version: int) -> Positions:
        """Return the messages that were committed after a version of the topic's table."""
        if version > self.version:
            raise InvalidArgument(
                f"after_version: {version} is after the topic's version, {self.version}; the "
                "topic may have been restored; leave after_version out"
            )
        new = self._messages.history.commits_after(version)
        if not new.is_complete:
            raise InvalidArgument(
                f"after_version: {version}; the topic's log begins after this version; leave "
                "after_version out"
            )
        return Positions.union(part.positions for part in self._messages.absorb(new))

    def _found_message(self, row: dict[str, Any], max_bytes: int) -> FoundMessage:
        data = row["data"] or b""
        state, attempt = self.state_of(row["position"])
        return FoundMessage(
            message_id=str(row["position"]),
            publish_time=row["publish_time"],
            data=data[:max_bytes],
            data_size=len(data),
            attributes=dict(row["attributes"] or ()),
            ordering_key=row["ordering_key"] or "",
            state=state,
            delivery_attempt=attempt,
        )


_AT_ONCE = 1_000
"""Matching rows that are returned at a time."""


def search(
    tables: Tables, name: str, query: MessageQuery, project: str, now: datetime
) -> MessageSearch:
    """Return a search among the messages of a topic, or of a subscription's topic."""
    if not isinstance(query, MessageQuery):
        raise InvalidArgument(f"query: {query!r} is not a MessageQuery; one or None is accepted")
    kind = name.split("/")[2] if isinstance(name, str) and name.count("/") == 3 else ""
    if kind == "topics":
        if query.states is not None:
            raise InvalidArgument(
                "states: messages of a topic have no state; search a subscription by states"
            )
        uid = tables.topic(topic_name(name, project)).uid
        return MessageSearch(uid, tables.messages(uid), query)
    if kind != "subscriptions":
        raise InvalidArgument(
            f"name: {name!r} is not a full name; one of a topic or a subscription is accepted, "
            "such as projects/local/topics/flights"
        )
    found = source(tables, subscription_name(name, project))
    state = found.catch_up(tables.ack_states.read(found.uid), now)
    is_counted = found.subscription.dead_letter_policy is not None
    return MessageSearch(found.topic_uid, found.messages, query, state.spans, is_counted)


@dataclass(frozen=True)
class _Range:
    """Neighbouring positions to search: those of some files that overlap.

    ``size``: how many positions, or messages, are searched at a time. ``rows``: how many messages
    the files have.
    """

    messages: StoredMessages
    low: int
    high: int
    size: int
    rows: int

    @property
    def reads(self) -> int:
        """About how many parts it has."""
        by_message = self.rows // self.size + 1
        return by_message if self._is_sparse else (self.high - self.low) // self.size + 1

    @property
    def _is_sparse(self) -> bool:
        """Whether most of its parts by position would be empty, and each would take a read.

        OPTIMIZE joins files of DataFrames, whose partitions have millions of positions each.
        """
        return (self.high - self.low) // self.size > _MOST_EMPTY * (self.rows // self.size + 1)

    def parts(self) -> Iterator[tuple[int, int] | None]:
        """Yield its parts, the highest first; if it is sparse, read the positions of its files."""
        if not self._is_sparse:
            for end in range(self.high, self.low - 1, -self.size):
                yield max(self.low, end - self.size + 1), end
            return
        window = Window(Positions.between(self.low, self.high))
        stored = self.messages.scans(Window()).fold(self.messages.table, window)
        yield from _filled(stored, self.size)

    def joined(self, other: _Range) -> _Range:
        """Return the range of both, which overlap: the other one does not begin earlier."""
        return _Range(
            self.messages,
            self.low,
            max(self.high, other.high),
            min(self.size, other.size),
            self.rows + other.rows,
        )


@dataclass(frozen=True)
class _Everything:
    """All messages in one part, where the log has no statistics of a file."""

    reads: int = 1

    def parts(self) -> Iterator[None]:
        """Yield the part."""
        yield None


def _ranges(
    messages: StoredMessages, query: MessageQuery, held: Positions | None
) -> Sequence[_Range | _Everything]:
    """Return the ranges of positions to search, the highest first.

    ``held``: only these positions.
    """
    if held is not None and not held:
        return []
    if query.message_id is not None:
        lowest, highest = query.message_id, query.message_id
    else:
        lowest, highest = 0, END_OF_POSITIONS
    if query.before is not None:
        highest = min(highest, query.before - 1)
    if held is not None:
        lowest, highest = max(lowest, held.min), min(highest, held.max)
    ranges: list[_Range] = []
    files = messages.files()
    if any(each.position_min is None or each.position_max is None for each in files):
        return [_Everything()]
    for file in sorted(files, key=lambda each: each.position_min or 0):
        if query.earliest is not None and _is_before(file.publish_time_max, query.earliest):
            continue
        if query.latest is not None and _is_before(query.latest, file.publish_time_min):
            continue
        low = max(lowest, file.position_min or 0)
        high = min(highest, file.position_max or 0)
        if low > high:
            continue
        mean = max(1, file.size // max(1, file.rows or 1))
        size, rows = min(PART, max(_LEAST, _PART_BYTES // mean)), file.rows or 0
        found = _Range(messages, low, high, size, rows)
        if ranges and low <= ranges[-1].high:
            ranges[-1] = ranges[-1].joined(found)
        else:
            ranges.append(found)
    return ranges[::-1]


def _filled(stored: Positions, size: int) -> list[tuple[int, int]]:
    """Return the parts of so many messages that stored ones make, the highest first."""
    found: list[tuple[int, int]] = []
    while stored:
        part = stored.first(size)
        found.append((part.min, part.max))
        stored -= part
    return found[::-1]


def _is_before(time: datetime | None, other: datetime | None) -> bool:
    return time is not None and other is not None and time < other


def _matching(rows: pa.Table, query: MessageQuery) -> pa.Table:
    """Return the rows whose fields meet the conditions."""
    if query.message_id is not None:
        rows = rows.filter(pc.equal(rows["position"], query.message_id))
    if query.before is not None:
        rows = rows.filter(pc.less(rows["position"], query.before))
    if query.ordering_key is not None and rows.num_rows:
        rows = rows.filter(pc.equal(rows["ordering_key"], query.ordering_key))
    if query.attribute is not None and rows.num_rows:
        key, value = query.attribute
        found = pc.map_lookup(rows["attributes"].combine_chunks(), pa.scalar(key), "first")
        rows = rows.filter(pc.is_valid(found) if value is None else pc.equal(found, value))
    if query.text and rows.num_rows:
        rows = rows.filter(pc.match_substring(rows["data"], query.text))
    if query.json_field is not None and rows.num_rows:
        rows = _with_json_field(rows, JsonField(*query.json_field))
    return rows


def _with_json_field(rows: pa.Table, query: JsonField) -> pa.Table:
    """Return the rows whose data has a JSON field; only rows that can have it are parsed."""
    data = rows["data"]
    has_texts = pc.and_(
        pc.match_substring(data, query.name_text), pc.match_substring(data, query.value_text)
    )
    rows = rows.filter(pc.or_(has_texts, pc.match_substring_regex(data, WRITTEN_OTHERWISE)))
    found = [query.matches(each.as_py() or b"") for each in rows["data"]]
    return rows.filter(pa.array(found, pa.bool_()))
