"""Builds SparkSessions, and checks the settings of a session that a caller gives.

Only this module builds sessions. It imports pyspark and delta when it builds one, so a store
without Spark opens quickly.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Mapping
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

from pubsub_delta.errors import FailedPrecondition, first_line

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Sessions: TypeAlias = "SparkSession | Callable[[], SparkSession] | None"
"""A session, a function that starts one on first use, or None for a store without Spark."""

DELTA_VERSION = "4.4.0"
LINES_OF_SPARK = ("4.0", "4.1", "4.2")
"""The Spark versions for which this Delta has JARs; docs/spark.md says what has run with each."""


def _line(version: str) -> str:
    return ".".join(version.split(".")[:2])


def delta_package(spark_version: str = "4.2.0") -> str:
    """Return the Maven coordinates of Delta's JARs for a version of Spark.

    >>> delta_package("4.0.5")
    'io.delta:delta-spark_4.0_2.13:4.4.0'
    """
    return f"io.delta:delta-spark_{_line(spark_version)}_2.13:{DELTA_VERSION}"


def check_pair(spark_version: str, delta_version: str) -> None:
    """Raise FailedPrecondition if the installed Spark and Delta do not match: no JARs fit both.

    >>> check_pair("4.1.4", "4.4.1")
    >>> check_pair("4.3.0", "4.4.1")
    Traceback (most recent call last):
    pubsub_delta.errors.FailedPrecondition: pyspark 4.3.0 and delta-spark 4.4.1 are installed; \
pyspark 4.0, 4.1 or 4.2 with delta-spark 4.4 is accepted: pip install 'pubsub-delta[spark]' \
installs such a pair
    """
    if _line(spark_version) in LINES_OF_SPARK and _line(delta_version) == _line(DELTA_VERSION):
        return
    lines = f"{', '.join(LINES_OF_SPARK[:-1])} or {LINES_OF_SPARK[-1]}"
    raise FailedPrecondition(
        f"pyspark {spark_version} and delta-spark {delta_version} are installed; pyspark {lines} "
        f"with delta-spark {_line(DELTA_VERSION)} is accepted: pip install 'pubsub-delta[spark]' "
        "installs such a pair"
    )


DELTA_PACKAGE = delta_package()
"""Delta's coordinates for the Spark version of ``conf/spark-defaults.conf``."""


DELTA_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
"""A session needs these settings to open Delta tables."""

SPEED_SETTINGS = {
    # A Delta log of a few hundred actions is read in one task instead of fifty.
    "spark.databricks.delta.snapshotPartitions": "1",
    # A bulk publish into the day's partition is written as it comes, not sorted by day first.
    "spark.sql.maxConcurrentOutputFileWriters": "4",
    # A round of publish, pull and ack by Spark generates more than 100 classes, most of them for
    # Delta's own queries; if they do not fit, each is compiled again every time.
    "spark.sql.codegen.cache.maxEntries": "1000",
}
"""A session without these settings works, but commits and publishes more slowly."""

_SLOW = {
    "spark.databricks.delta.snapshotPartitions": "50",
    "spark.sql.maxConcurrentOutputFileWriters": "0",
    "spark.sql.codegen.cache.maxEntries": "100",
}
"""The defaults of Spark and Delta for ``SPEED_SETTINGS``."""

LOCAL_SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.debug.maxToStringFields": "1000",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # VACUUM lists a small table in two tasks instead of hundreds.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    # Parquet pages with a wrong checksum raise an error, and are not read.
    "spark.hadoop.parquet.page.verify-checksum.enabled": "true",
}


DATABRICKS = "DATABRICKS_RUNTIME_VERSION"
"""An environment variable that Databricks sets. Sessions there have Delta without its extension."""

_CONNECT_MODULES = ("grpc", "grpc_status", "pandas", "zstandard")
"""Modules that the Spark Connect client of pyspark imports, and plain pyspark does not."""


def storage_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return Hadoop settings for the object storage that environment variables configure.

    The direct lane reads ``AWS_…`` and ``AZURE_…`` itself. Spark reads only the S3 keys of them.

    >>> storage_settings({"AWS_ENDPOINT_URL": "http://localhost:9000"})
    ... # doctest: +NORMALIZE_WHITESPACE
    {'spark.hadoop.fs.s3a.endpoint': 'http://localhost:9000',
     'spark.hadoop.fs.s3a.path.style.access': 'true'}
    """
    found = {}
    endpoint = environment.get("AWS_ENDPOINT_URL")
    if endpoint:
        by_host = environment.get("AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "").lower() == "true"
        found["fs.s3a.endpoint"] = endpoint
        found["fs.s3a.path.style.access"] = str(not by_host).lower()
    region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    if region:
        found["fs.s3a.endpoint.region"] = region
    if environment.get("AWS_REQUEST_PAYER", "").lower() == "true":
        found["fs.s3a.requester.pays.enabled"] = "true"
    account = environment.get("AZURE_STORAGE_ACCOUNT_NAME")
    key = environment.get("AZURE_STORAGE_ACCOUNT_KEY")
    if account and key:
        found[f"fs.azure.account.key.{account}.dfs.core.windows.net"] = key
    return {f"spark.hadoop.{name}": value for name, value in found.items()}


def settings_of_new(given: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a new session; those that are given replace all others.

    Under spark-submit, whose JVM runs already, those of speed are spark-submit's own.
    """
    ours = DELTA_SETTINGS
    if "PYSPARK_GATEWAY_PORT" not in environment:
        ours = {**DELTA_SETTINGS, **SPEED_SETTINGS, **LOCAL_SETTINGS}
    return {**storage_settings(environment), **ours, **given}


