"""The independent checker: is what stands in the tables what the journal says that it must be?

It reads the tables by ``delta_log`` and decodes the bitmaps itself. Nothing of the project is
imported; the layout is that of docs/architecture.md.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pyroaring import BitMap64

from tests.trials import delta_log
from tests.trials.expected import Consumer, Model

_GONE = frozenset({"acked", "retained"})
_PREFIX = "CloudPubSubDeadLetterSource"
ATTEMPTS = 5
"""Delivery attempts before a message is forwarded."""


@dataclass(frozen=True)
class Message:
    """A stored message."""

    data: str
    stamp: int
    version: int
    source: str | None
    """Of a dead letter: the subscription that it was forwarded from."""


@dataclass(frozen=True)
class Held:
    """What an ack state holds, as positions."""

    unacked: BitMap64
    forwarding: BitMap64
    leased: BitMap64
    """Under a lease that is not over."""


@dataclass
class Stored:
    """What the tables of a store hold."""

    root: Path
    topics: dict[str, dict[str, Any]]
    subscriptions: dict[str, dict[str, Any]]
    snapshots: dict[str, dict[str, Any]]
    messages: dict[str, dict[int, Message]]
    """By the uid of the topic, and by position."""


def differences(root: Path, model: Model) -> list[str]:
    """Return in what a store contradicts a model; Damaged where its tables cannot be read."""
    stored = read(root)
    return [*model.problems, *_of_topics(stored, model), *_of_subscriptions(stored, model)]


def read(root: Path) -> Stored:
    """Read all tables of a store."""
    registry = {
        name: {_id(row["name"]): row for row in _rows(root / name)}
        for name in ("topics", "subscriptions", "snapshots")
    }
    registry["snapshots"] = {
        name: row for name, row in registry["snapshots"].items() if row["announced"] is None
    }
    messages = {
        row["uid"]: _messages(root / "messages" / row["uid"]) for row in registry["topics"].values()
    }
    return Stored(root, **registry, messages=messages)


def bitmap(span: Mapping[str, Any], where: str) -> BitMap64:
    """Decode the positions of a span; they must be as many as it says."""
    found = BitMap64.deserialize(span["positions"])
    if len(found) != span["message_count"]:
        raise delta_log.Damaged(f"{where}: {len(found)} positions, not {span['message_count']}")
    return found


def micros(time: datetime) -> int:
    """Return a time as microseconds since 1970."""
    aware = time if time.tzinfo else time.replace(tzinfo=timezone.utc)
    since = aware - datetime(1970, 1, 1, tzinfo=timezone.utc)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _rows(path: Path) -> list[dict[str, Any]]:
    return list(delta_log.read(path).rows()) if delta_log.exists(path) else []


def _messages(path: Path) -> dict[int, Message]:
    found: dict[int, Message] = {}
    table = delta_log.read(path)
    publishes = {version: json.loads(told) for version, told in table.told.items()}
    for row in table.rows():
        position = row["position"]
        if position in found:
            raise delta_log.Damaged(f"{path}: two messages at position {position}")
        versions = [
            version
            for version, told in publishes.items()
            if told["first_position"] <= position < told["end_position"]
        ]
        if len(versions) != 1:
            raise delta_log.Damaged(f"{path}: position {position} was given to {versions}")
        source = dict(row["attributes"] or ()).get(f"{_PREFIX}Subscription")
        found[position] = Message(
            row["data"].decode(), micros(row["publish_time"]), versions[0], source
        )
    return found


def _id(name: str) -> str:
    return name.rsplit("/", 1)[1]


def _of_topics(stored: Stored, model: Model) -> Iterable[str]:
    letters = {each.dead_letter_topic for each in model.consumers.values()}
    forwarded = {name: _forwarded(name, each, stored) for name, each in model.consumers.items()}
    for name, published in model.topics.items():
        row = stored.topics.get(name)
        if row is None:
            yield f"topic {name} is gone"
            continue
        if (row["delete_time"] is not None) != (name in model.deleted_topics):
            yield f"topic {name}: delete_time is {row['delete_time']}"
        found = list(stored.messages[row["uid"]].values())
        own = [message for message in found if message.source is None]
        times = Counter(message.data for message in own)
        yield from (f"{name}: {data} stands {n} times" for data, n in times.items() if n > 1)
        lost = published - times.keys()
        if lost and not (model.discards and not lost & model.needed(name, forwarded)):
            yield f"{name}: {sorted(lost)} were published, and are gone"
        if extra := times.keys() - published:
            yield f"{name}: {sorted(extra)} were not published"
        if any(model.stamps.get(message.data) != message.stamp for message in own):
            yield f"{name}: a publish_time is not that of the publish"
        if len(own) < len(found) and name not in letters:
            yield f"{name}: dead letters, though it is nobody's dead-letter topic"
    if extra := stored.topics.keys() - model.topics.keys():
        yield f"topics {sorted(extra)} were not created"


def _of_subscriptions(stored: Stored, model: Model) -> Iterable[str]:
    for name, consumer in model.consumers.items():
        row = stored.subscriptions.get(name)
        if row is None:
            yield f"subscription {name} is gone"
            continue
        messages = stored.messages[row["topic_uid"]]
        path = stored.root / "ack_state" / row["uid"]
        states = _rows(path)
        if len(states) != 1:
            yield f"{name}: its ack state has {len(states)} rows"
            continue
        held = _held(states[0], messages, model.now, f"{path}")
        yield from _of_subscription(name, consumer, held, stored, model, messages)
    if extra := stored.subscriptions.keys() - model.consumers.keys():
        yield f"subscriptions {sorted(extra)} should not be there"
    for name, (_, wanted) in model.snapshots.items():
        row = stored.snapshots.get(name)
        if row is None:
            yield f"snapshot {name} is gone"
            continue
        messages = stored.messages[row["topic_uid"]]
        copies = _rows(stored.root / "snapshot" / row["uid"])
        if len(copies) != 1:
            yield f"snapshot {name} has {len(copies)} rows"
            continue
        captured = copies[0]
        positions = _spans(captured["spans"], f"snapshot {name}")[0]
        positions |= _tail(messages, captured["after_version"], captured["floor"])
        if (found := _texts(positions, messages)) != wanted:
            yield f"snapshot {name} holds {sorted(found)}, not {sorted(wanted)}"
    if extra := stored.snapshots.keys() - model.snapshots.keys():
        yield f"snapshots {sorted(extra)} should not be there"


def _of_subscription(
    name: str,
    consumer: Consumer,
    held: Held,
    stored: Stored,
    model: Model,
    messages: Mapping[int, Message],
) -> Iterable[str]:
    stale = held.unacked - BitMap64(messages)
    if stale and not model.discards:
        yield f"{name}: no message stands at {list(stale)}"
    unacked = _texts(held.unacked - stale, messages)
    forwarding = _texts(held.forwarding, messages)
    wanted = model.wanted(name)
    letters = {each.dead_letter_topic for each in model.consumers.values()}
    if consumer.topic in letters:  # what was forwarded, nobody was told of
        wanted = {message.data for message in messages.values()} - consumer.acked
    unacked = {m for m in unacked if m in wanted or not model.is_old(m)}
    if twice := unacked & forwarding:
        yield f"{name}: {sorted(twice)} are available and being forwarded"
    forwarded = _forwarded(name, consumer, stored)
    if again := [m for m, n in forwarded.items() if n > 1]:
        yield f"{name}: {again} were forwarded more than once"
    if both := unacked & forwarded.keys():
        yield f"{name}: {sorted(both)} were forwarded, and are still to be delivered"
    if lost := wanted - unacked - forwarding - forwarded.keys():
        yield f"{name}: {sorted(lost)} are neither acknowledged nor deliverable"
    back = (unacked - wanted) | ((forwarding | forwarded.keys()) & consumer.acked)
    if back := {message for message in back if not model.is_old(message)}:
        yield f"{name}: {sorted(back)} were acknowledged, and are to be delivered again"
    for message in forwarding | forwarded.keys():
        if consumer.deliveries[message] + model.doubtful_pulls < ATTEMPTS:
            yield f"{name}: {message} was forwarded after {consumer.deliveries[message]} attempts"
    free = consumer.live(model.now) - _texts(held.leased, messages)
    if free:
        yield f"{name}: {sorted(free)} are under a lease, and may be leased again"


def _forwarded(name: str, consumer: Consumer, stored: Stored) -> Counter[str]:
    if consumer.dead_letter_topic is None:
        return Counter()
    target = stored.messages[stored.topics[consumer.dead_letter_topic]["uid"]]
    return Counter(message.data for message in target.values() if message.source == name)


def _held(row: Mapping[str, Any], messages: Mapping[int, Message], now: int, where: str) -> Held:
    """Tell what is unacknowledged: in a span, in the tail, or by a seek that is noted."""
    unacked, forwarding, leased, retained = _spans(row["spans"], where, now)
    after, floor = row["after_version"], row["floor"]
    for seek in row["seeks"] or ():
        captured = seek["captured"]
        if captured is not None:
            unacked = _spans(captured["spans"], where)[0]
            after, floor = captured["after_version"], captured["floor"]
            continue
        time = micros(seek["time"])
        known = unacked | retained
        known |= BitMap64(
            p for p in _tail(messages, after, floor) if messages[p].version <= seek["at_version"]
        )
        unacked = BitMap64(p for p in known if p in messages and messages[p].stamp >= time)
        after, floor = seek["at_version"], None
        if time > micros(seek["at"]):
            floor = seek["time"]
    return Held(unacked | _tail(messages, after, floor) - forwarding, forwarding, leased)


def _spans(
    spans: Iterable[Mapping[str, Any]], where: str, now: int = 0
) -> tuple[BitMap64, BitMap64, BitMap64, BitMap64]:
    """Return the positions unacknowledged, being forwarded, leased and retained; all disjoint."""
    everything, unacked, forwarding, leased, retained = (BitMap64() for _ in range(5))
    for span in spans or ():
        found = bitmap(span, where)
        if found & everything:
            raise delta_log.Damaged(f"{where}: a position stands in two spans")
        everything |= found
        if span["state"] == "forwarding":
            forwarding |= found
        elif span["state"] == "retained":
            retained |= found
        elif span["state"] not in _GONE:
            unacked |= found
        if span["state"] == "leased" and micros(span["until"]) > now:
            leased |= found
    return unacked, forwarding, leased, retained


def _tail(messages: Mapping[int, Message], after: int, floor: datetime | None) -> BitMap64:
    least = 0 if floor is None else micros(floor)
    return BitMap64(p for p, m in messages.items() if m.version > after and m.stamp >= least)


def _texts(positions: BitMap64, messages: Mapping[int, Message]) -> set[str]:
    return {messages[p].data if p in messages else f"position {p}" for p in positions}
