"""Good and bad records of an input. A bad record is refused with its line, or written elsewhere.

A bad record is a line with a wrong number of columns, text that is not a JSON object, or a value of
another type. Its text and file are in columns of their own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from pubsub_delta import InvalidArgument, PubSubError
from pubsub_delta.jobs import inputs, sources

BAD, FILE, ELEMENT = (f"_pubsub_delta_{name}" for name in ("bad", "file", "element"))
"""Columns: the text of a bad record, or null; its file; its index in a JSON array, or null."""
WHY = "_pubsub_delta_why"
"""Column: why a record is set aside, or null; where records are held against the topic's rules."""

_OWN = (BAD, FILE, ELEMENT, WHY)
_ROW = "_pubsub_delta_row"
_PLACE = "_pubsub_delta_place"
_MARK = "pubsub_delta: no record: "
"""The prefix of a bad record, as JSON, in the error of a streaming query."""
_MOST_SHOWN = 100
_REPLACED = "\ufffd"
"""The letter with which Spark replaces bytes that are not UTF-8."""
_IS_NO_UTF8 = "NOT is_valid_utf8(value)"


@dataclass(frozen=True)
class RecordCounts:
    """The numbers of good and bad records, and the columns of the first bad one."""

    good: int
    bad: int
    first: dict[str, Any]


