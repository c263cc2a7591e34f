"""Reads inputs without changing values: as text, unless types are asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamReader
from pyspark.sql.types import StringType, StructField, StructType

from pubsub_delta import FailedPrecondition, InvalidArgument
from pubsub_delta.jobs import inputs, sources
from pubsub_delta.jobs.records import BAD, ELEMENT, FILE, Records, has_replaced

_CSV = {"header": "true", "escape": '"', "columnPruning": "false"}
"""Quotes in text are doubled (RFC 4180), and each line is parsed to its end."""
_NOTHING = "\u0001no text of an input: pubsub_delta\u0001"
"""The text that Spark reads as null, so that an empty text stays one, and every other one too."""
_JSON = {"allowSingleQuotes": "false", "allowNonNumericNumbers": "false"}
_TEXTS = "ARRAY<STRING>"

Options = dict[str, bool | str]

Reader = DataFrameReader | DataStreamReader
R = TypeVar("R", DataFrameReader, DataStreamReader)


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading an input.

    Args:
        schema: the columns, as in SQL; None for all columns of the input.
        infer: whether to infer the types of CSV columns.
        multiline: whether a JSON file is one array or object, and CSV text may have line breaks.
    """

    schema: str | None = None
    infer: bool = False
    multiline: bool = False

    def check(self, format_: str) -> None:
        """Raise InvalidArgument for options that a format does not have."""
        if self.schema and self.infer:
            raise InvalidArgument(
                "--infer-schema and --schema exclude each other; one of them is accepted"
            )
        wrong = {
            "--infer-schema": self.infer and format_ != "csv",
            "--multiline": self.multiline and format_ not in ("csv", "json"),
            "--schema": bool(self.schema) and format_ in ("delta", "table"),
        }
        for option, given in wrong.items():
            if given:
                raise InvalidArgument(
                    f"{option} does not apply to {format_}, the format of the input; leave it out"
                )


def read(spark: SparkSession, source: sources.Source, how: ReadOptions) -> Records:
    """Read an input once."""
    nothing = Records(spark.createDataFrame([], StructType([])), source.path)
    if source.format is None:
        return nothing
    how.check(source.format)
    with _types_not_inferred(spark, source, how):
        columns = _columns(how.schema)
        if source.format == "csv":
            named = _columns_of_csv(spark, source, how) if columns is None else columns
            if not named.names:
                return nothing
            alone = columns is None and len(source.files) == 1
            return _csv(_files(spark.read, source), source.path, named, how, has_their_names=alone)
        if source.format == "json":
            return _json_now(spark, source, how, columns)
        if source.format == "table":
            return Records(_table(spark.read, source.path), source.path)
        reader = _files(spark.read, source).format(source.format)
        rows = _load(reader if columns is None else reader.schema(columns), source.path)
        return Records(rows, source.path)


def read_stream(spark: SparkSession, source: sources.Source, how: ReadOptions) -> Records:
    """Read a directory or a Delta table as a stream."""
    if source.format is None:
        raise InvalidArgument(
            f"--format: it is not given, and {source.path!r} is empty; give csv, json, parquet, "
            "delta or table"
        )
    how.check(source.format)
    reader, columns = spark.readStream, _columns(how.schema)
    if source.format == "delta":
        return Records(_load(reader.format("delta"), source.path), source.path)
    if source.format == "table":
        return Records(_table(reader, source.path), source.path)
    if columns is None:
        raise InvalidArgument(
            f"--schema: it is not given; a stream of {source.format} files needs the names and "
            "types of its columns"
        )
    reader = _files(reader, source)
    if source.format == "csv":
        return _csv(reader, source.path, columns, how)
    if source.format == "json":
        texts = _texts(reader, source.path, how.multiline)
        return _json(texts, source.path, columns, whole=how.multiline)
    return Records(_load(reader.format(source.format).schema(columns), source.path), source.path)


