"""What counts as lost after a soak: nothing that a kill has left in doubt."""

from __future__ import annotations

from typing import Any

import pytest

from tests.endurance.library import in_doubt


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ([], set()),
        ([{"acking": ["a"]}], {"a"}),
        ([{"acking": ["a"]}, {"op": "publish"}], {"a"}),
        ([{"acking": ["a"]}, {"acked": ["a"]}], set()),
        ([{"acking": ["a"]}, {"aborted": "why"}, {"acking": ["b"]}, {"acked": ["b"]}], set()),
        ([{"acking": ["a"]}, {"acked": ["a"]}, {"acking": ["b", "c"]}], {"b", "c"}),
    ],
)
def test_only_the_last_ack_of_a_killed_process_is_in_doubt(
    written: list[dict[str, Any]], expected: set[str]
) -> None:
    assert in_doubt(written) == expected