NO_JVM = "Spark did not start"
JVM_NEEDS = (
    "Java 17 or 21 is needed (JAVA_HOME), and for the first start a network to fetch Delta's JARs"
)


class SlowSettings(UserWarning):
    """The session lacks settings that make small commits or bulk publishes much faster."""


def local_session(
    *,
    app_name: str = "pubsub_delta",
    master: str = "local[*]",
    driver_memory: str = "2g",
    settings: Mapping[str, str] | None = None,
) -> SparkSession:
    """Return a SparkSession on this machine, with Delta and the settings that suit a store.

    The first call on a machine downloads Delta's JARs. A session that runs already is returned
    unchanged: under spark-submit, Delta comes from ``--packages`` or spark-defaults.conf. On
    Databricks the platform's session is returned. FailedPrecondition if pyspark or delta-spark is
    not installed, or there is no Java.
    """
    running = running_session()
    if running is not None:
        return running
    import pyspark
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    if DATABRICKS in os.environ:
        return SparkSession.builder.getOrCreate()
    if remote := os.environ.get("SPARK_REMOTE"):  # as spark-submit --remote sets it
        return remote_session(remote)
    builder = SparkSession.builder.appName(app_name).config("spark.driver.memory", driver_memory)
    if "PYSPARK_GATEWAY_PORT" not in os.environ:  # spark-submit has not started a JVM
        try:
            from delta import configure_spark_with_delta_pip
        except ModuleNotFoundError as error:
            raise _not_installed("delta-spark") from error

        if "spark.jars.packages" not in (settings or {}):
            check_pair(pyspark.__version__, version("delta-spark"))
        if master.startswith("local"):  # the default is the python3 on the PATH
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = configure_spark_with_delta_pip(builder.master(master))
    for key, value in settings_of_new(settings or {}, os.environ).items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except PySparkRuntimeError as error:
        if "JAVA_GATEWAY_EXITED" not in str(error):
            raise
        raise FailedPrecondition(
            f"{NO_JVM}: its Java process ended, and what it said is above; {JVM_NEEDS}"
        ) from error


def running_session() -> SparkSession | None:
    """Return the active session of this process, or None.

    FailedPrecondition if pyspark is not installed.
    """
    try:
        from pyspark.sql import SparkSession
    except ModuleNotFoundError as error:
        raise _not_installed("pyspark") from error
    return SparkSession.getActiveSession()


def remote_session(url: str) -> SparkSession:
    """Return a session of the Spark Connect server at a URL (``sc://host:15002``).

    The server must have Delta and the settings that suit a store. A remote session that runs
    already is returned. FailedPrecondition if the client is not installed, or this process has a
    local Spark. Spark retries for minutes to reach a server that does not respond.
    """
    check_connect_client(url)
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    try:
        return SparkSession.builder.remote(url).getOrCreate()
    except PySparkRuntimeError as error:
        raise FailedPrecondition(f"{url}: {first_line(error)}") from error


def check_connect_client(url: str) -> None:
    """Raise FailedPrecondition if a module that the Spark Connect client needs is missing.

    Without this check pyspark would end the process without an error message.
    """
    absent = [name for name in _CONNECT_MODULES if find_spec(name) is None]
    if absent:
        raise FailedPrecondition(
            f"{url}: the Spark Connect client needs {', '.join(absent)}; "
            "pip install 'pubsub-delta[connect]' installs it"
        )


def _not_installed(package: str) -> FailedPrecondition:
    return FailedPrecondition(
        f"{package} is not installed, and a local Spark session with Delta needs it; "
        "pip install 'pubsub-delta[spark]' installs both. To use the session of a platform, pass "
        "it: PubSub(spark, root)"
    )


def is_remote(spark: SparkSession) -> bool:
    """Return whether a session is a Spark Connect session."""
    return type(spark).__module__.startswith("pyspark.sql.connect.")


def is_dataframe(what: object) -> TypeGuard[DataFrame]:
    """Return whether an object is a DataFrame, of Spark or of Spark Connect.

    Its class is asked: a Column has every attribute, and the schema is a question to the server.
    """
    kind = type(what)
    return hasattr(kind, "sparkSession") and hasattr(kind, "schema")


