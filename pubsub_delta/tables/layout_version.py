"""The version of a store's layout: the columns of its tables, and their meaning.

Every table of the registry has it as a property, and one that tells that the store is in a catalog.
Each process compares both with its own when it first reads such a table, and after each commit of
the table. Every operation reads the registry before it reads or writes anything else.
"""

from __future__ import annotations

from collections.abc import Mapping

from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.tables.layout import path_of

PROPERTY = "pubsub_delta.layoutVersion"
LAYOUT_VERSION = 1
"""The version that this library writes, and the only one that it reads."""
CATALOG_PROPERTY = "pubsub_delta.catalog"
"""It is true in a catalog, where the other tables have other paths than those of a directory."""


def check_layout_version(table: str, properties: Mapping[str, str]) -> None:
    """Raise FailedPrecondition unless a table of the registry has this library's layout.

    So it is for the path of a table in a catalog, as of the directory of a schema.

    >>> check_layout_version("topics", {"pubsub_delta.layoutVersion": "1"})
    >>> check_layout_version("topics", {"pubsub_delta.layoutVersion": "2"})
    Traceback (most recent call last):
    pubsub_delta.errors.FailedPrecondition: topics: it has layout version 2, and this library \
reads version 1; install a newer pubsub-delta
    """
    if properties.get(CATALOG_PROPERTY) == "true" and path_of(table) is not None:
        raise FailedPrecondition(
            f"{table}: it is of a store in a catalog, whose other tables are not at the paths of a "
            "directory; open the store by its schema, as in PubSub(spark, 'pubsub')"
        )
    found = properties.get(PROPERTY)
    if found == str(LAYOUT_VERSION):
        return
    if found is None:
        raise FailedPrecondition(
            f"{table}: it has no layout version (property {PROPERTY}), and this library reads "
            f"version {LAYOUT_VERSION}; if this is a copy of a store's table, set the property to "
            "the version of the original, else choose another root"
        )
    if not (found.isascii() and found.isdigit() and len(found) < 10):
        raise FailedPrecondition(
            f"{table}: {PROPERTY} is {found!r}, which is not a version; set it to that of the "
            f"store's other tables; this library reads version {LAYOUT_VERSION}"
        )
    advice = "install a newer pubsub-delta"
    if int(found) < LAYOUT_VERSION:
        advice = "read it with the pubsub-delta that wrote it, or publish anew in another root"
    raise FailedPrecondition(
        f"{table}: it has layout version {int(found)}, and this library reads version "
        f"{LAYOUT_VERSION}; {advice}"
    )
