"""The schemas of a session's catalogs: finds their locations, and creates those that are absent."""

from __future__ import annotations

import re
from urllib.parse import unquote

from pyspark.errors import AnalysisException
from pyspark.sql import Row, SparkSession

from pubsub_delta.errors import InvalidArgument, first_line
from pubsub_delta.session import setting_of
from pubsub_delta.tables.lanes.protocol import TableMissing
from pubsub_delta.tables.lanes.spark.errors import translating_errors

_NO_NAME_OF_IT = re.compile(
    r"INVALID_SCHEMA_OR_RELATION_NAME|INVALID_ATTRIBUTE_NAME_SYNTAX|REQUIRES_SINGLE_PART_NAMESPACE"
    r"|CATALOG_NOT_FOUND|MISSING_CATALOG_ABILITY|Nested databases are not supported"
)
"""What catalogs say of a name that no schema of theirs can have."""

_V1 = "spark.sql.legacy.useV1Command"


def current_catalog(spark: SparkSession) -> str:
    """Return the catalog that a session looks in for a schema without one."""
    with translating_errors("root"):
        return spark.catalog.currentCatalog()


def location_of_schema(spark: SparkSession, schema: str) -> str | None:
    """Return the location of a catalog schema; None if the catalog has no locations.

    The schema is created only if it does not exist, because that needs another permission.
    InvalidArgument for a name that the catalog does not take, or a catalog that is not there.
    """
    try:
        with translating_errors(schema):
            try:
                described = _described(spark, schema)
            except TableMissing:
                spark.sql(f"CREATE SCHEMA IF NOT EXISTS {schema}")
                described = _described(spark, schema)
    except AnalysisException as error:
        if _NO_NAME_OF_IT.search(str(error)) is None:
            raise
        raise InvalidArgument(
            f"root: {schema} cannot be a schema of this session ({first_line(error)}); a name that "
            "its catalog takes is accepted, which for Spark's own has letters, digits and _ alone, "
            "in a catalog that the session has; a directory has a slash: ./pubsub"
        ) from error
    location = next((row[1] for row in described if row[0] == "Location"), None)
    if not location or setting_of(spark, _V1, "false") == "true":
        return location or None
    return unquote(location)  # a URI: with %20 for a blank


def _described(spark: SparkSession, schema: str) -> list[Row]:
    with translating_errors(schema):
        return spark.sql(f"DESCRIBE SCHEMA {schema}").collect()
