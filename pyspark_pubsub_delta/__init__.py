"""Spark finds ``format("pubsub_delta")`` here: a package ``pyspark_…`` with a DefaultSource.

It imports all such packages when any Python data source is first asked for. So nothing is raised
here where this one cannot be had: in Spark 4.0 and 4.1, whose sources have neither limits for
micro-batches nor ``AvailableNow``.
"""

from importlib.util import find_spec

if find_spec("pyspark.sql.streaming.datasource") is not None:
    from pubsub_delta.datasource.source import PubSubDataSource as DefaultSource
else:
    from pubsub_delta.datasource.older_spark import (  # type: ignore[assignment]
        RefusingDataSource as DefaultSource,
    )

__all__ = ["DefaultSource"]
