"""What the history of a topic tells of the publishes that wrote it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pubsub_delta.operations.history import idempotency_id_of
from pubsub_delta.operations.publish import publish_id_of

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
