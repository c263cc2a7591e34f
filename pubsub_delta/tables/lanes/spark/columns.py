"""The rules of ``policy`` as Spark columns: ack ids, filters, and the validation of messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import reduce
from operator import and_, or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pubsub_delta.clock import UTC, end_of_day, start_of_day, to_micros
from pubsub_delta.policy import ack_ids
from pubsub_delta.policy import messages as rules
from pubsub_delta.policy.filter_terms import And, Equals, Filter, Has, HasPrefix, Not, Or

UNROLLED_ATTRIBUTES = 6
"""The attributes that ``surely_valid`` checks; the JVM does not compile it with more than 12."""


def instant(time: datetime) -> Column:
    """Return a time as a TIMESTAMP, independent of the session's time zone."""
    return F.timestamp_micros(F.lit(to_micros(time)))


def published_between(earliest: datetime | None, latest: datetime | None) -> Column:
    """Return whether a message may have been published between two times, both included.

    The condition on the partition column lets Delta skip days, and then files. Of whole days it is
    the only one: reading and comparing a time takes half as long as a filter does. It is SQL
    because building it of columns takes many calls into the JVM, which are slower than parsing.
    """
    tests = []
    if earliest is not None:
        tests.append(f"publish_date >= {sql_day(earliest)}")
        if earliest != start_of_day(earliest):
            tests.append(f"publish_time >= {sql_instant(earliest)}")
    if latest is not None:
        tests.append(f"publish_date <= {sql_day(latest)}")
        if latest != end_of_day(latest):
            tests.append(f"publish_time <= {sql_instant(latest)}")
    return F.expr(" AND ".join(tests) or "true")


def sql_day(time: datetime) -> str:
    """Return the UTC day of a time in SQL, as ``publish_date`` has it."""
    return f"DATE'{time.astimezone(UTC).date().isoformat()}'"


def sql_instant(time: datetime) -> str:
    """Return a time as a TIMESTAMP in SQL, independent of the session's time zone."""
    return f"timestamp_micros({to_micros(time)})"


def message_bytes() -> Column:
    """Return the size of each message: data, attribute keys and values, ordering key.

    These bytes count for Pub/Sub's limit (``policy.messages``). Google also bills the message id,
    20 bytes for the timestamp, and at least 1000 bytes a request; they are not counted here.
    """
    texts = "octet_length(concat_ws('', map_keys(attributes), map_values(attributes)))"
    parts = ("length(data)", texts, "octet_length(ordering_key)")
    return F.expr(" + ".join(f"coalesce({part}, 0)" for part in parts)).cast("bigint")


def ack_id(subscription_uid: str, lease_id: int, position: Column) -> Column:
    """Return the ack id of each position, as ``str(AckId)`` writes it."""
    named = F.concat(F.lit(ack_ids.prefix(subscription_uid, lease_id)), position.cast("string"))
    return F.concat(named, F.lit("."), F.crc32(named.cast("binary")).cast("string"))


def value_of_span(values: Sequence[int | str]) -> Column:
    """Return the value at the index of each row's span (column ``span``)."""
    if len(set(values)) == 1:
        return F.lit(values[0])
    return F.element_at(F.array(*map(F.lit, values)), F.col("span") + 1)