@contextmanager
def _types_not_inferred(
    spark: SparkSession, source: sources.Source, how: ReadOptions
) -> Iterator[None]:
    """Set the session so that reading an input does not change values.

    Inferred timestamps do not depend on the session time zone, and partition columns are text, as
    in files. FailedPrecondition if the platform does not allow these settings.
    """
    wanted = {"spark.sql.timestampType": "TIMESTAMP_NTZ"} if how.infer else {}
    is_typed = source.format in ("json", "parquet")
    if is_typed and any("=" in name for name in source.files):  # month=01/a.json
        wanted["spark.sql.sources.partitionColumnTypeInference.enabled"] = "false"
    before = {}
    try:
        for name, value in wanted.items():
            before[name] = _replace_setting(spark, source, name, value)
        yield
    finally:
        for name, kept in before.items():
            spark.conf.set(name, str(kept))


def _replace_setting(
    spark: SparkSession, source: sources.Source, name: str, value: str
) -> str | None:
    """Set a session setting, and return its old value."""
    try:
        before = spark.conf.get(name)
        spark.conf.set(name, value)
    except Exception as error:
        raise FailedPrecondition(
            f"--input: {source.path!r}: this session does not allow setting {name} "
            f"({sources.first_line(error)}), without which reading would change values; give the "
            "columns and their types by --schema"
        ) from None
    return before


def _columns(schema: str | None) -> StructType | None:
    if schema is None:
        return None
    try:
        columns = StructType.fromDDL(schema)
    except Exception as error:
        raise InvalidArgument(f"--schema: {schema!r}: {sources.first_line(error)}") from None
    if not isinstance(columns, StructType):
        raise InvalidArgument(
            f"--schema: {schema!r} has no columns; 'id BIGINT, price DECIMAL(10,2)' has"
        )
    return columns


def _files(reader: R, source: sources.Source) -> R:
    """Return a reader of all files of an input."""
    reader.option("recursiveFileLookup", source.deep)
    return reader


def _load(reader: Reader, path: str) -> DataFrame:
    """Load an input; an error is InvalidArgument with one line."""
    try:
        return reader.load(path)
    except Exception as error:
        raise sources.unreadable(path, error) from None


def _table(reader: Reader, name: str) -> DataFrame:
    """Read a table or view by its name; an error is InvalidArgument with one line."""
    try:
        return reader.table(name)
    except Exception as error:
        raise sources.unreadable(name, error) from None


def _with_file(rows: DataFrame) -> DataFrame:
    return rows.select("*", F.col("_metadata.file_path").alias(FILE))


# CSV


def _columns_of_csv(spark: SparkSession, source: sources.Source, how: ReadOptions) -> StructType:
    options: Options = {**_CSV, "multiLine": how.multiline, "inferSchema": how.infer}
    reader = _files(spark.read, source).format("csv").options(**options)
    found = _load(reader, source.path).schema
    _check_names(spark, source)
    return found if how.infer else _as_texts(found)


def _check_names(spark: SparkSession, source: sources.Source) -> None:
    """Raise InvalidArgument for a repeated column name, which Spark would rename, and for UTF-16.

    Plain letters in UTF-16 without a byte order mark are UTF-8, too: each beside a NUL.
    """
    for file in source.files:
        options: Options = {**_CSV, "header": "false"}
        lines = _load(spark.read.format("csv").options(**options), sources.pattern_of(file))
        try:
            rows = lines.take(1)
        except Exception as error:
            raise sources.failure(source.path, error) from None
        names = [str(name) for name in (rows[0] if rows else ()) if name is not None]
        if any("\0" in name for name in names):
            raise InvalidArgument(
                f"--input: {sources.path_of(file)}, line 1: it is not UTF-8: the names of its "
                "columns have NUL bytes, as in UTF-16; convert the file, as iconv -f utf-16 -t "
                "utf-8 does"
            )
        count = Counter(name.casefold() for name in names)
        twice = next((name for name in names if count[name.casefold()] > 1), None)
        if twice is not None:
            raise InvalidArgument(
                f"--input: {sources.path_of(file)}: its first line names column {twice!r} twice "
                "(letter case is ignored); each column name once is accepted"
            )
        if rows:
            return  # Spark compares the first lines of the other files


