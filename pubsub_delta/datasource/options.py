"""The options of ``format("pubsub_delta")``: parses them, and refuses unknown ones by name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

from pubsub_delta.errors import (
    FailedPrecondition,
    InvalidArgument,
    PubSubError,
    Unavailable,
    Unimplemented,
    first_line,
)
from pubsub_delta.names import ResourceName, check_project, subscription_name, topic_name
from pubsub_delta.tables.layout import layout_of, on_disk
from pubsub_delta.tables.store import Tables

Use = Literal["read", "readStream", "write", "writeStream"]

_READ = frozenset({"root", "project", "columns"})
_NAMES: Mapping[Use, frozenset[str]] = {
    "read": _READ | {"topic", "backlog", "asOf", "pushFilters"},
    "readStream": _READ | {"topic", "subscription", "maxMessagesPerTrigger", "maxBytesPerTrigger"},
    "write": frozenset({"root", "project", "topic", "txnAppId", "txnVersion"}),
    "writeStream": frozenset({"root", "project", "topic"}),
}
_OF_A_TOPIC = frozenset({"asOf", "pushFilters"})
"""The options of a read that mean nothing for a backlog."""
_KNOWN = frozenset().union(*_NAMES.values())
_ALIASES = {
    "path": "root",
    "projectId": "project",
    "topicId": "topic",
    "subscriptionId": "subscription",
}
"""Other names: that of ``load(path)``, and those of the Pub/Sub connector of Databricks."""

_ENVIRONMENT = {"root": "PUBSUB_DELTA_ROOT", "project": "PUBSUB_DELTA_PROJECT"}
"""The environment variables for options that are not given, as for the command line."""

_IGNORED = frozenset(
    {
        *("clientEmail", "clientId", "privateKey", "privateKeyId", "serviceCredential"),
        *("numFetchPartitions", "maxRecordsPerFetch", "maxFetchPeriod"),
        *("checkpointLocation", "queryName"),
    }
)
"""Ignored options: credentials and fetch settings of Google's service, and Spark's own options."""

_CANONICAL = {name.lower(): name for name in (*_KNOWN, *_ALIASES, *_IGNORED)}
_CANONICAL["deletesubscriptiononstreamstop"] = "deleteSubscriptionOnStreamStop"
_CANONICAL["paths"] = "paths"
_STORAGE = ("fs.", "google.cloud.auth.", "spark.hadoop.")
_BYTES = re.compile(r"(\d{1,18})\s*([kmgt]?)i?b?", re.IGNORECASE)
_FACTORS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}

COLUMNS = ("pubsub_delta", "databricks")


@dataclass(frozen=True)
class Options:
    """The options of one read or write.

    Names are canonical: ``subscription``, ``asOf``. ``storage``: settings of Hadoop's object
    stores, as pairs. ``is_of_databricks``: the query was written for the Pub/Sub connector of
    Databricks, as the option ``subscriptionId`` shows.
    """

    given: tuple[tuple[str, str], ...]
    storage: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    is_of_databricks: bool = False

    def get(self, name: str) -> str | None:
        """Return the text of an option; None if it is not given."""
        return dict(self.given).get(name)

    @property
    def root(self) -> str:
        """The root of the store; InvalidArgument if it is not given."""
        root = self.get("root")
        if root is None:
            raise InvalidArgument(
                "root: the option is not given; the store's directory or URL is accepted, as in "
                '.option("root", "/data/pubsub"), or .load("/data/pubsub"), or in the variable '
                "PUBSUB_DELTA_ROOT of the driver's environment"
            )
        return root

    @property
    def is_databricks(self) -> bool:
        """Whether the columns are those of the Pub/Sub connector of Databricks."""
        chosen = self.get("columns") or COLUMNS[self.is_of_databricks]
        if chosen not in COLUMNS:
            raise InvalidArgument(f"columns: {chosen!r}; one of {', '.join(COLUMNS)} is accepted")
        return chosen == COLUMNS[1]

    @property
    def topic(self) -> ResourceName | None:
        """The topic, if one is given."""
        name = self.get("topic")
        return None if name is None else topic_name(name, self._project)

    @property
    def subscription(self) -> ResourceName | None:
        """The subscription that a stream consumes, if one is given."""
        name = self.get("subscription")
        return None if name is None else subscription_name(name, self._project)

    @property
    def creates_subscription(self) -> bool:
        """Whether to create a subscription that does not exist, as that connector does."""
        return self.is_of_databricks and self.get("topic") is not None

    @property
    def backlog(self) -> ResourceName | None:
        """The subscription whose backlog is read, if one is given."""
        name = self.get("backlog")
        return None if name is None else subscription_name(name, self._project)

    @property
    def as_of(self) -> int | str | None:
        """The version (a number) or time as of which the topic is read."""
        text = self.get("asOf")
        return int(text) if text is not None and re.fullmatch(r"\d{1,18}", text) else text

    @property
    def max_messages(self) -> int | None:
        """The largest number of messages in a micro-batch."""
        return self._number("maxMessagesPerTrigger")

    @property
    def max_bytes(self) -> int | None:
        """The approximate size of a micro-batch, in bytes of the topic's files."""
        text = self.get("maxBytesPerTrigger")
        if text is None:
            return None
        number = _BYTES.fullmatch(text.strip())
        if number is None or not int(number[1]):
            raise InvalidArgument(
                f"maxBytesPerTrigger: {text!r}; a number of bytes, or one like '64m' or '2g', "
                "is accepted"
            )
        return int(number[1]) << _FACTORS[number[2].lower()]

    @property
    def pushes_filters(self) -> bool:
        """Whether the reader evaluates filters of the query."""
        text = (self.get("pushFilters") or "false").lower()
        if text not in ("true", "false"):
            raise InvalidArgument(f"pushFilters: {text!r}; true or false is accepted")
        return text == "true"

    @property
    def transaction(self) -> tuple[str, int] | None:
        """The application id and version under which a batch is published once, if given."""
        application, text = self.get("txnAppId"), self.get("txnVersion")
        if application is None and text is None:
            return None
        if not application or text is None or not re.fullmatch(r"\d{1,18}", text):
            raise InvalidArgument(
                f"txnAppId, txnVersion: {application!r}, {text!r}; both or none are "
                "accepted: a text, and a whole number from 0"
            )
        return application, int(text)

    def check(self, use: Use) -> None:
        """Raise InvalidArgument for an option that a use does not have."""
        accepted = _NAMES[use]
        for name, value in self.given:
            if name == "subscription" and use == "read":
                raise InvalidArgument(
                    f"subscription: {value!r}; a batch read leases and acknowledges nothing: "
                    '.option("backlog", …) reads the backlog of a subscription, '
                    'and spark.readStream.format("pubsub_delta") consumes it'
                )
            if name not in accepted:
                raise InvalidArgument(
                    f"{name}: {use} does not have this option; accepted are "
                    f"{', '.join(sorted(accepted))}, and fs.… of the storage"
                )
            if name in _OF_A_TOPIC and self.get("backlog") is not None:
                raise InvalidArgument(
                    f"{name}: {value!r} together with backlog; a backlog is read as it is now, and "
                    "Spark evaluates its conditions: the option is accepted with topic"
                )

    def tables(self) -> Tables:
        """Return the store's tables, the same ones for each call in a process.

        FailedPrecondition if only a session can reach them.
        """
        return _opened(self.root, self.storage)

    @contextmanager
    def reaching(self) -> Iterator[Tables]:
        """Yield the store's tables; an error of reaching them names the sources of credentials."""
        tables = self.tables()
        try:
            yield tables
        except PubSubError:
            raise
        except Exception as error:
            if "://" not in self.root or self.root.startswith("file:"):
                raise
            raise Unavailable(
                f"root: {self.root} cannot be reached ({first_line(error)}); credentials come from "
                "the environment of the driver and the executors (AWS_…, AZURE_…, GOOGLE_…), or "
                'from options named like Hadoop\'s, as .option("fs.s3a.access.key", …)'
            ) from error

    @property
    def _project(self) -> str:
        return check_project(self.get("project") or "local")

    def _number(self, name: str) -> int | None:
        text = self.get(name)
        if text is None:
            return None
        if not re.fullmatch(r"\d{1,18}", text) or not int(text):
            raise InvalidArgument(f"{name}: {text!r}; a whole number from 1 is accepted")
        return int(text)