@dataclass(frozen=True)
class Records:
    """The rows of an input, good and bad.

    Args:
        rows: the rows; with the columns BAD, FILE and ELEMENT unless the format is binary.
        path: the path of the input.
        form: the form of a good record, for errors.
        decoded: whether Spark replaced bytes that are not UTF-8, as in CSV.
    """

    rows: DataFrame
    path: str
    form: str = "a record"
    decoded: bool = False

    @property
    def may_be_bad(self) -> bool:
        """Whether there may be bad records, as the format may have them, or by their messages."""
        return not {WHY, BAD}.isdisjoint(self.rows.columns)

    @property
    def _is_bad(self) -> Column:
        return F.col(WHY if WHY in self.rows.columns else BAD).isNotNull()

    @property
    def good(self) -> DataFrame:
        """The good records."""
        rows = self.rows.where(~self._is_bad) if self.may_be_bad else self.rows
        return rows.drop(*_OWN)

    @property
    def parsed(self) -> Records:
        """The records that could be read, with their files, for another look at their messages."""
        if BAD not in self.rows.columns:
            return self
        rows = self.rows.where(F.col(BAD).isNull()).drop(BAD, ELEMENT)
        return Records(rows, self.path, self.form)

    def held_against(
        self, messages: Callable[..., list[Column]], check: Callable[[DataFrame], DataFrame]
    ) -> Records:
        """Return the records, of which those are bad, too, whose messages a publish would refuse.

        Args:
            messages: returns the columns of messages, of rows and their own columns as a struct.
            check: adds ``why`` to messages, as ``PubSub.check_messages`` does.
        """
        names = [name for name in self.rows.columns if name not in (*_OWN, inputs.LINE)]
        columns = messages(self.rows, whole=F.struct(*map(inputs.column, names)))
        checked = check(self.rows.select(F.struct("*").alias(_ROW), *columns))
        why = F.col("why")
        if BAD in self.rows.columns:
            unread = F.col(f"{_ROW}.{BAD}").isNotNull()
            why = F.when(unread, self._is_not_its_form).otherwise(why)
        rows = checked.select(f"{_ROW}.*", why.alias(WHY))
        return Records(rows, self.path, self.form, self.decoded)

    @property
    def _is_not_its_form(self) -> Column:
        return F.lit(f"it is not {self.form}")

    @property
    def checked(self) -> DataFrame:
        """The good records; a bad one fails the query."""
        if not self.may_be_bad:
            return self.rows
        described = F.to_json(F.struct(FILE, BAD, ELEMENT))
        refused = F.raise_error(F.concat(F.lit(_MARK), described)).cast("boolean")
        kept = F.when(F.col(BAD).isNull(), F.lit(True)).otherwise(refused)
        return self.rows.where(kept).drop(BAD, FILE, ELEMENT)

    @property
    def bad(self) -> DataFrame:
        """The bad records: file, text, the columns that could be read, and why they are bad.

        The text is that of a line that could not be read, or of a JSON object.
        """
        there = self.rows.columns
        texts = [F.col(name) for name in (BAD, inputs.LINE) if name in there]
        described = [F.col(FILE).alias("file")] if FILE in there else []
        described += [F.coalesce(*texts).alias("record")] if texts else []
        read = [inputs.column(name) for name in there if name not in (*_OWN, inputs.LINE)]
        # Spark does not parse CSV if only the bad-record column is selected.
        described += [F.to_json(F.struct(*read)).alias("columns")] if read else []
        why = F.col(WHY) if WHY in there else self._is_not_its_form
        return self.rows.where(self._is_bad).select(*described, why.alias("why"))

    def count(self) -> RecordCounts:
        """Count the records; InvalidArgument for a file that cannot be read."""
        rows = self.rows.withColumn(_PLACE, F.monotonically_increasing_id())
        wanted = [F.count(F.lit(1))]
        if self.may_be_bad:
            described = F.lit(None)
            if BAD in self.rows.columns:
                described = F.when(F.col(BAD).isNotNull(), F.struct(FILE, _PLACE, BAD, ELEMENT))
            wanted += [F.count_if(self._is_bad), F.min(described)]
            wanted += [F.count(inputs.column(name)) for name in self.rows.columns[:1]]
            wanted += [F.count_if(has_replaced(self.rows))] if self.decoded else []
        try:
            found = rows.agg(*wanted).collect()[0]
        except Exception as error:
            raise sources.failure(self.path, error) from None
        if not self.may_be_bad:
            return RecordCounts(found[0], 0, {})
        names = "".join(self.rows.columns)
        if self.decoded and (found[-1] or _REPLACED in names):
            self._check_bytes()
        return RecordCounts(found[0] - found[1], found[1], found[2].asDict() if found[2] else {})

    def _check_bytes(self) -> None:
        """Raise InvalidArgument for bytes that are not UTF-8; the input may have U+FFFD itself."""
        spark = self.rows.sparkSession
        lines = spark.read.text(self.path, recursiveFileLookup=True)
        lines = lines.select("value", F.col("_metadata.file_path").alias(FILE))
        first = lines.where(_IS_NO_UTF8).select(FILE).first()
        if first is None:
            return
        file = first[FILE]
        line = _first_line_where(spark, file, _IS_NO_UTF8)
        raise InvalidArgument(
            f"--input: {sources.path_of(file)}, line {line}: it is not UTF-8, and Spark would "
            "replace its bytes; convert the file, as iconv -f latin1 -t utf-8 does"
        )

    def refusal(
        self, spark: SparkSession, first: dict[str, Any], count: int = 1
    ) -> InvalidArgument:
        """Return the error of a bad record with its file and line, and the number of others."""
        file, record = first[FILE], str(first[BAD])
        if first.get(ELEMENT) is not None:
            place = f", element {first[ELEMENT]}"
        else:
            line = line_of(spark, file, record)
            place = "" if line is None else f", line {line}"
        text = record if len(record) <= _MOST_SHOWN else f"{record[:_MOST_SHOWN]}…"
        more = f" (and {count - 1:,} more)" if count > 1 else ""
        return InvalidArgument(
            f"--input: {sources.path_of(file)}{place}: {text!r} is not {self.form}{more}; "
            "--bad-records PATH sets such records aside, and publishes the rest"
        )

    @contextmanager
    def telling_failures(self, spark: SparkSession) -> Iterator[None]:
        """Raise the error of a failed query as ``failure`` tells it."""
        try:
            yield
        except PubSubError:
            raise
        except Exception as error:
            raise self.failure(spark, error) from None

    def failure(self, spark: SparkSession, error: Exception) -> Exception:
        """Return the error of a failed query: of a bad record, of a file, or the original one."""
        # the plan in the error has the prefix without JSON
        _, mark, described = str(error).partition(f"{_MARK}{{")
        if not mark:
            return sources.failure(self.path, error)
        first, _ = json.JSONDecoder().raw_decode(f"{{{described}")
        return self.refusal(spark, first)


def has_replaced(rows: DataFrame) -> Column:
    """Return whether a text column has the letter that replaces bytes that are not UTF-8."""
    texts = [field.name for field in rows.schema if isinstance(field.dataType, StringType)]
    return F.concat_ws("", *map(inputs.column, texts)).contains(_REPLACED)


def line_of(spark: SparkSession, file: str, record: str) -> int | None:
    """Return the number of the first line of a file with a record; None if there is none."""
    begin = re.split(r"\r?\n", record, maxsplit=1)[0]
    return _first_line_where(spark, file, F.lit(begin) == F.col("value"))


def _first_line_where(spark: SparkSession, file: str, test: Column | str) -> int | None:
    """Return the number of the first line of a file that matches; None if none does."""
    lines = spark.read.text(sources.pattern_of(file))
    lines = lines.withColumn(_PLACE, F.monotonically_increasing_id())
    place = F.col(_PLACE)
    found = lines.where(test).agg(F.min(place)).collect()[0][0]
    return None if found is None else lines.where(place <= found).count()
