"""What the history of a topic tells of the publishes that wrote it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pubsub_delta.operations.history import idempotency_id_of
from pubsub_delta.operations.publish import publish_id_of
from pubsub_delta.tables.messages.commits import metadata_of
from tests.unit.in_memory import TOPIC, InMemory

versions = st.integers(0, 2**63 - 1)


@given(st.text(min_size=1, max_size=20), versions)
def test_an_idempotency_id_is_read_back_from_the_id_of_its_publish(
    application: str, version: int
) -> None:
    assert idempotency_id_of(publish_id_of((application, version))) == (application, version)


@pytest.mark.parametrize(
    ("publish_id", "expected"),
    [
        ("flights:2013:7", ("flights:2013", 7)),
        ("projects/a:b/jobs/c:0", ("projects/a:b/jobs/c", 0)),
        ("0123456789abcdef", None),
        ("flights:", None),
        ("flights:-1", None),
    ],
)
def test_the_version_stands_behind_the_last_colon(
    publish_id: str, expected: tuple[str, int] | None
) -> None:
    assert idempotency_id_of(publish_id) == expected


def test_a_stream_from_a_time_on_begins_with_what_was_published_at_it() -> None:
    # "from a version or a time on": both included, as with a seek
    world = InMemory()
    history = world.tables.messages(world.store.get_topic(TOPIC).uid).history
    times = []
    for n, each in enumerate("abc"):
        world.be_at(60.0 * n)
        times.append(world.now)
        world.publish(each)
    versions = [history.first_version_since(each) for each in times]
    newest = history.version()
    assert versions == [newest - 2, newest - 1, newest]
    assert history.first_version_since(times[-1] + timedelta(microseconds=1)) == newest


@pytest.mark.parametrize("text", ["by the night job", "[1]", "7", "", None])
def test_what_another_program_says_of_its_commit_is_no_publish(text: str | None) -> None:
    """ "`OPTIMIZE`, `VACUUM` … by Spark or `deltalake` are harmless", whatever they say."""
    assert metadata_of(text) == {}
