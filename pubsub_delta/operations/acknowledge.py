"""Acknowledge, and modify_ack_deadline: what a consumer says of the messages it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql.types import StringType

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.names import ResourceName
from pubsub_delta.policy import delivery, replay
from pubsub_delta.policy.ack_ids import AckId, parse_ack_id
from pubsub_delta.policy.ack_state import AckState, State
from pubsub_delta.policy.delivery import Outcomes
from pubsub_delta.policy.fields import check_new_deadline
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import AckResult, Ids, Subscription
from pubsub_delta.tables.id_frames import MANY, fold_ids
from pubsub_delta.tables.store import Source, Tables

_SHOWN = 100
"""Characters of what is no ack id, in an error."""


@dataclass(frozen=True)
class Named:
    """The messages that a call is about: positions by lease, and the ids that name none."""

    positions: Mapping[int, Positions]
    malformed: Ids = field(default_factory=lambda: Ids.of(()))


AckIds = DataFrame | Iterable[str] | Named


def acknowledge(tables: Tables, name: ResourceName, ack_ids: AckIds, now: datetime) -> AckResult:
    """Acknowledge deliveries. A repeated ack is a success, but not with exactly-once delivery."""

    def decide(source: Source, named: Named, state: AckState) -> tuple[AckState, Outcomes]:
        return delivery.acknowledge(
            state, named.positions, source.terms, now, malformed=len(named.malformed)
        )

    return _apply(tables, name, ack_ids, now, decide)


def modify_ack_deadline(
    tables: Tables, name: ResourceName, ack_ids: AckIds, ack_deadline_seconds: int, now: datetime
) -> AckResult:
    """Give deliveries a new deadline, counted from now; 0 returns them at once (a nack)."""
    deadline = check_new_deadline(ack_deadline_seconds)

    def decide(source: Source, named: Named, state: AckState) -> tuple[AckState, Outcomes]:
        return delivery.modify_ack_deadline(state, named.positions, source.terms, now, deadline)

    return _apply(tables, name, ack_ids, now, decide)


def _apply(
    tables: Tables,
    name: ResourceName,
    ack_ids: AckIds,
    now: datetime,
    decide: Callable[[Source, Named, AckState], tuple[AckState, Outcomes]],
) -> AckResult:
    source = tables.source(name)
    named = _read(ack_ids, source.subscription, tables)

    def change(state: AckState) -> tuple[AckState, Outcomes]:
        following, outcomes = decide(source, named, state)
        return replay.used(state, following, source.subscription, now), outcomes

    outcomes = tables.ack_states.change(source.uid, change)
    return AckResult(
        success=_ids(source.subscription, outcomes.success),
        expired=_ids(source.subscription, outcomes.expired),
        invalid=Ids.chain([_ids(source.subscription, outcomes.invalid), named.malformed]),
    )


def _read(ack_ids: AckIds, subscription: Subscription, tables: Tables) -> Named:
    """Sort ack ids by lease; InvalidArgument where there is none, or none is well formed."""
    if isinstance(ack_ids, Named):
        return ack_ids
    if isinstance(ack_ids, (str, bytes)):
        raise InvalidArgument(f"ack_ids: {ack_ids!r} is a single text; pass a list of ack ids")
    if hasattr(ack_ids, "sparkSession") and hasattr(ack_ids, "schema"):
        leased = tables.ack_states.recent(subscription.uid).in_state(State.LEASED)
        many = sum(map(len, leased)) >= MANY
        return _read_frame(ack_ids, subscription, many=many)  # type: ignore[arg-type]
    try:
        texts = list(dict.fromkeys(ack_ids))
    except TypeError:
        raise InvalidArgument(
            f"ack_ids: {ack_ids!r} is no list of texts; pass a list of ack ids, or a DataFrame "
            "with a column 'ack_id'"
        ) from None
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
    return Named({lease: Positions.of(each) for lease, each in found.items()}, Ids.of(foreign))


def _read_frame(frame: DataFrame, subscription: Subscription, *, many: bool) -> Named:
    """Fold a DataFrame's column ack_id into bitmaps on the executors."""
    given = [column.dataType for column in frame.schema if column.name == "ack_id"]
    if len(given) != 1 or not isinstance(given[0], StringType):
        told = ", ".join(
            f"{column.name} {column.dataType.simpleString()}" for column in frame.schema
        )
        raise InvalidArgument(
            f"ack_ids: a DataFrame with columns {told}; one STRING column 'ack_id' is needed"
        )
    found, foreign = fold_ids(frame, subscription.uid, many=many)
    if not found and not any(map(parse_ack_id, foreign)):
        raise _no_ack_id(foreign, "the DataFrame has no rows")
    return Named(found, Ids.of(text or "" for text in foreign))


def _no_ack_id(given: Sequence[object], none: str) -> InvalidArgument:
    first = f"{_shortened(repr(given[0]))} is no ack id" if given else none
    others = f", nor is any other of {len(given):,}" if len(given) > 1 else ""
    return InvalidArgument(
        f"ack_ids: {first}{others}; pass the ack_id of messages that were pulled"
    )


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _ids(subscription: Subscription, positions: Mapping[int, Positions]) -> Ids:
    """Write ack ids out again, each when it is looked at."""

    def part(lease_id: int, chosen: Positions) -> Ids:
        return Ids(
            len(chosen),
            lambda: (str(AckId(subscription.uid, lease_id, each)) for each in chosen),
        )

    return Ids.chain(part(lease_id, chosen) for lease_id, chosen in positions.items())
