"""Which commits may be forgotten: "older than", "where fewer than 200 are, none", snapshots."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from pubsub_delta import InvalidArgument
from pubsub_delta.operations.maintain import kept_history
from pubsub_delta.policy.truncation import LEAST, Known, Truncation, truncation

HOUR = timedelta(hours=1)
NOW = datetime(2026, 3, 1, tzinfo=timezone.utc)


def known(count: int, first: int = 0) -> list[Known]:
    """Return commits, the newest first, one a minute; the last was a minute ago."""
    return [Known(first + count - n, NOW - n * timedelta(minutes=1)) for n in range(1, count + 1)]


def test_commits_that_are_older_are_forgotten() -> None:
    commits = known(1000, first=70)
    assert truncation(commits, NOW, HOUR) == Truncation(first=70, seconds=3600, kept_from=1009)


def test_a_commit_is_kept_until_the_minute_is_over() -> None:
    commits = known(LEAST + 2)  # the newest is a minute old, the next two
    assert truncation(commits, NOW, timedelta(seconds=60)) == Truncation(0, 60, LEAST)
    assert truncation(commits, NOW, timedelta(seconds=59)) == Truncation(0, 59, LEAST + 1)


def test_few_are_not_worth_it() -> None:
    assert truncation(known(LEAST + 60), NOW, HOUR) is None
    assert truncation(known(LEAST + 61), NOW, HOUR) is not None
    assert truncation([], NOW, HOUR) is None


def test_what_came_after_a_snapshot_is_kept_and_an_hour_before() -> None:
    commits = known(1000)  # version n is 1000 - n minutes old
    found = truncation(commits, NOW, HOUR, needed_after=599)
    assert found == Truncation(first=0, seconds=400 * 60 + 3600, kept_from=539)
    # all that came after it is young enough anyway
    found = truncation(commits, NOW, HOUR, needed_after=998)
    assert found == truncation(commits, NOW, timedelta(minutes=61))
    assert truncation(commits, NOW, HOUR, needed_after=2000) == truncation(commits, NOW, HOUR)


def test_a_snapshot_of_the_beginning_keeps_all() -> None:
    assert truncation(known(1000), NOW, HOUR, needed_after=0) is None


def test_half_a_second_is_rounded_to_what_keeps_more() -> None:
    found = truncation(known(1000), NOW, timedelta(seconds=100.5))
    assert found is not None
    assert found.seconds == 101


@pytest.mark.parametrize("asked", ["59s", 0, "9d", "soon", -60])
def test_how_much_to_keep_is_a_minute_to_eight_days(asked: str | int) -> None:
    with pytest.raises(InvalidArgument, match="truncate_history"):
        kept_history(asked)


def test_unless_asked_nothing_is_forgotten() -> None:
    assert kept_history(None) is None
    assert kept_history("1m") == timedelta(minutes=1)
