"""The tables of a store in memory, for the real operations: rows and versions, and no Spark.

What is stored is stored as rows, so that a process which starts anew reads everything again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import count
from typing import Any, cast

from pubsub_delta.errors import NotFound
from pubsub_delta.policy import delivery
from pubsub_delta.policy.ack_state import Absorbed, Span, union
from pubsub_delta.policy.filters import Filter, matches
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import Message, Subscription
from pubsub_delta.tables.ack_states import AckStates, Stored
from pubsub_delta.tables.ahead import Readers
from pubsub_delta.tables.history import Commit
from pubsub_delta.tables.messages import Messages
from pubsub_delta.tables.registry import Registry
from pubsub_delta.tables.state_rows import row_of_state, state_of_row
from pubsub_delta.tables.store import Source, Tables
from tests.model.memory_registry import MemoryRegistry
from tests.unit.builders import START, FakeTopic, KeysOf, at, committed


@dataclass
class World:
    """All that is stored, for every process that opens the store."""

    topics: dict[str, MemoryMessages] = field(default_factory=dict)
    registry: MemoryRegistry = field(default_factory=MemoryRegistry)
    ack_states: dict[str, dict[str, Any]] = field(default_factory=dict)
    ids: Iterator[int] = field(default_factory=lambda: count(1))

    def new_id(self) -> str:
        return f"{next(self.ids):032x}"


class MemoryTables(Tables):
    """The tables as one process sees them: what it wrote last it remembers."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.new_id = world.new_id
        self.registry = cast(Registry, world.registry)
        self.readers = Readers()
        self.ack_states = AckStates(MemoryPort(world.ack_states), world.new_id, lambda _: None)

    def messages(self, topic_uid: str) -> Messages:
        found = self.world.topics.setdefault(topic_uid, MemoryMessages())
        return cast(Messages, found)

    def prepare_to_read(self, source: Source) -> None:
        """Nothing need be prepared in memory."""

    def prepare_to_acknowledge(self, source: Source) -> None:
        """Nor this."""

    def source_of(self, subscription: Subscription, topic_uid: str) -> Source:
        return MemorySource(subscription, topic_uid, self.messages(topic_uid), self.registry)


@dataclass(frozen=True)
class MemorySource(Source):
    """A subscription whose ordering keys need not be read from a table."""

    @property
    def terms(self) -> delivery.Terms:
        contents = cast(MemoryMessages, self.messages).contents
        keys = {position: message.ordering_key for position, message in contents.items()}
        return delivery.Terms(self.subscription, KeysOf(keys))


class MemoryPort:
    """The compare-and-swap of ack states, each of them a row."""

    def __init__(self, rows: dict[str, dict[str, Any]]) -> None:
        self._rows = rows

    def create(self, uid: str, first: Stored) -> None:
        self._rows[uid] = _row_of(first)

    def read(self, uid: str) -> Stored:
        row = self._rows.get(uid)
        if row is None:
            raise NotFound(f"ack state {uid} is gone")
        return Stored(state_of_row(row, uid), row["revision"], row["recent_commits"])

    def replace(self, uid: str, following: Stored, expected_revision: int) -> bool:
        if self._rows[uid]["revision"] != expected_revision:
            return False
        self._rows[uid] = _row_of(following)
        return True

    @contextmanager
    def locked(self, uid: str, *, wait: bool = True) -> Iterator[None]:
        yield


def _row_of(stored: Stored) -> dict[str, Any]:
    fields = {"revision": stored.revision, "recent_commits": stored.recent_commits}
    return {**row_of_state(stored.state), **fields}


