"""Where the consuming jobs write to, without Spark: a session is asked for its settings alone."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pyspark")

from pubsub_delta import FailedPrecondition, InvalidArgument, Unavailable
from pubsub_delta.jobs import outputs, set_aside

WRITES = "spark.databricks.delta.write"


class Written(Exception):
    """The rows are written."""


class Rows:
    """A DataFrame of a session with some settings; None for a platform that hides them."""

    def __init__(self, settings: dict[str, str] | None) -> None:
        self._settings = settings
        self.sparkSession = self.conf = self

    def get(self, key: str, default: str) -> str:
        if self._settings is None:
            raise RuntimeError("CONFIG_NOT_AVAILABLE")
        return self._settings.get(key, default)

    @property
    def write(self) -> Any:
        raise Written


OF_SESSION = {f"{WRITES}.txnAppId": "another", f"{WRITES}.txnVersion": "1"}


def append(settings: dict[str, str] | None, **options: Any) -> None:
    rows: Any = Rows(settings)
    outputs.append(rows, "bi.orders", merge_schema=False, **options)


def test_rows_that_delta_would_skip_are_refused_before_they_are_acknowledged() -> None:
    """What is acknowledged was written: Delta skips all writes of such a session but the first."""
    with pytest.raises(FailedPrecondition, match=r"txnVersion.* nothing was written"):
        append(OF_SESSION)
    for settings in ({}, {f"{WRITES}.txnAppId": "another"}, None):
        with pytest.raises(Written):
            append(settings)


def test_numbered_rows_go_before_a_transaction_of_the_session() -> None:
    """An option of a write goes before a setting of its session."""
    with pytest.raises(Written):
        append(OF_SESSION, txnAppId="query", txnVersion=0)


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ({"merge_schema": False}, "; --merge-schema adds columns that the table does not have"),
        ({"merge_schema": True}, ""),
        ({}, ""),
    ],
)
def test_a_refusal_names_no_option_that_the_job_does_not_have(
    monkeypatch: pytest.MonkeyPatch, asked: dict[str, bool], hint: str
) -> None:
    """``export_metrics --output`` has no --merge-schema, and one that is given has not helped."""

    class Refused(Exception):
        """As Spark refuses rows of other columns."""

    def refuse(*_: Any) -> None:
        raise Refused("other columns")

    monkeypatch.setattr(outputs, "AnalysisException", Refused)
    monkeypatch.setattr(outputs, "_append", refuse)
    rows: Any = Rows({})
    with pytest.raises(InvalidArgument) as refused:
        outputs.append(rows, "bi.orders", **asked)
    assert str(refused.value).endswith(f"cannot be written: other columns{hint}")


class OfJavaError(Exception):
    """As Spark hands on an error of Java: its cause may stand in its text, or beside it."""

    def __init__(self, text: str, cause: BaseException | None = None) -> None:
        super().__init__(text)
        self._cause = cause


FULL = "java.io.IOException: No space left on device"
OUTAGES = [
    (
        OfJavaError(f"[TASK_WRITE_FAILED] Task failed.\nCaused by: {FULL}"),
        "No space left on device",
    ),
    (OfJavaError("[TASK_WRITE_FAILED] Task failed.", OfJavaError(FULL)), "No space left on device"),
    (OfJavaError("java.net.ConnectException: Connection refused"), "Connection refused"),
    (OfJavaError("AwsServiceException: (Service: S3, Status Code: 503)"), "Status Code: 503"),
]


class Failing:
    """Rows and records whose writer fails."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.sparkSession = self.bad = self.conf = self

    def get(self, _: str, default: str) -> str:
        return default

    def coalesce(self, _: int) -> Failing:
        return self

    @property
    def write(self) -> Any:
        raise self.error


@pytest.mark.parametrize(("error", "why"), OUTAGES, ids=["text", "cause", "away", "busy"])
def test_a_storage_that_is_full_or_away_is_worth_another_run(error: Exception, why: str) -> None:
    """docs/guide/jobs.md: 75, "the storage is full or cannot be reached"; a traceback ended it."""
    rows: Any = Failing(error)
    with pytest.raises(Unavailable, match=f"--output: 'bi.orders' cannot be written now .*{why}"):
        outputs.append(rows, "bi.orders", merge_schema=False)
    with pytest.raises(Unavailable, match=f"--bad-records: './bad' cannot be written now .*{why}"):
        set_aside.add_to("./bad", rows)


def test_another_error_of_a_write_is_handed_on() -> None:
    rows: Any = Failing(OfJavaError("java.lang.ArithmeticException: / by zero"))
    with pytest.raises(OfJavaError):
        outputs.append(rows, "bi.orders")
