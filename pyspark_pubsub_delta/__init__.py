"""Spark finds ``format("pubsub_delta")`` here: a package ``pyspark_…`` with a DefaultSource."""

from pubsub_delta.datasource.source import PubSubDataSource as DefaultSource

__all__ = ["DefaultSource"]
