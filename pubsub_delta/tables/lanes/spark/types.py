"""Converts Arrow types and rows to Spark's, and back, independent of the session's settings."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from pubsub_delta.session_end import telling_of_a_lost_jvm

_TYPES: dict[pa.DataType, tuple[T.DataType, str]] = {
    pa.string(): (T.StringType(), "STRING"),
    pa.int32(): (T.IntegerType(), "INT"),
    pa.int64(): (T.LongType(), "BIGINT"),
    pa.float32(): (T.FloatType(), "FLOAT"),
    pa.float64(): (T.DoubleType(), "DOUBLE"),
    pa.binary(): (T.BinaryType(), "BINARY"),
    pa.bool_(): (T.BooleanType(), "BOOLEAN"),
    pa.date32(): (T.DateType(), "DATE"),
    # Plain TIMESTAMP would mean what spark.sql.timestampType says.
    pa.timestamp("us", tz="UTC"): (T.TimestampType(), "TIMESTAMP_LTZ"),
}


def quoted(column: str) -> str:
    """Quote a column: a session of ANSI can reserve its name, as that of ``filter``."""
    return f"`{column}`"


def ddl(type_: pa.DataType) -> str:
    """Return the DDL of a type.

    >>> ddl(pa.map_(pa.string(), pa.list_(pa.struct({"at": pa.timestamp("us", tz="UTC")}))))
    'MAP<STRING, ARRAY<STRUCT<`at`: TIMESTAMP_LTZ>>>'
    """
    if pa.types.is_map(type_):
        return f"MAP<{ddl(type_.key_type)}, {ddl(type_.item_type)}>"
    if pa.types.is_list(type_):
        return f"ARRAY<{ddl(type_.value_type)}>"
    if pa.types.is_struct(type_):
        return f"STRUCT<{', '.join(f'{quoted(each.name)}: {ddl(each.type)}' for each in type_)}>"
    return _TYPES[type_][1]


def spark_type(type_: pa.DataType) -> T.DataType:
    """Return the Spark type of an Arrow type."""
    if pa.types.is_map(type_):
        return T.MapType(spark_type(type_.key_type), spark_type(type_.item_type))
    if pa.types.is_list(type_):
        return T.ArrayType(spark_type(type_.value_type))
    if pa.types.is_struct(type_):
        return spark_schema(pa.schema(list(type_)))
    if pa.types.is_decimal(type_):
        return T.DecimalType(type_.precision, type_.scale)
    return _TYPES[type_][0]


def spark_schema(columns: pa.Schema) -> T.StructType:
    """Return the Spark schema of Arrow columns, all nullable."""
    return T.StructType([T.StructField(each.name, spark_type(each.type)) for each in columns])


def arrow_frame(spark: SparkSession, rows: pa.Table, columns: pa.Schema) -> DataFrame:
    """Return some columns of Arrow rows as a DataFrame."""
    chosen = rows.select(columns.names).cast(columns)
    with telling_of_a_lost_jvm("spark"):
        return spark.createDataFrame(chosen, schema=spark_schema(columns))


def normal(rows: pa.Table) -> pa.Table:
    """Convert rows from Spark to the types of ``tables.schemas``, with times in UTC.

    >>> time = pa.timestamp("us", "Asia/Tokyo")
    >>> parts = pa.list_(pa.map_(pa.large_string(), pa.struct([("at", time)])))
    >>> fields = [("at", time), ("parts", parts), ("data", pa.large_binary()), ("n", pa.int64())]
    >>> for type_ in normal(pa.schema(fields).empty_table()).schema.types:
    ...     print(type_)
    timestamp[us, tz=UTC]
    list<item: map<string, struct<at: timestamp[us, tz=UTC]>>>
    binary
    int64
    """
    wanted = [pa.field(each.name, _normal(each.type)) for each in rows.schema]
    return rows.cast(pa.schema(wanted))


def _normal(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(type_):
        return pa.timestamp("us", tz="UTC")
    if pa.types.is_large_string(type_):
        return pa.string()
    if pa.types.is_large_binary(type_):
        return pa.binary()
    if pa.types.is_map(type_):
        return pa.map_(_normal(type_.key_type), _normal(type_.item_type))
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return pa.list_(_normal(type_.value_type))
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(each.name, _normal(each.type)) for each in type_])
    return type_
