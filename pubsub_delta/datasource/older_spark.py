"""What Spark finds under the name ``pubsub_delta`` where it is older than the source needs."""

from __future__ import annotations

from collections.abc import MutableMapping

import pyspark
from pyspark.sql.datasource import DataSource

from pubsub_delta.errors import FailedPrecondition


class RefusingDataSource(DataSource):
    """Refuses all that ``format("pubsub_delta")`` does, and says what does it instead."""

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