def _as_texts(columns: StructType) -> StructType:
    return StructType([StructField(each.name, StringType()) for each in columns])


def _csv(
    reader: Reader,
    path: str,
    columns: StructType,
    how: ReadOptions,
    *,
    has_their_names: bool = False,
) -> Records:
    """Read CSV; the first line of each file must have these columns in this order.

    ``has_their_names``: whether the columns come from the only file, and need no comparison.
    """
    options: Options = {
        **_CSV,
        "multiLine": how.multiline,
        "enforceSchema": has_their_names,
        "columnNameOfCorruptRecord": BAD,
    }
    if _are_texts(columns):
        options["nullValue"] = _NOTHING
    wanted = StructType([*columns, StructField(BAD, StringType())])
    rows = _load(reader.format("csv").options(**options).schema(wanted), path)
    wording = f"a record of {len(columns)} columns: {_listed(columns)}"
    whole = _with_file(rows).withColumn(ELEMENT, F.lit(None).cast("int"))
    if rows.isStreaming:  # its files are read only once
        text = F.concat_ws(",", *map(inputs.column, columns.names))
        whole = whole.withColumn(BAD, F.coalesce(BAD, F.when(has_replaced(rows), text)))
    return Records(whole, path, wording, decoded=not rows.isStreaming)


def _are_texts(columns: StructType) -> bool:
    return all(isinstance(each.dataType, StringType) for each in columns)


def _listed(columns: StructType) -> str:
    if _are_texts(columns):
        return ", ".join(columns.names)
    return ", ".join(f"{each.name} {each.dataType.simpleString().upper()}" for each in columns)


# JSON


def _json_now(
    spark: SparkSession, source: sources.Source, how: ReadOptions, columns: StructType | None
) -> Records:
    whole = how.multiline or _begins_with_a_bracket(spark, source)
    lines = _texts(_files(spark.read, source), source.path, whole)
    if columns is None:
        found = _objects(lines, whole).where(F.col(inputs.LINE).isNotNull()).select(inputs.LINE)
        columns = _columns_of_json(spark, found, source.path)
    return _json(lines, source.path, columns, whole=whole, keep_line=how.schema is None)


def _columns_of_json(spark: SparkSession, objects: DataFrame, path: str) -> StructType:
    """Infer the fields of objects, without names that differ by case only.

    Fractions are decimals, which keep their digits; with a number like ``1e3`` they are doubles.
    """
    try:
        found = spark.read.options(**_JSON, prefersDecimal=True).json(objects).schema
    except Exception as error:
        if "NEGATIVE_SCALE" not in str(error):
            raise sources.unreadable(path, error) from None
        found = spark.read.options(**_JSON).json(objects).schema
    count = Counter(name.casefold() for name in found.names)
    return StructType([each for each in found if count[each.name.casefold()] == 1])


def _begins_with_a_bracket(spark: SparkSession, source: sources.Source) -> bool:
    """Return whether the first file that is not empty is a JSON array."""
    for file in source.files:
        lines = spark.read.text(sources.pattern_of(file)).where(F.col("value").rlike(r"\S"))
        first = lines.take(1)
        if first:
            return str(first[0]["value"]).lstrip("\ufeff \t").startswith("[")
    return False


def _texts(reader: Reader, path: str, whole: bool) -> DataFrame:
    """Return the lines of files that are not blank, or whole files, as ``value`` and ``FILE``."""
    rows = _with_file(_load(reader.format("text").option("wholetext", whole), path))
    text = F.regexp_replace("value", "^\ufeff", "") if whole else F.col("value")
    return rows.withColumn("value", text).where(F.col("value").rlike(r"\S"))


