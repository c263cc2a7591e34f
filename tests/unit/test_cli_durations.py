"""Durations as the command line writes them: those of Google's JSON."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pubsub_delta.cli import rest


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.05, "0.05s"), (1.000001, "1.000001s"), (600, "600s"), (0, "0s")]
)
def test_a_duration_is_written_in_decimal_seconds(seconds: float, text: str) -> None:
    # JSON of google.protobuf.Duration: "3.000001s", and "0.05s" is not "0.5s"
    assert rest.duration_text(timedelta(seconds=seconds)) == text
