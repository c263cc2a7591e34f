"""The tables of table subscriptions, by ``deltalake``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import TableNotFoundError

from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.table_config import TableState
from pubsub_delta.tables.lanes.direct.commits import properties_of_commit
from pubsub_delta.tables.lanes.direct.errors import translating_errors
from pubsub_delta.tables.lanes.direct.storage import reaches
from pubsub_delta.tables.lanes.protocol import TableMissing
from pubsub_delta.tables.targets import Outcome, Unwritable

_CHECKED = ("delta.constraints.", "delta.invariants")
"""Properties of constraints on rows; one row that breaks them would fail a whole commit."""
_FILLED = re.compile(r"delta\.|CURRENT_DEFAULT")
"""The metadata of columns that are generated, mapped or have defaults."""
_DENIED = re.compile(r"Permission denied|os error 13|\b(401|403) [A-Z]|AccessDenied")


class DirectTarget:
    """Implements ``Target`` for a table at a path or URL, opened at its last version.

    Unwritable if it does not exist, cannot be written, or has features that deltalake does not
    keep.
    """

    def __init__(self, path: str, options: Mapping[str, str] | None) -> None:
        self._path = path
        if not reaches(path):
            raise Unwritable(
                TableState.PERMISSION_DENIED, f"{path} is not a path or URL that deltalake opens"
            )
        try:
            with translating_errors(path):
                self._table = DeltaTable(path, storage_options=dict(options) if options else None)
        except (TableMissing, TableNotFoundError):
            raise Unwritable(
                TableState.NOT_FOUND, f"there is no Delta table at {path}; create it first"
            ) from None
        except FailedPrecondition as error:
            denied = TableState.PERMISSION_DENIED if _DENIED.search(str(error)) else None
            raise Unwritable(denied or TableState.SCHEMA_MISMATCH, str(error)) from error
        except Exception as error:
            raise self._denied(error) or error from None
        self._refuse_conditions()

    @property
    def columns(self) -> pa.Schema:
        """The columns of the table."""
        return pa.schema(self._table.schema().to_arrow())

    def outcome(self, key: tuple[str, int], write_id: str) -> Outcome | None:
        """Return the outcome of a number; the table's history has the id of its write."""
        application, number = key
        landed = self._table.transaction_version(application)
        if landed is None or landed < number:
            return None
        for commit in self._table.history():
            for outcome in (Outcome.WRITTEN, Outcome.CANCELLED):
                if commit.get("userMetadata") == _user_metadata(outcome, write_id):
                    return outcome
        return Outcome.OTHER

    def append(self, rows: pa.Table, key: tuple[str, int], write_id: str) -> None:
        """Append rows in one commit that carries the number as a transaction."""
        metadata = {"userMetadata": _user_metadata(Outcome.WRITTEN, write_id)}
        try:
            with translating_errors(self._path):
                write_deltalake(
                    self._table,
                    rows,
                    mode="append",
                    commit_properties=properties_of_commit(metadata, key),
                )
        except Exception as error:
            raise self._denied(error) or error from None

    def cancel(self, key: tuple[str, int], write_id: str) -> None:
        """Use up a number by a commit without rows."""
        metadata = {"userMetadata": _user_metadata(Outcome.CANCELLED, write_id)}
        try:
            with translating_errors(self._path):
                self._table.create_write_transaction(
                    [],
                    mode="append",
                    schema=self._table.schema(),
                    partition_by=list(self._table.metadata().partition_columns),
                    commit_properties=properties_of_commit(metadata, key),
                )
        except Exception as error:
            raise self._denied(error) or error from None

    def _refuse_conditions(self) -> None:
        found = [name for name in self._table.metadata().configuration if name.startswith(_CHECKED)]
        for each in json.loads(self._table.schema().to_json())["fields"]:
            found += [f"{each['name']}: {key}" for key in each["metadata"] if _FILLED.match(key)]
        if found:
            raise Unwritable(
                TableState.SCHEMA_MISMATCH,
                f"{self._path} has constraints, or columns that are generated, mapped or have "
                f"defaults ({', '.join(found)}); a table without is accepted",
            )

    def _denied(self, error: Exception) -> Unwritable | None:
        if _DENIED.search(str(error)):
            first = str(error).splitlines()[0]
            return Unwritable(TableState.PERMISSION_DENIED, f"{self._path}: {first}")
        return None


def _user_metadata(outcome: Outcome, write_id: str) -> str:
    """Return the user metadata of a commit that takes a number."""
    return json.dumps({"pubsub_delta": {"write": write_id, "outcome": outcome.value}})
