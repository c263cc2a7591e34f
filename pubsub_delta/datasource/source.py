"""The data source that Spark finds under the name ``pubsub_delta``."""

from __future__ import annotations

import os
from collections.abc import MutableMapping

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import StructType

from pubsub_delta.datasource.batch_reader import batch_reader
from pubsub_delta.datasource.columns import columns_of
from pubsub_delta.datasource.options import read_options
from pubsub_delta.datasource.stream_reader import SubscriptionStreamReader
from pubsub_delta.datasource.writer import TopicStreamWriter, TopicWriter
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.tables.lanes.spark.types import spark_schema


class PubSubDataSource(DataSource):
    """Reads and writes stores by ``format("pubsub_delta")``."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._options = read_options(dict(options), os.environ)

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "pubsub_delta"

    def schema(self) -> StructType:
        """Return all columns of these options."""
        return spark_schema(columns_of(self._options))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a topic or a backlog."""
        self._options.check("read")
        return batch_reader(self._options, self._chosen(schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """Return the stream reader of a subscription."""
        self._options.check("readStream")
        return SubscriptionStreamReader(self._options, self._chosen(schema))

    def writer(self, schema: StructType, overwrite: bool) -> TopicWriter:
        """Return the writer that publishes a DataFrame."""
        self._options.check("write")
        return TopicWriter(self._options, schema, overwrite=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> TopicStreamWriter:  # noqa: N802
        """Return the writer that publishes a streaming DataFrame."""
        self._options.check("writeStream")
        return TopicStreamWriter(self._options, schema, overwrite=overwrite)

    def _chosen(self, schema: StructType) -> pa.Schema:
        """Return the columns of a schema; columns that it leaves out are not read."""
        every = columns_of(self._options)
        accepted = spark_schema(every)
        for field in schema:
            if field.name not in accepted.names or accepted[field.name].dataType != field.dataType:
                raise InvalidArgument(
                    f"schema: {field.simpleString()} is not a column; "
                    f"some of {accepted.simpleString()} are accepted"
                )
            if schema.names.count(field.name) > 1:
                raise InvalidArgument(
                    f"schema: {field.name} appears twice; each column once is accepted"
                )
            if accepted[field.name].nullable and not field.nullable:
                raise InvalidArgument(
                    f"schema: {field.name} is NOT NULL; it is accepted without that"
                )
        return pa.schema([every.field(name) for name in schema.names])
