"""Which lane a store takes, and what it refuses, without any session being asked for work."""

from __future__ import annotations

from typing import Any

import pytest

from pubsub_delta.errors import FailedPrecondition, InvalidArgument
from pubsub_delta.tables.lanes.choice import Lanes
from pubsub_delta.tables.layout import layout_of


def lanes(root: str, lane: Any = None) -> Lanes:
    return Lanes(None, layout_of(root), lane)


@pytest.mark.parametrize("root", ["/data/pubsub", "s3a://bucket/pubsub", "gs://bucket/pubsub"])
def test_this_process_works_where_deltalake_reaches_the_files(root: str) -> None:
    assert lanes(root).line == f"direct lane: deltalake opens {root}"


@pytest.mark.parametrize("root", ["hdfs://host/pubsub", "dbfs:/pubsub", "main.pubsub"])
def test_spark_works_on_everything_else(root: str) -> None:
    assert lanes(root).choice[0] == "spark"
    with pytest.raises(FailedPrecondition, match="needs Spark"):
        _ = lanes(root).control


def test_a_lane_may_be_asked_for_where_it_can_be_taken() -> None:
    assert lanes("/data/pubsub", "spark").line == "spark lane: it was asked for"
    with pytest.raises(FailedPrecondition, match="catalog schema"):
        _ = lanes("main.pubsub", "direct").choice
    with pytest.raises(InvalidArgument, match="'quick'; 'direct', 'spark' or None"):
        lanes("/data/pubsub", "quick")


def test_on_s3_no_dataframe_is_published_beside_the_direct_lane(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ "What cannot be made safe is refused by name": Delta's log store for S3 overwrites."""
    monkeypatch.setattr(Lanes, "session_for", lambda *_: None)
    table = "delta.`s3a://bucket/pubsub/messages/0`"
    with pytest.raises(FailedPrecondition, match="on S3 a DataFrame cannot be published"):
        lanes("s3a://bucket/pubsub").writer_for(table)


def test_who_names_a_directory_without_its_slash_is_told() -> None:
    # "Every message says what was wrong, the offending value, and what would be accepted."
    with pytest.raises(FailedPrecondition, match=r"'store' is a schema of a catalog.*'\./store'"):
        Lanes(None, layout_of("store")).spark  # noqa: B018
    with pytest.raises(FailedPrecondition, match=r"^this needs Spark .*local_session\(\)"):
        Lanes(None, layout_of("./store")).spark  # noqa: B018
