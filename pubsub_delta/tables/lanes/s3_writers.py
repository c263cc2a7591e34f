"""The writers of a store on S3: all by one lane, and Spark only with a safe log store.

``deltalake`` commits by a conditional put. Delta's log stores for Spark do not: the default one
checks that a version is free and then writes it, and ``S3DynamoDBLogStore`` uses a table of
DynamoDB that ``deltalake`` does not use. So the registry of a store names the lane that created it,
and on S3 the other lane writes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from pubsub_delta.session import runs_on_databricks

SCHEMES = ("s3:", "s3a:", "s3n:")
LANE_PROPERTY = "pubsub_delta.lane"
"""The property of the registry's tables that names the lane that created them."""
ONLY_WRITER = "spark.pubsub_delta.s3.onlyWriter"
"""The setting of a session that says that no other program writes to its store."""
BY_DYNAMODB = "its session commits on S3 by DynamoDB, of which deltalake knows nothing"


def is_on_s3(location: str) -> bool:
    """Return whether a root or a table is on S3."""
    return location.startswith(SCHEMES)


def commits_by_dynamodb(location: str, settings: Mapping[str, str]) -> bool:
    """Return whether a session's commits to a location on S3 go through DynamoDB.

    >>> dynamodb = {"spark.delta.logStore.s3a.impl": "io.delta.storage.S3DynamoDBLogStore"}
    >>> commits_by_dynamodb("s3a://bucket/pubsub", dynamodb)
    True
    >>> commits_by_dynamodb("s3://bucket/pubsub", dynamodb)
    False
    """
    scheme = location.partition(":")[0]
    return is_on_s3(location) and "DynamoDB" in settings.get(
        f"spark.delta.logStore.{scheme}.impl", ""
    )


def refusal_of_spark(location: str, settings: Mapping[str, str]) -> str | None:
    """Return why Spark's lane may not write to a location; None if it may.

    Delta: on S3 its default log store is safe for the writers of one driver only.

    >>> refusal_of_spark("abfss://pubsub@till.dfs.core.windows.net", {}) is None
    True
    >>> refusal_of_spark("s3a://bucket/pubsub", {})[:42]
    'on S3 a commit of Spark overwrites one of '
    >>> "set spark.delta.logStore.s3.impl to" in refusal_of_spark("s3://bucket/pubsub", {})
    True
    >>> dynamodb = {"spark.delta.logStore.s3a.impl": "io.delta.storage.S3DynamoDBLogStore"}
    >>> refusal_of_spark("s3a://bucket/pubsub", dynamodb) is None
    True
    """
    if not is_on_s3(location) or runs_on_databricks() or commits_by_dynamodb(location, settings):
        return None
    if settings.get(ONLY_WRITER, "").lower() == "true":
        return None
    scheme = location.partition(":")[0]
    return (
        "on S3 a commit of Spark overwrites one of another program that lands at the same moment, "
        "so Spark's lane writes nothing: let the direct lane commit (without lane='spark', and "
        f"DataFrames by format('pubsub_delta')), set spark.delta.logStore.{scheme}.impl to "
        f"io.delta.storage.S3DynamoDBLogStore, or {ONLY_WRITER}=true where no other program writes"
    )


def refusal_of_lane(own: str, properties: Mapping[str, str]) -> str | None:
    """Return why a lane may not write to a store on S3, by the properties of its registry.

    >>> refusal_of_lane("direct", {"pubsub_delta.lane": "direct"}) is None
    True
    >>> refusal_of_lane("direct", {"pubsub_delta.lane": "spark"})[:60]
    "on S3 the writers of a store take one lane, and this store's"
    """
    found = properties.get(LANE_PROPERTY, own)
    if found == own:
        return None
    return (
        f"on S3 the writers of a store take one lane, and this store's is lane={found!r}: open it "
        f"with that, as a commit of the {own} lane and one of theirs overwrite each other; "
        f"while no program writes, {LANE_PROPERTY} of its table topics may be changed"
    )
