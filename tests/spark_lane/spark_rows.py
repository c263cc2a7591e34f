"""Messages for the tests of the Spark lane."""

from __future__ import annotations

from datetime import datetime, timezone

import pyarrow as pa

from pubsub_delta.tables.schemas import (
    MESSAGES,
)

UTC = timezone.utc
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATE = datetime(2026, 1, 1, 23, 59, 59, 999_999, tzinfo=UTC)  # the evening before in New York
UID = "0" * 32
HOSTILE = 'it\'s \\ "quoted" ${x} {y} `z` \n é 😀 -- /*'


def messages(
    *positions: int,
    time: datetime = NOON,
    keys: tuple[str | None, ...] = (),
    attributes: dict[str, str] | None = None,
) -> pa.Table:
    count = len(positions)
    return pa.table(
        {
            "position": list(positions),
            "publish_date": [time.astimezone(UTC).date()] * count,
            "publish_time": [time] * count,
            "ordering_key": list(keys) or [""] * count,
            "attributes": [list((attributes or {}).items())] * count,
            "data": [f"m{each}".encode() for each in positions],
        },
        schema=MESSAGES.columns,
    )