def runs_on_databricks() -> bool:
    """Return whether this process is a Databricks driver, whose commits on S3 are safe."""
    return DATABRICKS in os.environ


def settings_of(spark: SparkSession) -> dict[str, str]:
    """Return the settings of a session, with Hadoop's under their own names (``fs.s3a.…``).

    The result is empty if the platform does not permit to read them.
    """
    try:
        read_all = spark.conf.getAll
    except Exception:  # each platform refuses it with an error of its own
        return {}
    return {key.removeprefix("spark.hadoop."): value for key, value in read_all.items()}


def setting_of(spark: SparkSession, setting: str, default: str) -> str | None:
    """Return a setting of a session, or a default; None if the platform does not permit to read it.

    Serverless compute does not permit it for most settings. Each platform refuses it with an
    error of its own, so any error counts as a refusal.
    """
    try:
        return spark.conf.get(setting, default) or default
    except Exception:
        return None


def check_session(spark: SparkSession) -> None:
    """Raise FailedPrecondition for a session without Delta, or of a Spark that is too old.

    It warns of missing ``SPEED_SETTINGS``.

    Settings that the platform does not permit to read are not checked.
    """
    try:
        release = spark.version
    except Exception as error:  # each way to end a session has an error of its own
        raise FailedPrecondition(
            f"the Spark session does not answer ({first_line(error)}), as one that was stopped or "
            "whose server has closed it; pass one that runs, as local_session() returns"
        ) from error
    if int(release.split(".")[0]) < 4:
        raise FailedPrecondition(
            f"the Spark session is of Spark {release}; 4.0 or a newer one is accepted, or "
            "PubSub(None, root), which needs none"
        )
    extensions = setting_of(spark, "spark.sql.extensions", "")
    if (
        extensions is not None
        and "DeltaSparkSessionExtension" not in extensions
        and DATABRICKS not in os.environ
    ):
        settings = ", ".join(f"{key}={value}" for key, value in DELTA_SETTINGS.items())
        raise FailedPrecondition(
            f"the Spark session has no Delta: spark.sql.extensions is {extensions!r}; use "
            f"local_session(), or start Spark with the package {delta_package(spark.version)} and "
            f"{settings}"
        )
    missing = [key for key, slow in _SLOW.items() if setting_of(spark, key, slow) == slow]
    if missing:
        wanted = ", ".join(f"{key}={SPEED_SETTINGS[key]}" for key in missing)
        warnings.warn(
            f"this Spark session works, but would be faster with {wanted} "
            "(conf/spark-defaults.conf says why)",
            SlowSettings,
            stacklevel=3,
        )


_STALE = "spark.databricks.delta.stalenessLimit"
_LEAVING_OUT = ("spark.sql.files.ignoreCorruptFiles", "spark.sql.files.ignoreMissingFiles")


def check_reading(spark: SparkSession) -> None:
    """Raise FailedPrecondition for a setting by which Spark reads fewer rows than are stored.

    Spark tells nobody: a batch would lack messages, and be acknowledged with them. Delta does not
    take these settings as options of a read.
    """
    limit = setting_of(spark, _STALE, "0")
    if limit is not None and re.fullmatch(r"0*\s*[a-z]*", limit.strip().lower()) is None:
        raise FailedPrecondition(
            f"the Spark session has {_STALE}={limit}, by which Delta reads tables as they were up "
            "to so long ago, without messages that were published since; nothing was read: 0 is "
            "accepted, also in a session of the store's own, spark.newSession()"
        )
    for key in _LEAVING_OUT:
        if (setting_of(spark, key, "false") or "").strip().lower() == "true":
            raise FailedPrecondition(
                f"the Spark session has {key}=true, by which Spark leaves out the rows of a file "
                "that is damaged or gone; nothing was read: false is accepted, also in a session "
                "of the store's own, spark.newSession()"
            )


_TIMES = "spark.sql.parquet.outputTimestampType"
_TRANSACTION = ("spark.databricks.delta.write.txnVersion", "spark.databricks.delta.write.txnAppId")


def check_writing(spark: SparkSession) -> None:
    """Raise FailedPrecondition for a setting by which Spark writes something else, or nothing.

    With times of milliseconds, messages have another publish time than their commit. In a session
    with a transaction of its own, Delta skips every write after the first one, and tells nobody.
    """
    if (setting_of(spark, _TIMES, "INT96") or "").upper() == "TIMESTAMP_MILLIS":
        raise FailedPrecondition(
            f"the Spark session has {_TIMES}=TIMESTAMP_MILLIS, which cuts off the microseconds of "
            "all times; nothing was written: INT96 or TIMESTAMP_MICROS is accepted"
        )
    if all(setting_of(spark, key, "") for key in _TRANSACTION):
        raise FailedPrecondition(
            f"the Spark session has {' and '.join(_TRANSACTION)}, so Delta skips each write to a "
            "table that has this version already; nothing was written: unset them, or open the "
            "store with spark.newSession(); idempotency_id= numbers a publish"
        )
