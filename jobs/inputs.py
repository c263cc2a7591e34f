"""What the publishing jobs share: which inputs they read, and how rows become messages."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pubsub_delta import AlreadyExists, InvalidArgument, PubSub

FORMATS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json"}


def format_of(path: str) -> str:
    """Return the format of an input by what its name ends in, else Delta or Parquet."""
    ending = FORMATS.get(Path(path.rstrip("/")).suffix)
    return ending or ("delta" if (Path(path) / "_delta_log").is_dir() else "parquet")


def require(rows: DataFrame, columns: list[str | None]) -> None:
    """Refuse columns that the input does not have."""
    for column in columns:
        if column is not None and column not in rows.columns:
            raise InvalidArgument(
                f"column {column!r} is not in the input; it has {', '.join(rows.columns)}"
            )


def create_unless_there(store: PubSub, topic: str) -> None:
    """Create a topic, or take the one that is there."""
    with suppress(AlreadyExists):
        store.create_topic(topic)


def as_messages(
    rows: DataFrame, data: str | None, attributes: tuple[str, ...], ordering_key: str | None
) -> DataFrame:
    """Make messages of rows; an attribute or key without value is left out."""
    payload = F.col(f"`{data}`") if data else F.to_json(F.struct("*"))
    columns = [payload.cast("binary").alias("data")]
    if attributes:
        pairs: list[Column] = []
        for name in attributes:
            pairs += [F.lit(name), F.col(f"`{name}`").cast("string")]
        present = F.map_filter(F.create_map(*pairs), lambda _, value: value.isNotNull())
        columns.append(present.alias("attributes"))
    if ordering_key:
        key = F.coalesce(F.col(f"`{ordering_key}`").cast("string"), F.lit(""))
        columns.append(key.alias("ordering_key"))
    return rows.select(*columns)
