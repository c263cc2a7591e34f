"""The data source ``pubsub_delta`` for a Spark that is older than it needs: refuses everything."""

from __future__ import annotations

from collections.abc import MutableMapping

import pyspark
from pyspark.sql.datasource import DataSource

from pubsub_delta.errors import FailedPrecondition


class RefusingDataSource(DataSource):
    """Refuses every use of ``format("pubsub_delta")``, and names the method to use instead."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        raise FailedPrecondition(
            f"format('pubsub_delta') needs Spark 4.2, and this is {pyspark.__version__}; "
            "subscribe_stream, publish_stream, read_topic, backlog and publish work with it"
        )

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "pubsub_delta"