def named_leases(subscription_uid: str, ids: DataFrame) -> DataFrame:
    """Parse the ack ids of a DataFrame (ack_id STRING, …), as ``parse_ack_id`` does.

    Returns (ack_id, lease BIGINT, position BIGINT). Lease and position are null for a text that is
    not an ack id of the subscription, such as one with leading zeros. Each step computes values
    that several conditions of the next step use.
    """
    parts = ids.select("ack_id", F.split("ack_id", r"\.").alias("parts"))
    lease, position = (
        F.expr(f"try_cast(get(parts, {place}) AS bigint)").alias(name)
        for place, name in ((1, "lease"), (2, "position"))
    )
    same_text = F.expr(
        "size(parts) = 4"
        " AND least(lease, position) >= 0"
        f" AND greatest(lease, position) < {ack_ids.END_OF_POSITIONS}"
        " AND cast(lease AS string) = get(parts, 1) AND cast(position AS string) = get(parts, 2)"
    )
    before_check = F.expr("octet_length(ack_id) - octet_length(get(parts, 3)) - 1")
    named = F.substring(F.col("ack_id").cast("binary"), F.lit(1), before_check)
    checked = F.crc32(named).cast("string") == F.get("parts", F.lit(3))
    genuine = (F.get("parts", F.lit(0)) == F.lit(subscription_uid)) & same_text & checked
    tested = parts.select("ack_id", "parts", lease, position).select(
        "ack_id", "lease", "position", genuine.alias("genuine")
    )
    return tested.select(
        "ack_id",
        *(F.when(F.col("genuine"), F.col(each)).alias(each) for each in ("lease", "position")),
    )


def never_null(name: str) -> Column:
    """Return a column of messages, with empty data, attributes or key in place of null.

    Publishers of DataFrames store null there, of a key only other writers. These can also store an
    attribute twice: the first value counts, as in ``matching``.
    """
    match name:
        case "data":
            return F.coalesce(name, F.lit(b"")).alias(name)
        case "attributes":
            empty = F.create_map().cast("map<string,string>")
            return F.coalesce(_first_values(), empty).alias(name)
        case "ordering_key":
            return F.coalesce(name, F.lit("")).alias(name)
    return F.col(name)


def _first_values() -> Column:
    """Return the attributes with the first value of a repeated key; null stays null."""
    return F.expr(
        "CASE WHEN size(attributes) < 2"
        " OR size(array_distinct(map_keys(attributes))) = size(attributes) THEN attributes"
        " ELSE map_from_entries(filter(map_entries(attributes), (pair, place) ->"
        " array_position(map_keys(attributes), pair.key) = place + 1)) END"
    )


def matching(filter_: Filter | None) -> Column:
    """Return whether each message passes a filter, as ``policy.filters.matches`` does."""
    match filter_:
        case None:
            return F.lit(True)
        case Has(key):
            return F.coalesce(F.map_contains_key("attributes", F.lit(key)), F.lit(False))
        case Equals(key, value):
            return F.coalesce(_attribute(key) == F.lit(value), F.lit(False))
        case HasPrefix(key, value):
            return F.coalesce(F.startswith(_attribute(key), F.lit(value)), F.lit(False))
        case Not(term):
            return ~matching(term)
        case And(terms):
            return reduce(and_, map(matching, terms))
        case Or(terms):
            return reduce(or_, map(matching, terms))


def _attribute(key: str) -> Column:
    return F.try_element_at("attributes", F.lit(key))


_TEXTS_ARE_UTF8 = "a key or value of an attribute is valid UTF-8"
_KEY_IS_UTF8 = "an ordering key is valid UTF-8"
_KEYS_ARE_DISTINCT = "no key of an attribute appears twice"
OF_FRAMES = {
    _TEXTS_ARE_UTF8: "attributes",
    _KEYS_ARE_DISTINCT: "attributes",
    _KEY_IS_UTF8: "ordering_key",
}
"""Rules that only a DataFrame can break, by column.

In Spark a STRING can hold any bytes, and a MAP that was read from a file can repeat a key.
"""


def violations_of_frames() -> Mapping[str, Column]:
    """Return, for each rule of ``OF_FRAMES``, whether a message breaks it."""
    keys = F.map_keys("attributes")
    texts = F.concat(keys, F.map_values("attributes"))
    broken = {
        _TEXTS_ARE_UTF8: F.exists(texts, lambda text: ~F.is_valid_utf8(text)),
        _KEYS_ARE_DISTINCT: F.size(F.array_distinct(keys)) < F.size(keys),
        _KEY_IS_UTF8: ~F.is_valid_utf8("ordering_key"),
    }
    return {rule: F.coalesce(wrong, F.lit(False)) for rule, wrong in broken.items()}