def read_options(
    given: Mapping[str, str], environment: Mapping[str, str] = MappingProxyType({})
) -> Options:
    """Parse the options that Spark passes, in any case; InvalidArgument names a wrong one.

    A directory is made absolute: tasks have other working directories. ``environment``: the
    variables for root and project without an option. Unimplemented for a table of a catalog.
    """
    _refuse_table(given)
    found: dict[str, str] = {}
    names: dict[str, str] = {}
    storage: dict[str, str] = {}
    is_of_databricks = False
    for key, value in given.items():
        if key.lower().startswith(_STORAGE):
            storage[key.lower()] = value
            continue
        name = _CANONICAL.get(key.lower())
        if name == "paths":
            raise InvalidArgument(f"load: {value}; one path, the root of one store, is accepted")
        if name is None:
            raise InvalidArgument(
                f"{key}: no option of format('pubsub_delta') has this name; accepted are "
                f"{', '.join(sorted(_KNOWN))}, the names of Databricks' Pub/Sub connector, and "
                "fs.… of the storage"
            )
        if name == "deleteSubscriptionOnStreamStop":
            if value.lower() != "false":
                raise InvalidArgument(
                    f"{name}: {value!r}; false is accepted; delete_subscription deletes a "
                    "subscription"
                )
            continue
        if name in _IGNORED:
            continue
        is_of_databricks |= name == "subscriptionId"
        plain = _ALIASES.get(name, name)
        taken = names.setdefault(plain, name)
        value = _absolute(value) if plain == "root" else value
        if not _is_same(plain, found.setdefault(plain, value), value):
            raise InvalidArgument(
                f"{name}: {value!r}, but {taken}, the same option, is {found[plain]!r}; give one "
                "of the two"
            )
    for name, variable in _ENVIRONMENT.items():
        if text := environment.get(variable):
            found.setdefault(name, _absolute(text) if name == "root" else text)
    return Options(tuple(sorted(found.items())), tuple(sorted(storage.items())), is_of_databricks)


