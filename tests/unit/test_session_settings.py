"""What is asked of a session, where a platform hides its settings or brings its own Spark."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import pytest

from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.session import (
    DATABRICKS,
    SPEED_SETTINGS,
    SlowSettings,
    check_reading,
    check_session,
    check_writing,
    delta_package,
    setting_of,
    settings_of,
)

DELTA = {"spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension"}


class StatusError(Exception):
    """What serverless compute raises: [CONFIG_NOT_AVAILABLE], of a class of its own."""


class Conf:
    """The settings of a session; some are hidden, as on a platform."""

    def __init__(self, settings: dict[str, str], hidden: frozenset[str] | None) -> None:
        self._settings = settings
        self._hidden = hidden

    def get(self, key: str, default: str | None = None) -> str | None:
        if self._hidden is None or key in self._hidden:
            raise StatusError(f"[CONFIG_NOT_AVAILABLE] Configuration {key} is not available.")
        return self._settings.get(key, default)

    @property
    def getAll(self) -> dict[str, str]:
        if self._hidden is None or self._hidden:
            raise StatusError("[CONFIG_NOT_AVAILABLE] Configurations are not available.")
        return self._settings


class Session:
    """A stand-in for a session, of which only the settings are asked."""

    def __init__(
        self,
        settings: dict[str, str],
        *hidden: str,
        all_hidden: bool = False,
        version: str = "4.0.5",
    ) -> None:
        self.version = version
        self.conf = Conf(settings, None if all_hidden else frozenset(hidden))


def told(session: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_session(session)
    assert all(each.category is SlowSettings for each in caught)
    return [str(each.message) for each in caught]


def test_a_platform_that_hides_its_settings_is_taken_as_it_is() -> None:
    # "Reading a setting that the platform hides is guarded"
    hiding: Any = Session({}, all_hidden=True)
    assert told(hiding) == []
    assert settings_of(hiding) == {}
    assert setting_of(hiding, "spark.sql.extensions", "x") is None


def test_only_what_can_be_read_is_said_to_be_slow() -> None:
    key, *others = SPEED_SETTINGS
    (line,) = told(Session(DELTA, *others))
    assert f"{key}={SPEED_SETTINGS[key]}" in line
    assert not [each for each in others if each in line]
    assert told(Session({**DELTA, **SPEED_SETTINGS})) == []


def test_a_session_that_tells_that_it_has_no_delta_is_refused_with_the_jars_of_its_spark(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(DATABRICKS, raising=False)
    with pytest.raises(FailedPrecondition, match="the Spark session has no Delta") as refused:
        told(Session({}))
    assert delta_package("4.0.5") in str(refused.value)
    monkeypatch.setenv(DATABRICKS, "17.3")
    assert told(Session(SPEED_SETTINGS)) == []


def test_settings_of_the_storage_have_hadoops_names() -> None:
    session: Any = Session({"spark.hadoop.fs.s3a.endpoint": "x", "spark.master": "y"})
    assert settings_of(session) == {"fs.s3a.endpoint": "x", "spark.master": "y"}


@pytest.mark.parametrize(
    ("setting", "value", "harmless"),
    [
        ("spark.databricks.delta.stalenessLimit", "1h", "0ms"),
        ("spark.databricks.delta.stalenessLimit", "100", "0"),
        ("spark.sql.files.ignoreCorruptFiles", "true", "false"),
        ("spark.sql.files.ignoreMissingFiles", "true", "False"),
    ],
)
def test_a_session_that_leaves_rows_out_is_refused_by_its_setting(
    setting: str, value: str, harmless: str
) -> None:
    # A batch without them would be acknowledged with them.
    leaving_out: Any = Session({setting: value})
    with pytest.raises(FailedPrecondition, match=f"{setting}={value}, .* nothing was read"):
        check_reading(leaving_out)
    for settings in ({setting: harmless}, {}):
        complete: Any = Session(settings)
        check_reading(complete)
    hiding: Any = Session({setting: value}, setting)
    check_reading(hiding)


@pytest.mark.parametrize("value", ["TIMESTAMP_MILLIS", "timestamp_millis"])
def test_a_session_that_cuts_times_off_is_refused_however_that_is_written(value: str) -> None:
    """Spark takes the value in any case of its letters."""
    setting = "spark.sql.parquet.outputTimestampType"
    cutting: Any = Session({setting: value})
    with pytest.raises(FailedPrecondition, match=f"{setting}=.* nothing was written"):
        check_writing(cutting)
    for settings in ({setting: "TIMESTAMP_MICROS"}, {}):
        whole: Any = Session(settings)
        check_writing(whole)
    hiding: Any = Session({setting: value}, setting)
    check_writing(hiding)


def test_a_session_of_an_older_spark_is_refused_with_what_is_accepted() -> None:
    # "ranges of versions that are tested as pairs"
    with pytest.raises(FailedPrecondition, match=r"is of Spark 3\.5\.9; 4\.0 or a newer one is"):
        told(Session(DELTA | SPEED_SETTINGS, version="3.5.9"))
    assert told(Session(DELTA | SPEED_SETTINGS, version="5.0.0")) == []


def test_no_jvm_is_started_for_packages_that_are_no_pair() -> None:
    program = (
        "import pyspark; pyspark.__version__ = '4.3.0'; "
        "from pubsub_delta import local_session; local_session()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=240
    )
    assert "FailedPrecondition: pyspark 4.3.0 and delta-spark 4.4" in done.stderr


def test_a_session_that_does_not_answer_is_told() -> None:
    """By Spark Connect, one that was stopped; in this process, one whose JVM is gone."""

    def ask(_: object) -> str:
        raise StatusError("[NO_ACTIVE_SESSION] No active Spark session found.")

    session: Any = type("SparkSession", (), {"version": property(ask)})()
    with pytest.raises(FailedPrecondition, match=r"does not answer \(\[NO_ACTIVE_SESSION\] No"):
        check_session(session)