def _objects(texts: DataFrame, whole: bool) -> DataFrame:
    r"""Find the objects in texts: LINE is the original object; null for a bad record, in BAD.

    Spark reads the first value of a text and ignores the rest. So the text is parsed as
    ``[text,true]``, which has two elements if the text is one value.
    """
    values = F.from_json(F.concat(F.lit("["), "value", F.lit(",true]")), _TEXTS, _JSON)
    one = (F.size("_values") == 2) & (F.col("_values")[1] == "true") & F.is_valid_utf8("value")
    begun = F.col("value").rlike(r"^\s*[\[{]") & F.col("value").rlike(r"[\]}]\s*$")
    found = texts.withColumn("_values", values)
    found = found.withColumn("_one", F.when(one & begun, F.col("_values")[0])).drop("_values")
    record, element = F.col("value"), F.lit(None).cast("int")
    if whole:
        is_array = F.col("_one").startswith("[")
        elements = F.when(is_array, F.from_json("_one", _TEXTS, _JSON)).otherwise(F.array("_one"))
        exploded = F.posexplode(elements).alias("_at", "_each")
        found = found.withColumn("_is_array", is_array).select("*", exploded)
        found = found.drop("_one").withColumnRenamed("_each", "_one")
        element = F.when(F.col("_is_array"), F.col("_at") + 1)
        of_array = F.coalesce("_one", F.lit("null"))
        record = F.when(F.col("_is_array"), of_array).otherwise(F.col("value"))
    line = F.col("_one") if whole else F.regexp_replace("value", r"^\s+|\s+$", "")
    line = F.when(F.col("_one").startswith("{"), line)
    return (
        found.withColumn(inputs.LINE, line)
        .withColumn(BAD, F.when(F.col(inputs.LINE).isNull(), record))
        .withColumn(ELEMENT, element)
        .drop("_one", "_at", "_is_array")
    )


def _json(
    texts: DataFrame, path: str, columns: StructType, *, whole: bool, keep_line: bool = False
) -> Records:
    """Read the columns of objects; an object with a value of another type is bad, too."""
    found = _objects(texts, whole)
    ours = ("value", FILE, BAD, ELEMENT, inputs.LINE)
    folders = [name for name in found.columns if name not in (*ours, *columns.names)]
    bad, values = F.col(BAD), []
    if columns.names:
        wanted = StructType([*columns, StructField(BAD, StringType())])
        options = {**_JSON, "columnNameOfCorruptRecord": BAD}
        found = found.withColumn("_columns", F.from_json(inputs.LINE, wanted, options))
        misfit = F.col("_columns").getField(BAD)
        bad = F.coalesce(bad, misfit if whole else F.when(misfit.isNotNull(), F.col("value")))
        values = [F.col("_columns").getField(name).alias(name) for name in columns.names]
    line = [_with_folders(folders).alias(inputs.LINE)] if keep_line else []
    rows = found.select(*values, *map(inputs.column, folders), *line, bad.alias(BAD), FILE, ELEMENT)
    wording = "a JSON object" if keep_line else f"a JSON object with {_listed(columns)}"
    return Records(rows, path, wording)


def _with_folders(folders: list[str]) -> Column:
    """Return the object of a line with partition columns (``month=1``)."""
    line = F.col(inputs.LINE)
    if not folders:
        return line
    inner = F.substring(line, F.lit(2), F.length(line) - 2)
    wording = F.to_json(F.struct(*map(inputs.column, folders)), inputs.AS_JSON)
    comma = F.when(inner.rlike(r"\S"), F.lit(",")).otherwise(F.lit(""))
    joined = F.concat(F.lit("{"), inner, comma, F.substring(wording, F.lit(2), F.length(wording)))
    return F.when(wording == "{}", line).otherwise(joined)