def _refuse_table(given: Mapping[str, str]) -> None:
    """Raise Unimplemented if the options are the properties of a table that Spark creates."""
    if any(key.lower() == "provider" for key in given):
        raise Unimplemented(
            "USING pubsub_delta: a temporary view is accepted, and a table is not: Spark tells a "
            "source in Python the options of a table only when it creates the table, and none when "
            "it is queried; CREATE TEMPORARY VIEW name USING pubsub_delta OPTIONS (root "
            "'/data/pubsub', topic 'orders') is accepted, or create_views of a store, which makes "
            "views in a catalog"
        )


def _absolute(root: str) -> str:
    layout = layout_of(root)
    return root if layout.in_catalog else layout.base


def _is_same(name: str, one: str, other: str) -> bool:
    if name == "root":
        return (on_disk(one) or one) == (on_disk(other) or other)
    return one == other


@lru_cache(maxsize=8)
def _opened(root: str, storage: tuple[tuple[str, str], ...]) -> Tables:
    tables = Tables(None, root, hadoop=dict(storage))
    lane, why = tables.lanes.choice
    if lane != "direct":
        raise FailedPrecondition(
            f"root: {why}; format('pubsub_delta') works in processes that have no session, and "
            "takes a directory (a relative one with a slash: ./pubsub), or a URL of S3, Azure or "
            "Google; elsewhere subscribe_stream, "
            "publish_stream, read_topic and backlog of PubSub(spark, root) do the same"
        )
    return tables
