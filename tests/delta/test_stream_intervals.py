"""The interval of a streaming query, which Spark reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from pubsub_delta import InvalidArgument
from tests.conftest import Bench


@pytest.mark.parametrize("interval", ["soon", "60s", "-1 second"])
def test_an_interval_that_spark_does_not_read_is_refused(
    bench: Bench, tmp_path: Path, interval: str
) -> None:
    _, subscription = bench.pair()
    timing = {"processingTime": interval}
    with pytest.raises(InvalidArgument, match=f"trigger: .*{interval}.* is not accepted"):
        bench.store.subscribe_stream(
            subscription, print, checkpoint_location=str(tmp_path), trigger=timing
        )
