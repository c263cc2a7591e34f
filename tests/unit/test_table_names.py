"""What names a table of a table subscription, and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy.table_configs import check_table_config
from pubsub_delta.table_config import TableConfig


@pytest.mark.parametrize("given", ["/data/a\0b", "\0", "", "a/../b", "./a", None, 5])
def test_what_names_no_table_is_told_with_what_would(given: Any) -> None:
    no_others: dict[str, Any] = {"push_config": None, "enable_exactly_once_delivery": False}
    with pytest.raises(InvalidArgument) as error:
        check_table_config(TableConfig(given), **no_others)
    assert str(error.value).startswith(f"table_config.table: {given!r} names no table; ")
    assert str(error.value).endswith("accepted")
    longest = TableConfig("/" + "x" * 1023)
    assert check_table_config(longest, **no_others) == longest
    with pytest.raises(InvalidArgument, match="names no table"):
        check_table_config(TableConfig("/" + "x" * 1024), **no_others)