def violations() -> Mapping[str, Column]:
    """Return, for each rule of ``policy.messages``, whether a message breaks it."""
    keys, values = F.map_keys("attributes"), F.map_values("attributes")
    data_bytes = F.coalesce(F.length("data"), F.lit(0))
    key_bytes = F.coalesce(F.octet_length("ordering_key"), F.lit(0))
    count = F.coalesce(F.size("attributes"), F.lit(0))
    text_bytes = F.aggregate(
        F.concat(keys, values),
        F.lit(0).cast("bigint"),
        lambda total, text: total + F.coalesce(F.octet_length(text), F.lit(0)),
    )
    size = data_bytes + key_bytes + F.coalesce(text_bytes, F.lit(0))

    def bad_key(key: Column) -> Column:
        reserved = F.startswith(F.lower(key), F.lit(rules.RESERVED_PREFIX))
        reserved &= ~key.isin(*rules.TRACE_KEYS)
        return ~F.octet_length(key).between(1, rules.MAX_KEY_BYTES) | reserved

    def bad_value(value: Column) -> Column:
        return value.isNull() | (F.octet_length(value) > rules.MAX_VALUE_BYTES)

    broken = {
        rules.EMPTY: (data_bytes == 0) & (count <= 0),
        rules.TOO_LARGE: size > rules.MAX_MESSAGE_BYTES,
        rules.TOO_MANY_ATTRIBUTES: count > rules.MAX_ATTRIBUTES,
        rules.BAD_KEY: F.exists(keys, bad_key),
        rules.BAD_VALUE: F.exists(values, bad_value),
        rules.BAD_ORDERING_KEY: key_bytes > rules.MAX_ORDERING_KEY_BYTES,
    }
    return {rule: F.coalesce(wrong, F.lit(False)) for rule, wrong in broken.items()}


def surely_valid() -> Column:
    """Return whether a message is valid by a quick check; false means invalid, or not sure.

    Higher-order functions take as long as writing the message, so only the first attributes are
    checked, one by one. Keys are read by two different expressions on purpose: Spark evaluates a
    repeated expression for all rows, even if a condition before it is false. It is SQL because a
    hundred calls into the JVM are slower than parsing.
    """
    few_bytes = UNROLLED_ATTRIBUTES * (rules.MAX_KEY_BYTES + rules.MAX_VALUE_BYTES)
    most_data = rules.MAX_MESSAGE_BYTES - few_bytes - rules.MAX_ORDERING_KEY_BYTES
    sure = [
        "(length(data) > 0 OR size(attributes) > 0)",
        f"(data IS NULL OR length(data) <= {most_data})",
        f"(attributes IS NULL OR size(attributes) <= {UNROLLED_ATTRIBUTES})",
        f"(ordering_key IS NULL OR octet_length(ordering_key) <= {rules.MAX_ORDERING_KEY_BYTES})",
        # The texts joined by a letter are valid UTF-8 if, and only if, each of them is.
        "is_valid_utf8(concat_ws(',', map_keys(attributes), map_values(attributes), ordering_key))",
    ]
    for place in range(UNROLLED_ATTRIBUTES):
        key, same_key = (
            f"get(map_keys(attributes), {place})",
            f"try_element_at(map_keys(attributes), {place + 1})",
        )
        distinct = "".join(
            f" AND {key} <> get(map_keys(attributes), {earlier})" for earlier in range(place)
        )
        sure.append(
            f"(attributes IS NULL OR size(attributes) <= {place} OR"
            f" (octet_length({key}) BETWEEN 1 AND {rules.MAX_KEY_BYTES}"
            f" AND NOT startswith(lower({same_key}), '{rules.RESERVED_PREFIX}')"
            f" AND octet_length(get(map_values(attributes), {place})) <= {rules.MAX_VALUE_BYTES}"
            f"{distinct}))"
        )
    return F.coalesce(F.expr(" AND ".join(sure)), F.lit(False))
