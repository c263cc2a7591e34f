"""Messages on both sides of every rule, for the two evaluators of the rules."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from pubsub_delta import Message
from pubsub_delta.policy import messages as rules

LARGEST = rules.MAX_MESSAGE_BYTES

MESSAGE_CASES: list[tuple[Message, str | None]] = [
    (Message(b"x"), None),
    (Message(b"", {"a": ""}), None),
    (Message(), rules.EMPTY),
    (Message(b"", {}, "key"), rules.EMPTY),
    (Message(b"x" * LARGEST), None),
    (Message(b"x" * (LARGEST + 1)), rules.TOO_LARGE),
    (Message(b"x" * (LARGEST - 2), {"k": "v"}), None),
    (Message(b"x" * (LARGEST - 1), {"k": "v"}), rules.TOO_LARGE),
    (Message(b"x" * (LARGEST - 2), {}, "é"), None),
    (Message(b"x" * (LARGEST - 1), {}, "é"), rules.TOO_LARGE),
    (Message(b"x", {f"k{n}": "v" for n in range(100)}), None),
    (Message(b"x", {f"k{n}": "v" for n in range(101)}), rules.TOO_MANY_ATTRIBUTES),
    (Message(b"x", {"k" * 256: "v"}), None),
    (Message(b"x", {"k" * 257: "v"}), rules.BAD_KEY),
    (Message(b"x", {"é" * 128: "v"}), None),
    (Message(b"x", {"é" * 129: "v"}), rules.BAD_KEY),
    (Message(b"x", {"": "v"}), rules.BAD_KEY),
    (Message(b"x", {"goo": "v", "xgoog": "v"}), None),
    (Message(b"x", {"googclient_traceparent": "v", "googclient_tracestate": "v"}), None),
    (Message(b"x", {"Goog": "v"}), rules.BAD_KEY),
    (Message(b"x", {"Googclient_traceparent": "v"}), rules.BAD_KEY),
    (Message(b"x", {**{f"k{n}": "v" for n in range(9)}, "GOOGle": "v"}), rules.BAD_KEY),
    (Message(b"x", {"a": "v", "google": "v"}), rules.BAD_KEY),
    (Message(b"x", {**{f"k{n}": "v" for n in range(9)}, "goog": "v"}), rules.BAD_KEY),
    (Message(b"x", {"k": "v" * 1024}), None),
    (Message(b"x", {"k": "v" * 1025}), rules.BAD_VALUE),
    (Message(b"x", {**{f"k{n}": "v" for n in range(5)}, "z": "v" * 1025}), rules.BAD_VALUE),
    (Message(b"x", {**{f"k{n}": "v" for n in range(9)}, "z": "v" * 1025}), rules.BAD_VALUE),
    (Message(b"x", {}, "k" * 1024), None),
    (Message(b"x", {}, "k" * 1025), rules.BAD_ORDERING_KEY),
    (Message(b"x", {}, "é" * 513), rules.BAD_ORDERING_KEY),
]
"""Each message with the first rule that it breaks, or None."""


def as_rows(spark: SparkSession, messages: list[Message]) -> DataFrame:
    """Return messages as rows, numbered."""
    return spark.createDataFrame(
        pa.table(
            {
                "number": pa.array(range(len(messages)), pa.int64()),
                "data": pa.array([m.data for m in messages], pa.binary()),
                "attributes": pa.array(
                    [list(m.attributes.items()) for m in messages],
                    pa.map_(pa.string(), pa.string()),
                ),
                "ordering_key": pa.array([m.ordering_key for m in messages], pa.string()),
            }
        )
    )
