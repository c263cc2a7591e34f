"""Which rows of a table a query of Spark gets, asked of a stand-in for a session."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pubsub_delta.tables.lanes.spark.stored import stored
from tests.unit.test_session_settings import Session

TABLE = "delta.`/data/pubsub/messages/0a`"


class Reading(Session):
    """A session that has a table of version 7, perhaps in its cache."""

    def __init__(self, *, in_memory: bool, on_disk: bool) -> None:
        super().__init__({})
        self._level = SimpleNamespace(useMemory=in_memory, useDisk=on_disk)

    def table(self, name: str) -> Any:
        return SimpleNamespace(text=name, storageLevel=self._level)

    def sql(self, text: str) -> Any:
        return SimpleNamespace(text=text, collect=lambda: [{"version": 7}])


@pytest.mark.parametrize(("in_memory", "on_disk"), [(True, False), (False, True), (True, True)])
def test_a_table_that_the_session_has_cached_is_read_by_its_version(
    in_memory: bool, on_disk: bool
) -> None:
    # Spark would answer from the cache, which knows no commits of other programs.
    session: Any = Reading(in_memory=in_memory, on_disk=on_disk)
    rows: Any = stored(session, TABLE)
    assert rows.text == f"SELECT * FROM {TABLE} VERSION AS OF 7"


def test_a_table_that_is_not_cached_is_read_as_it_is() -> None:
    session: Any = Reading(in_memory=False, on_disk=False)
    rows: Any = stored(session, TABLE)
    assert rows.text == TABLE
