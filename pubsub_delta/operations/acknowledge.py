"""Acknowledge messages, and modify their ack deadline: zero seconds is a nack."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from pubsub_delta.delivery.sources import source
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.ids import Ids
from pubsub_delta.names import ResourceName
from pubsub_delta.policy import delivery, replay
from pubsub_delta.policy.ack_ids import AckId, parse_ack_id
from pubsub_delta.policy.ack_state import AckState
from pubsub_delta.policy.delivery import Outcomes
from pubsub_delta.policy.fields import check_new_deadline
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import AckResult, Subscription
from pubsub_delta.session import is_dataframe
from pubsub_delta.tables.arrow_types import is_text
from pubsub_delta.tables.store import Tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SHOWN = 100
"""Characters of an invalid ack id that an error shows."""


@dataclass(frozen=True)
class AckTargets:
    """The messages that a call names: positions by lease, and the invalid ack ids.

    ``subscription_uid``: the subscription of the leases. A later subscription of the same name has
    other leases.
    """

    subscription_uid: str
    positions: Mapping[int, Positions]
    malformed: Ids = field(default_factory=lambda: Ids.of(()))


AckIds: TypeAlias = "DataFrame | pa.Table | pa.Array | pa.ChunkedArray | Iterable[str] | AckTargets"


def acknowledge(tables: Tables, name: ResourceName, ack_ids: AckIds, now: datetime) -> AckResult:
    """Acknowledge deliveries. A repeated ack is a success, except with exactly-once delivery."""
    return _apply(tables, name, ack_ids, now, deadline=None)


def modify_ack_deadline(
    tables: Tables,
    name: ResourceName,
    ack_ids: AckIds,
    ack_deadline_seconds: int,
    clock: Callable[[], datetime],
) -> AckResult:
    """Set the deadline of deliveries, in seconds from now; 0 ends their lease (a nack).

    ``clock``: returns the time. The new deadline counts from when it is decided, for leases that
    were live at the call: Spark's read of ack ids, or a wait for another process, can take longer.
    """
    deadline, now = check_new_deadline(ack_deadline_seconds), clock()

    def from_now() -> timedelta:
        return deadline + max(clock() - now, timedelta(0)) if deadline else deadline

    return _apply(tables, name, ack_ids, now, from_now)


def give_back(tables: Tables, name: ResourceName, targets: AckTargets, now: datetime) -> None:
    """Make leased messages available as if they had never been delivered: no delivery fails."""
    found = source(tables, name)
    if found.uid != targets.subscription_uid:  # that subscription was deleted meanwhile
        return

    def step(state: AckState) -> AckState:
        following = delivery.give_back(state, targets.positions, found.terms, now)
        return replay.note_activity(state, following, found.subscription, now)

    tables.ack_states.update(found.uid, step)


def _apply(
    tables: Tables,
    name: ResourceName,
    ack_ids: AckIds,
    now: datetime,
    deadline: Callable[[], timedelta] | None,
) -> AckResult:
    """Acknowledge deliveries, or give them a new deadline after ``now``, in one commit."""
    found = source(tables, name)
    targets = _read(ack_ids, found.subscription)
    if targets.subscription_uid != found.uid:  # that subscription was deleted meanwhile
        foreign = [_ids(targets.subscription_uid, targets.positions), targets.malformed]
        return AckResult(success=Ids.of(()), expired=Ids.of(()), invalid=Ids.chain(foreign))
    positions, malformed = targets.positions, len(targets.malformed)

    def decide(state: AckState) -> tuple[AckState, Outcomes]:
        if deadline is None:
            following, outcomes = delivery.acknowledge(
                state, positions, found.terms, now, malformed=malformed
            )
        else:
            following, outcomes = delivery.modify_ack_deadline(
                state, positions, found.terms, now, deadline()
            )
        return replay.note_activity(state, following, found.subscription, now), outcomes

    outcomes = tables.ack_states.change(found.uid, decide)
    return AckResult(
        success=_ids(found.uid, outcomes.success),
        expired=_ids(found.uid, outcomes.expired),
        invalid=Ids.chain([_ids(found.uid, outcomes.invalid), targets.malformed]),
    )


def _read(ack_ids: AckIds, subscription: Subscription) -> AckTargets:
    """Group ack ids by lease; InvalidArgument if there is none, or none is well-formed."""
    if isinstance(ack_ids, AckTargets):
        return ack_ids
    if isinstance(ack_ids, (str, bytes)):
        raise InvalidArgument(f"ack_ids: {ack_ids!r} is a single text; pass a list of ack ids")
    if is_dataframe(ack_ids):
        return _read_frame(ack_ids, subscription)
    if isinstance(ack_ids, (pa.Table, pa.RecordBatch)):
        ack_ids = _ack_id_column(ack_ids)
    given: Any = ack_ids
    if isinstance(given, (pa.Array, pa.ChunkedArray)):
        given = _texts(given)
    try:
        each = iter(given)
    except TypeError:
        raise _no_list(ack_ids) from None
    given = list(each)  # outside of the try: an error of a generator is raised as it is
    try:
        texts = list(dict.fromkeys(given))
    except TypeError:  # what cannot be hashed
        raise _no_list(ack_ids) from None
    parsed = {text: parse_ack_id(text) for text in texts}
    if not any(parsed.values()):
        raise _no_ack_id(texts, "the list is empty")
    found: dict[int, list[int]] = {}
    for ack_id in parsed.values():
        if ack_id is not None and ack_id.subscription_uid == subscription.uid:
            found.setdefault(ack_id.lease_id, []).append(ack_id.position)
    foreign = (
        str(text)
        for text, ack_id in parsed.items()
        if ack_id is None or ack_id.subscription_uid != subscription.uid
    )
    positions = {lease: Positions.of(each) for lease, each in found.items()}
    return AckTargets(subscription.uid, positions, Ids.of(foreign))


def _ack_id_column(table: pa.Table | pa.RecordBatch) -> pa.Array | pa.ChunkedArray:
    """Return the column of an Arrow table that holds the ack ids."""
    given = [column.type for column in table.schema if column.name == "ack_id"]
    if len(given) != 1 or pa.types.is_null(given[0]) or not is_text(given[0]):
        columns = ", ".join(f"{column.name} {column.type}" for column in table.schema)
        raise InvalidArgument(
            f"ack_ids: an Arrow table with columns {columns}; one STRING column 'ack_id' is needed"
        )
    return table.column("ack_id")


def _texts(ack_ids: pa.Array | pa.ChunkedArray) -> list[str | None]:
    """Return the texts of an Arrow array."""
    if not is_text(ack_ids.type):
        raise InvalidArgument(
            f"ack_ids: an Arrow array of {ack_ids.type}; one of string is accepted"
        )
    try:
        found: list[str | None] = ack_ids.to_pylist()
    except UnicodeDecodeError as error:
        raise InvalidArgument(
            f"ack_ids: a text of the Arrow array is not UTF-8 ({error.reason} at byte "
            f"{error.start}); pass the ack_id of messages that were pulled"
        ) from None
    return found


def _read_frame(frame: DataFrame, subscription: Subscription) -> AckTargets:
    """Fold a DataFrame's column ack_id into bitmaps on the executors."""
    from pubsub_delta.tables.lanes.spark import frames  # this is what needs Spark

    has_ack_ids = frames.has_ack_ids(frame)
    if frame.isStreaming:
        raise InvalidArgument(
            "ack_ids: a streaming DataFrame; a batch one is accepted, as foreachBatch gives"
        )
    if not has_ack_ids:
        columns = ", ".join(
            f"{column.name} {column.dataType.simpleString()}" for column in frame.schema
        )
        raise InvalidArgument(
            f"ack_ids: a DataFrame with columns {columns}; one STRING column 'ack_id' is needed"
        )
    found, foreign = frames.fold_ack_ids(frame, subscription.uid)
    if not found and not any(map(parse_ack_id, foreign)):
        raise _no_ack_id(foreign, "the DataFrame has no rows")
    return AckTargets(subscription.uid, found, Ids.of(text or "" for text in foreign))


def _no_list(ack_ids: object) -> InvalidArgument:
    return InvalidArgument(
        f"ack_ids: {ack_ids!r} is not a list of strings; pass a list of ack ids, or a DataFrame "
        "with a column 'ack_id'"
    )


def _no_ack_id(given: Sequence[object], none: str) -> InvalidArgument:
    first = f"{_shortened(repr(given[0]))} is not an ack id" if given else none
    others = f", nor is any other of {len(given):,}" if len(given) > 1 else ""
    return InvalidArgument(
        f"ack_ids: {first}{others}; pass the ack_id of messages that were pulled"
    )


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _ids(subscription_uid: str, positions: Mapping[int, Positions]) -> Ids:
    """Return the ack ids of positions by lease; each id is made when it is read."""

    def part(lease_id: int, chosen: Positions) -> Ids:
        return Ids(
            len(chosen),
            lambda: (str(AckId(subscription_uid, lease_id, each)) for each in chosen),
        )

    return Ids.chain(part(lease_id, chosen) for lease_id, chosen in positions.items())
