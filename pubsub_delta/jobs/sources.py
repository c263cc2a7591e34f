"""Finds the files and the format of an input, or a Delta table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from pubsub_delta import FailedPrecondition, InvalidArgument
from pubsub_delta.jobs import file_formats

_OF_FILE = re.compile(r"\[FAILED_READ_FILE[.\w]*\] (.+?)(?: +SQLSTATE.*)?$", re.MULTILINE)
_DELTA = re.compile(r"delta\.`((?:[^`]|``)+)`", re.IGNORECASE)
"""A Delta table as written in SQL."""
_CAUSE = re.compile(r"^Caused by: [\w.$]+: (.+?)(?=\n\s+at |\Z)", re.MULTILINE | re.DOTALL)
"""Spark's error of a file that it cannot read, and its cause."""


_LEAVING_OUT = {
    "spark.sql.files.ignoreCorruptFiles": re.compile("true"),
    "spark.sql.files.ignoreMissingFiles": re.compile("true"),
    "spark.databricks.delta.stalenessLimit": re.compile(r"(?!0*\s*[a-z]*$).*"),
}
"""Settings by which Spark reads fewer rows than an input has, and tells nobody; their values."""


@dataclass(frozen=True)
class Source:
    """An input: its path or URL, its format, and the URLs of its files.

    The format is None without files. ``deep``: whether some files lie in folders that are no
    partitions (``month=1``). Spark passes over them unless it is told to look there, too.
    """

    path: str
    format: str | None
    files: tuple[str, ...] = ()
    deep: bool = False


def find(spark: SparkSession, path: str, asked: str | None) -> Source:
    """Return an input with its format: the given one, or that of its files.

    A Delta table is always recognized: its files may have rows that were deleted. The format
    ``table`` is a table or view of the catalog. InvalidArgument if the input does not exist, or has
    several formats. FailedPrecondition if the session would leave rows out.
    """
    check_session(spark)
    named = _DELTA.fullmatch(path)
    if named is not None and asked in (None, "delta"):
        return Source(named[1].replace("``", "`"), "delta")
    if asked in ("delta", "table"):
        return Source(path, asked)
    files = _files(spark, path)
    if all(file_formats.format_of(name, path) not in file_formats.TEXTS for name in files):
        if _is_delta(spark, path):
            if asked is not None:
                raise InvalidArgument(
                    f"--format: {asked}, but {path!r} is a Delta table; leave --format out, or "
                    "give --format delta"
                )
            return Source(path, "delta")
        if files and _is_delta(spark, path_of(files[0]).rpartition("/")[0]):
            raise InvalidArgument(
                f"--input: {path!r} names files of a Delta table, which can hold deleted rows; "
                "give the table itself"
            )
    names = [path_of(name) for name in files]
    format_ = file_formats.format_of_all(names, path, asked)
    deep = bool(files) and files != _files(spark, path, deep=False)
    return Source(path, format_, files, deep)


def check_session(spark: SparkSession) -> None:
    """Raise FailedPrecondition for a setting by which Spark leaves out rows of an input.

    Each row of an input arrives, or is told. A setting that a platform hides is not looked at.
    """
    for key, wrong in _LEAVING_OUT.items():
        value = _setting(spark, key)
        if wrong.fullmatch(value.strip().lower()):
            raise FailedPrecondition(
                f"--input: the Spark session has {key}={value}, by which Spark leaves out rows "
                "without a word; nothing was published: unset it"
            )


def _setting(spark: SparkSession, key: str) -> str:
    try:
        return spark.conf.get(key, "") or ""
    except Exception:  # each platform refuses to tell a setting by an error of its own
        return ""


def path_of(url: str) -> str:
    """Return the path or URL of a file from Spark's encoded URL.

    >>> path_of("file:///data/a%20b.csv"), path_of("s3a://bucket/a.csv")
    ('/data/a b.csv', 's3a://bucket/a.csv')
    """
    plain = unquote(url)
    return "/" + plain.removeprefix("file:").lstrip("/") if plain.startswith("file:") else plain


def first_line(error: Exception) -> str:
    """Return the first line of an error."""
    return next(filter(str.strip, str(error).splitlines()), type(error).__name__)


def pattern_of(url: str) -> str:
    """Return the glob pattern of one file, with escaped special characters."""
    return re.sub(r"([\\\[\]{}*?])", r"\\\1", path_of(url))


def failure(path: str, error: Exception) -> Exception:
    """Return InvalidArgument for an error of a file, else the error itself."""
    return unreadable(path, error) if _OF_FILE.search(str(error)) else error


def unreadable(path: str, error: Exception) -> InvalidArgument:
    """Return the error of an input that cannot be read, with its cause."""
    text = str(error)
    match = _OF_FILE.search(text)
    why = first_line(error) if match is None else " ".join([match[1], *_CAUSE.findall(text)[-1:]])
    return InvalidArgument(f"--input: {path!r} cannot be read: {' '.join(why.split())}")


def _files(spark: SparkSession, path: str, *, deep: bool = True) -> tuple[str, ...]:
    """Return the files of a path, directory or pattern, without reading them.

    ``deep``: with those in folders that are no partitions.
    """
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", deep)
    try:
        return tuple(sorted(reader.load(path).inputFiles()))
    except Exception as error:
        raise unreadable(path, error) from None


def _is_delta(spark: SparkSession, path: str) -> bool:
    try:
        return bool(spark.read.format("delta").load(path).schema.fields)
    except AnalysisException:
        return False