class MemoryMessages:
    """The messages of one topic and its history, as ``tables.messages`` tells them."""

    def __init__(self) -> None:
        self.stored = FakeTopic()
        self.contents: dict[int, Message] = {}
        self.commits: list[Commit] = []
        self.transactions: dict[str, int] = {}
        self.next_position = 0

    @property
    def history(self) -> MemoryMessages:
        return self

    def append(self, messages: Sequence[Message], publish_time: datetime) -> None:
        """Commit messages; their positions may have holes."""
        first = self.next_position
        self.next_position += len(messages) + len(self.commits) % 3
        positions = range(first, first + len(messages))
        self.contents.update(zip(positions, messages, strict=True))
        self.stored.publish(*positions, at=(publish_time - START).total_seconds())
        self._commit(publish_time, len(messages))

    def append_once(
        self, messages: Sequence[Message], now: datetime, transaction: tuple[str, int]
    ) -> None:
        """Commit messages unless that transaction, or a later one, has landed."""
        application, version = transaction
        if self.transactions.get(application, 0) < version:
            self.transactions[application] = version
            self.append(messages, now)

    def _commit(self, publish_time: datetime | None, added: int) -> None:
        deletes = publish_time is None
        self.commits.append(
            Commit(self.stored.version, publish_time, None, added, not deletes, deletes)
        )

    # Its history

    def version(self) -> int:
        return self.stored.version

    newest_version = version

    def commits_after(self, version: int) -> tuple[list[Commit], bool]:
        return [each for each in reversed(self.commits) if each.version > version], True

    def first_publish_after(self, version: int) -> tuple[datetime | None, bool]:
        stamps = [each.publish_time for each in self.commits_after(version)[0]]
        return min((stamp for stamp in stamps if stamp is not None), default=None), True

    # Its messages

    def create(self) -> None:
        pass

    def exists(self) -> bool:
        return True

    def absorb(
        self,
        after_version: int,
        commits: list[Commit],
        known: bool,
        filter_: Filter | None = None,
        earliest: datetime | None = None,
        before: datetime | None = None,
    ) -> list[Absorbed]:
        """Find what commits added: each by itself, or in one part if messages may have moved."""
        parts: dict[int, list[int]] = {}
        moved = any(each.moves_messages for each in commits)
        for position, published in self.stored.messages.items():
            time = at(published.published)
            timely = (earliest is None or earliest <= time) and (before is None or time < before)
            new = after_version < published.version <= commits[0].version
            if new and timely and matches(filter_, self.contents[position].attributes):
                parts.setdefault(0 if moved else published.version, []).append(position)
        times = {n: each.published for n, each in self.stored.messages.items()}
        return [
            committed(part, min(times[n] for n in part), max(times[n] for n in part))
            for part in parts.values()
        ]

    def published_within(
        self, earliest: datetime, latest: datetime
    ) -> tuple[Positions, datetime | None]:
        times = {n: at(each.published) for n, each in self.stored.messages.items()}
        found = {n: time for n, time in times.items() if earliest <= time <= latest}
        return Positions.of(found), min(found.values(), default=None)

    def passing(self, spans: Sequence[Span], filter_: Filter | None) -> Positions:
        wanted = (n for n in self.stored.messages if matches(filter_, self.contents[n].attributes))
        return union(spans) & Positions.of(wanted)

    def earliest(self, spans: Sequence[Span]) -> datetime | None:
        stored = self.stored.messages
        times = [at(stored[n].published) for n in union(spans) if n in stored]
        return min(times, default=None)

    def count(self) -> int:
        return len(self.stored.messages)

    def count_since(self, time: datetime) -> tuple[int, datetime | None]:
        times = [at(each.published) for each in self.stored.messages.values()]
        later = [each for each in times if each >= time]
        return len(later), min(later, default=None)

    def count_before(self, time: datetime, *, exact: bool) -> int:
        bound = _bound(time, exact=exact)
        return sum(at(each.published) < bound for each in self.stored.messages.values())

    def discard_before(self, time: datetime, after_version: int, *, exact: bool) -> bool:
        self.stored.delete_before(_bound(time, exact=exact))
        self._commit(None, 0)
        return True


def _bound(time: datetime, *, exact: bool) -> datetime:
    return time if exact else time.replace(hour=0, minute=0, second=0, microsecond=0)


def append_dead_letters(
    tables: Tables, source: Source, target: str, number: int, spans: Sequence[Span], now: datetime
) -> None:
    """Stand in for the append of a DataFrame (``tables.dead_letters._append``)."""
    contents = cast(MemoryMessages, source.messages).contents
    stored = cast(MemoryMessages, source.messages).stored.messages
    deliveries = {n: span.delivery_attempt - 1 for span in spans for n in span.positions}
    letters = [
        _letter(contents[n], source.subscription.name, deliveries[n], at(stored[n].published))
        for n in sorted(deliveries)
    ]
    messages = cast(MemoryMessages, tables.messages(target))
    messages.append_once(letters, now, (source.uid, number))


def _letter(message: Message, subscription: str, deliveries: int, published: datetime) -> Message:
    told = {
        "DeliveryCount": str(deliveries),
        "Subscription": subscription.split("/")[-1],
        "SubscriptionProject": subscription.split("/")[1],
        "TopicPublishTime": published.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    added: Mapping[str, str] = {f"CloudPubSubDeadLetterSource{k}": v for k, v in told.items()}
    return replace(message, attributes={**message.attributes, **added})
