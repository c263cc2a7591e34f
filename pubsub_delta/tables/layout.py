"""The locations of a store's tables, and their names in SQL."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from pubsub_delta.errors import InvalidArgument

_NAME = r"[A-Za-z0-9_][A-Za-z0-9_-]*|`(?:[^`]|``)+`"
_SCHEMA = re.compile(rf"({_NAME})(?:\.({_NAME}))?")
_WINDOWS = re.compile(r"[A-Za-z]:($|[\\/])|\\\\")
_URL = re.compile(r"[a-z][a-z0-9+.\-]*:/+[^/].*")
_FILE_URL = re.compile(r"file:(?://([^/]*))?(/.*)")
_BUCKET_URL = re.compile(r"(?:s3[an]?|gc?s|abfss?|wasbs?|adl|az(?:ure)?):(?!//[^/])")
"""A URL of object storage that names no bucket, or container."""
_UNFIT = re.compile(
    "[\0{}\ud800-\udfff]"
)  # characters that a JVM, a file system or Spark does not accept


@dataclass(frozen=True)
class Layout:
    """The tables under one root, each as an identifier of SQL.

    ``base`` is a directory without a slash at its end, or a catalog schema as it was written;
    ``in_catalog`` says which. ``catalog``: that of a schema which was written without one.

    >>> layout_of("/data/pubsub").messages("0" * 4)
    'delta.`/data/pubsub/messages/0000`'
    >>> layout_of("main.pubsub").messages("0" * 4)
    '`main`.`pubsub`.`messages_0000`'
    >>> layout_of("my-catalog.`2025 pubsub`").topics
    '`my-catalog`.`2025 pubsub`.`topics`'
    """

    base: str
    in_catalog: bool
    catalog: str | None = None

    @property
    def topics(self) -> str:
        """The registry of topics."""
        return self._table("topics")

    @property
    def subscriptions(self) -> str:
        """The registry of subscriptions."""
        return self._table("subscriptions")

    @property
    def snapshots(self) -> str:
        """The registry of snapshots."""
        return self._table("snapshots")

    @property
    def schemas(self) -> str:
        """The registry of schemas."""
        return self._table("schemas")

    def messages(self, topic_uid: str) -> str:
        """The messages of a topic."""
        return self._table("messages", topic_uid)

    def ack_state(self, subscription_uid: str) -> str:
        """The acknowledgement state of a subscription."""
        return self._table("ack_state", subscription_uid)

    def snapshot(self, snapshot_uid: str) -> str:
        """The copied acknowledgement state of a snapshot."""
        return self._table("snapshot", snapshot_uid)

    def positions(self, topic_uid: str) -> str:
        """The allocated positions of a topic."""
        return self._table("positions", topic_uid)

    @property
    def schema(self) -> str:
        """The catalog schema as an identifier."""
        found = _SCHEMA.fullmatch(self.base)
        assert found is not None
        parts = [_plain(part) for part in found.groups() if part is not None]
        if len(parts) == 1 and self.catalog is not None:
            parts.insert(0, self.catalog)
        return ".".join(map(_quoted, parts))

    def local_directory(self) -> str | None:
        """The root on the local file system, or None if it is elsewhere."""
        return None if self.in_catalog else on_disk(self.base)

    def _table(self, *parts: str) -> str:
        if self.in_catalog:
            return f"{self.schema}.{_quoted('_'.join(parts))}"
        return f"delta.{_quoted('/'.join((self.base, *parts)))}"


def layout_of(root: str, field: str = "root") -> Layout:
    """Parse a root: a directory, its URL, or ``schema`` or ``catalog.schema``.

    ``field``: what an error calls it.
    A relative directory needs a slash (``./pubsub``) and is made absolute. A name in a catalog with
    other characters than letters, digits, ``_`` and ``-`` needs backticks, as in SQL.
    InvalidArgument for other roots.
    """
    if isinstance(root, os.PathLike):
        root = os.path.abspath(root)
    if not isinstance(root, str) or _UNFIT.search(root) or not root.strip():
        raise InvalidArgument(f"{field}: {root!r} is not a root; {_ACCEPTED}")
    if _URL.fullmatch(root):
        _check_host(root, field)
        return Layout(root.rstrip("/"), in_catalog=False)
    if _SCHEMA.fullmatch(root):
        return Layout(root, in_catalog=True)
    if root.strip("/") and "/" in root and ":" not in root.split("/")[0]:
        return Layout("/" + os.path.abspath(root).strip("/"), in_catalog=False)
    windows = " (paths of Windows are not supported)" if _WINDOWS.match(root) else ""
    raise InvalidArgument(f"{field}: {root!r} is not a root{windows}; {_ACCEPTED}")


def _check_host(url: str, field: str) -> None:
    """Raise InvalidArgument for a URL whose first name is another thing than it looks like.

    ``file://data/pubsub`` is /pubsub of the host "data", and ``s3a:/data/pubsub`` has no bucket.
    """
    of_file = _FILE_URL.fullmatch(url)
    host, path = of_file.groups() if of_file else (None, "")
    if host and host != "localhost":
        raise InvalidArgument(
            f"{field}: {url!r} names the host {host!r}, and not a directory of this machine; "
            f"file:///{host}{path} or another path after three slashes is accepted"
        )
    if _BUCKET_URL.match(url):
        raise InvalidArgument(
            f"{field}: {url!r} names no bucket or container; {url.split(':')[0]}://BUCKET/pubsub "
            "is accepted"
        )


def on_disk(path: str) -> str | None:
    """Return a path or URL as a path of the local file system, or None if it is elsewhere.

    >>> on_disk("file:/data/pubsub"), on_disk("s3a://bucket/pubsub")
    ('/data/pubsub', None)
    """
    if not _URL.fullmatch(path):
        return path
    local = _FILE_URL.fullmatch(path)  # as Hadoop reads it: "#", "?" and "%" are letters
    return local[2] if local else None


def path_of(table: str) -> str | None:
    """Return the path of a table, for libraries without identifiers; None in a catalog.

    >>> path_of("delta.`/data/pubsub/topics`")
    '/data/pubsub/topics'
    """
    path = _PATH.fullmatch(table)
    return path[1].replace("``", "`") if path else None


_PATH = re.compile(r"delta\.`(.*)`", re.DOTALL)
_ACCEPTED = (
    "a directory (/data/pubsub, ./pubsub), a URL (s3a://bucket/pubsub, file:/data/pubsub) "
    "or a catalog schema (pubsub, main.pubsub, my-catalog.`a name`) is accepted"
)


def _plain(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
