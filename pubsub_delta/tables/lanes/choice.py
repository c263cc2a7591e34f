"""The lanes of a store: direct where ``deltalake`` can open its tables, else Spark.

Control tables (registry, ack states, positions) have one lane. With a session, Spark does large
scans and DataFrames in either case.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal, cast

from pubsub_delta.errors import FailedPrecondition, InvalidArgument
from pubsub_delta.session import check_session, is_remote, setting_of, settings_of
from pubsub_delta.tables.lanes.locks import TableLocks
from pubsub_delta.tables.lanes.protocol import Lane, TableMissing
from pubsub_delta.tables.lanes.s3_writers import (
    BY_DYNAMODB,
    commits_by_dynamodb,
    is_on_s3,
    refusal_of_lane,
    refusal_of_spark,
)
from pubsub_delta.tables.lanes.scans import Scans
from pubsub_delta.tables.layout import Layout, on_disk
from pubsub_delta.tables.targets import Target

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pubsub_delta.tables.lanes.spark import SparkLane

LaneName = Literal["direct", "spark"]

MANY_MESSAGES = 2_000_000
"""The number of messages from which Spark scans faster than this process."""
_PATHS = "spark.sql.runSQLOnFiles"


class Lanes:
    """The lanes of one store, and the session that does large work.

    Args:
        spark: a session; a function that starts one when it is needed; or None, for none.
        layout: the location of the tables.
        lane: the lane to take, instead of the one that fits the storage.
        hadoop: settings of the storage (``fs.s3a.…``), if there is no session that has them.
    """

    def __init__(
        self,
        spark: SparkSession | Callable[[], SparkSession] | None,
        layout: Layout,
        lane: LaneName | None = None,
        hadoop: Mapping[str, str] | None = None,
    ) -> None:
        if lane not in (None, "direct", "spark"):
            raise InvalidArgument(f"lane: {lane!r}; 'direct', 'spark' or None is accepted")
        self._source = spark
        self._layout = layout
        self._lane = lane
        self._hadoop = dict(hadoop or {})
        self._lock = threading.Lock()
        self._started: SparkSession | None = None
        self._is_same = False
        self._properties_on_s3: Mapping[str, str] | None = None
        if spark is not None and not callable(spark):
            self._start(spark)

    @property
    def layout(self) -> Layout:
        """The location of the tables.

        A schema that was written without a catalog is in the one that is current when the session
        is given or starts, and this starts it: else USE CATALOG would make it another store.
        """
        if self._layout.in_catalog and self._source is not None:
            self._session()
        return self._layout

    @property
    def has_spark(self) -> bool:
        """Whether there is a session now; this starts none."""
        return self._started is not None

    @property
    def spark(self) -> SparkSession:
        """The session, started if need be; FailedPrecondition if the store has none."""
        return self._session()

    def _session(self) -> SparkSession:
        with self._lock:
            if self._started is None:
                if self._source is None:
                    raise self._without_spark()
                try:
                    started = cast("Callable[[], SparkSession]", self._source)()
                except FailedPrecondition as error:
                    raise self._not_started(error) from error
                check_session(started)
                self._start(started)
            return cast("SparkSession", self._started)

    def _start(self, spark: SparkSession) -> None:
        if self._layout.in_catalog:
            from pubsub_delta.tables.lanes.spark import current_catalog

            self._layout = replace(self._layout, catalog=current_catalog(spark))
        self._started = spark

    def _without_spark(self) -> FailedPrecondition:
        needs, hint = self._why_of_the_root()
        if not needs:
            needs = "a DataFrame, a streaming query or a catalog needs Spark"
        return FailedPrecondition(
            f"{needs}, and the store was opened without a session: open it as PubSub(spark, "
            f"root), where local_session() returns a session{hint}"
        )

    def _not_started(self, error: FailedPrecondition) -> FailedPrecondition:
        needs, hint = self._why_of_the_root()
        return FailedPrecondition(f"{needs}: {error}{hint}") if needs else error

    def _why_of_the_root(self) -> tuple[str, str]:
        """Return why this root needs Spark, and how one without is written; else empty texts."""
        base = self._layout.base
        if self._layout.in_catalog:
            return (
                f"root: {base!r} is a schema of a catalog, which needs Spark",
                f"; a directory is written {f'./{base}'!r}",
            )
        if not self._is_reached:
            return f"root: {base!r} needs Spark, as deltalake is not taken for it", ""
        return "", ""

    @cached_property
    def choice(self) -> tuple[LaneName, str]:
        """The lane of the store's tables, and why it is taken."""
        layout = self._layout
        if layout.in_catalog:
            why = f"{layout.base} is a catalog schema, whose tables Spark finds"
            if self._lane == "direct":
                raise FailedPrecondition(
                    f"lane: 'direct' cannot be taken: {why}; leave lane out, or pass 'spark'"
                )
            return "spark", why
        if self._started is not None and commits_by_dynamodb(
            layout.base, settings_of(self._started)
        ):
            if self._lane == "direct":
                raise FailedPrecondition(
                    f"lane: 'direct' cannot be taken: {BY_DYNAMODB}; leave lane out, or pass "
                    "'spark'"
                )
            return "spark", BY_DYNAMODB
        if self._lane is not None:
            return self._lane, "it was asked for"
        if self._started is not None and is_remote(self._started):
            return "spark", f"{layout.base} is where the Spark Connect server looks for it"
        if not self._is_reached:
            return "spark", f"deltalake cannot open {layout.base} as it is written"
        return "direct", f"deltalake opens {layout.base}"

    @property
    def _is_reached(self) -> bool:
        from pubsub_delta.tables.lanes.direct.storage import reaches

        return reaches(self._layout.base)

    @property
    def line(self) -> str:
        """The lane and why it is taken, in one line."""
        name, why = self.choice
        return f"{name} lane: {why}"

    @cached_property
    def control(self) -> Lane:
        """The lane of the store's tables."""
        if self.choice[0] == "spark":
            self._check_paths()
            return self.bulk
        # A lane is imported when it is taken: each has imports that the other does not need.
        from pubsub_delta.tables.lanes.direct import DirectLane

        return DirectLane(self._storage_options(), self.locks)

    def session_for(self, table: str) -> SparkSession:
        """The session that reads or writes a table of this store.

        FailedPrecondition if Spark finds another table at its path than this process, as with an
        ``fs.defaultFS`` that is not the local disk. It checks that once.
        """
        spark = self.spark
        self._check_paths()
        if not self._is_found_by_spark(table):
            raise FailedPrecondition(
                f"{table}: Spark finds another table there than this process does; name the "
                "root by its whole URL (file:/data/pubsub, hdfs://host/pubsub), or take one "
                "lane for everything (lane='spark')"
            )
        return spark

    def _check_paths(self) -> None:
        """Raise FailedPrecondition if the session reads no path: no table would be there for it."""
        if self._layout.in_catalog:
            return
        if (setting_of(self.spark, _PATHS, "true") or "").strip().lower() == "false":
            raise FailedPrecondition(
                f"the Spark session has {_PATHS}=false, by which it reads no table by its path, as "
                f"those of {self._layout.base}; true is accepted, also in a session of the store's "
                "own, spark.newSession()"
            )

    def _is_found_by_spark(self, table: str) -> bool:
        """Return whether Spark finds the table at its path that this process does.

        A copy of a table has its id, so Spark must find a local one on a local disk, too.
        """
        if self.choice[0] == "direct" and not self._is_same:
            self._is_same = self.control.table_id(table) == self.bulk.table_id(table) and (
                on_disk(self._layout.base) is None or self.bulk.is_on_disk(table)
            )
        return self._is_same or self.choice[0] == "spark"

    def writer_for(self, table: str) -> SparkLane:
        """The Spark lane, to write a DataFrame to a table of this store.

        FailedPrecondition if its commits and those of this process could overwrite each other:
        Delta's log store for S3 checks that a version is free, and then writes it.
        """
        self.session_for(table)
        if self.choice[0] == "direct" and is_on_s3(self._layout.base):
            raise FailedPrecondition(
                f"{table}: on S3 a DataFrame cannot be published beside the direct lane, as "
                "Delta's log store for Spark overwrites a commit that lands at the same moment; "
                "publish lists or Arrow tables, or write the DataFrame by format('pubsub_delta')"
            )
        return self.bulk

    @cached_property
    def bulk(self) -> SparkLane:
        """The Spark lane."""
        spark = self.spark  # before any import of Spark
        from pubsub_delta.tables.lanes.spark import SparkLane

        return SparkLane(spark, self.locks, self.control if self.choice[0] == "direct" else None)

    @cached_property
    def locks(self) -> TableLocks:
        """The locks that keep other writers on this machine away from tables on a local disk."""
        location: str | None = self._layout.base
        if self._layout.in_catalog:
            from pubsub_delta.tables.lanes.spark import location_of_schema

            location = location_of_schema(self.spark, self.layout.schema)
        if location is None:
            return TableLocks(None)
        if is_on_s3(location):
            return TableLocks(None, partial(self._refusal_on_s3, location))
        return TableLocks(on_disk(location))

    def _refusal_on_s3(self, location: str) -> str | None:
        """Return why this process may not write there; None if it may.

        The lane in the registry is read once, as soon as the registry exists.
        """
        name = self.choice[0]
        if name == "spark":
            refusal = refusal_of_spark(location, settings_of(self.spark))
            if refusal is not None:
                return refusal
        if self._properties_on_s3 is None:
            with suppress(TableMissing):
                self._properties_on_s3 = self.control.properties(self.layout.topics)
        return refusal_of_lane(name, self._properties_on_s3 or {})

    def scans(self, table: str, count: int) -> Scans:
        """Return the scans for ``count`` messages of a topic: Spark's for many, if it finds them.

        Spark may find nothing at its path, or a copy, where messages are missing.
        """
        many = count >= MANY_MESSAGES and self.has_spark
        by_spark = many and self._is_found_by_spark(table)
        return self._spark_scans if by_spark else self.local_scans

    @property
    def local_scans(self) -> Scans:
        """The scans that return messages to this process, for any number of them."""
        return self._spark_scans if self.choice[0] == "spark" else self._direct_scans

    @cached_property
    def _direct_scans(self) -> Scans:
        from pubsub_delta.tables.lanes.direct import DirectLane, DirectScans

        return DirectScans(cast(DirectLane, self.control).open_tables)

    @cached_property
    def _spark_scans(self) -> Scans:
        from pubsub_delta.tables.lanes.spark import SparkScans

        return SparkScans(self.spark)

    def open_target(self, path: str, *, takes_rows: bool = True) -> Target:
        """Open the last version of a table subscription's table; Unwritable.

        ``takes_rows``: whether rows are to be appended; else it is only asked what has landed.
        """
        from pubsub_delta.tables.lanes.direct.targets import DirectTarget

        return DirectTarget(on_disk(path) or path, self._options_of(path), takes_rows=takes_rows)

    def _storage_options(self) -> Mapping[str, str] | None:
        return self._options_of(self._layout.base)

    def _options_of(self, root: str) -> Mapping[str, str] | None:
        """Return the options of a storage, by the session's settings or the environment."""
        if on_disk(root) is not None:
            return None
        from pubsub_delta.tables.lanes.direct.credentials import storage_options

        hadoop = self._hadoop if self._started is None else settings_of(self._started)
        return storage_options(hadoop, root)
