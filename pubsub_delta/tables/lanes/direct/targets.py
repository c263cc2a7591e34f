"""The tables of table subscriptions, by ``deltalake``."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import TableNotFoundError

from pubsub_delta.errors import FailedPrecondition, first_line
from pubsub_delta.table_config import TableState
from pubsub_delta.tables import text_lengths
from pubsub_delta.tables.lanes.direct.errors import translating_errors
from pubsub_delta.tables.lanes.direct.storage import reaches
from pubsub_delta.tables.lanes.protocol import TableMissing
from pubsub_delta.tables.lanes.storage_errors import StorageRefused
from pubsub_delta.tables.schemas import is_of_a_store
from pubsub_delta.tables.targets import Outcome, Unwritable

_CHECKED = ("delta.constraints.", "delta.invariants")
"""Properties of constraints on rows; one row that breaks them would fail a whole commit."""
_FILLED = re.compile(r"delta\.|CURRENT_DEFAULT")
"""The metadata of columns that are generated, mapped or have defaults."""
_WRITTEN = {
    *("appendOnly", "changeDataFeed", "deletionVectors", "timestampNtz", "v2Checkpoint"),
    *("variantType", "variantType-preview"),
    # Harmless unless a property or a column makes use of them, which is refused by name.
    *("invariants", "checkConstraints", "generatedColumns", "columnMapping"),
}
"""The table features with which ``deltalake`` appends rows: by all others a commit fails."""
_DENIED = re.compile(r"Permission denied|os error 13|\b(401|403) [A-Z]|AccessDenied")


class DirectTarget:
    """Implements ``Target`` for a table at a path or URL, opened at its last version.

    Unwritable if it does not exist, cannot be opened, or, where it ``takes_rows``, is one of a
    store's own, or has features that deltalake does not keep.
    """

    def __init__(
        self, path: str, options: Mapping[str, str] | None, *, takes_rows: bool = True
    ) -> None:
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
        except Exception as error:
            raise self._unwritable(error) or error from None
        if takes_rows:
            self._refuse_own_tables()
            self._refuse_conditions()

    @property
    def columns(self) -> pa.Schema:
        """The columns of the table."""
        return pa.schema(self._table.schema().to_arrow())

    @property
    def partition_columns(self) -> Sequence[str]:
        """The names of the columns by which the table is partitioned."""
        return list(self._table.metadata().partition_columns)

    def outcome(self, key: tuple[str, int], write_id: str) -> Outcome | None:
        """Return the outcome of a number.

        A second transaction identifies the last write, however short the table's log is kept. The
        table's history has the ids of earlier ones.
        """
        application, number = key
        landed = self._table.transaction_version(application)
        if landed is None or landed < number:
            return None
        is_last, last = landed == number, self._table.transaction_version(_identified(application))
        earlier = [] if is_last else [each.get("userMetadata") for each in self._table.history()]
        for outcome in (Outcome.WRITTEN, Outcome.CANCELLED):
            metadata = _user_metadata(outcome, write_id)
            if metadata in earlier or (is_last and last == _identity(metadata)):
                return outcome
        return Outcome.OTHER

    def append(self, rows: pa.Table, key: tuple[str, int], write_id: str) -> None:
        """Append rows in one commit that carries the number as a transaction."""
        try:
            with translating_errors(self._path):
                write_deltalake(
                    self._table,
                    rows,
                    mode="append",
                    commit_properties=_properties(Outcome.WRITTEN, key, write_id),
                )
        except Exception as error:
            raise self._unwritable(error) or error from None

    def cancel(self, key: tuple[str, int], write_id: str) -> None:
        """Use up a number by a commit without rows."""
        try:
            with translating_errors(self._path):
                self._table.create_write_transaction(
                    [],
                    mode="append",
                    schema=self._table.schema(),
                    partition_by=list(self.partition_columns),
                    commit_properties=_properties(Outcome.CANCELLED, key, write_id),
                )
        except Exception as error:
            raise self._unwritable(error) or error from None

    def _refuse_own_tables(self) -> None:
        """Refuse the tables of stores, also by another URL, and those of a schema of a catalog."""
        if is_of_a_store(self.columns.names, self._table.metadata().configuration):
            raise Unwritable(
                TableState.PERMISSION_DENIED,
                f"{self._path} is among the tables of the store itself, or of another one",
            )

    def _refuse_conditions(self) -> None:
        found = [name for name in self._table.metadata().configuration if name.startswith(_CHECKED)]
        found += sorted({*(self._table.protocol().writer_features or ())} - _WRITTEN)
        for each in json.loads(self._table.schema().to_json())["fields"]:
            found += [f"{each['name']}: {key}" for key in each["metadata"] if _FILLED.match(key)]
            if text_lengths.DECLARED in each["metadata"] and each["type"] != "string":
                found.append(f"{each['name']}: {each['metadata'][text_lengths.DECLARED]}")
        columns = map(self.columns.field, self.partition_columns)
        # deltalake writes other bytes into the log than it reads from there
        found += [f"{each.name}: BINARY" for each in columns if each.type == pa.binary()]
        if found:
            raise Unwritable(
                TableState.SCHEMA_MISMATCH,
                f"{self._path} has constraints, columns that are generated, mapped or have "
                "defaults, CHAR or VARCHAR within others, BINARY partition columns, or features "
                f"that deltalake does not write ({', '.join(found)}); a table without is accepted",
            )

    def _unwritable(self, error: Exception) -> Unwritable | None:
        """Return why nobody can write to the table; None if a later try can succeed."""
        if isinstance(error, StorageRefused) or _DENIED.search(str(error)):
            why = first_line(error)
            return Unwritable(TableState.PERMISSION_DENIED, f"{self._path}: {why}")
        if isinstance(error, FailedPrecondition):
            why = first_line(error.__cause__ or error)
            return Unwritable(
                TableState.SCHEMA_MISMATCH,
                f"{self._path} is not a table that deltalake can open and write ({why})",
            )
        return None


def _properties(outcome: Outcome, key: tuple[str, int], write_id: str) -> CommitProperties:
    """Return the properties of a commit that takes a number."""
    metadata = _user_metadata(outcome, write_id)
    of_last = Transaction(_identified(key[0]), _identity(metadata))
    return CommitProperties(
        custom_metadata={"userMetadata": metadata}, app_transactions=[Transaction(*key), of_last]
    )


def _identified(application: str) -> str:
    """Return the application id of the transaction that identifies the last write."""
    return f"{application}.last"


def _identity(metadata: str) -> int:
    """Return the version of that transaction: a hash of 63 bits."""
    return int.from_bytes(hashlib.blake2b(metadata.encode(), digest_size=8).digest(), "big") >> 1


def _user_metadata(outcome: Outcome, write_id: str) -> str:
    """Return the user metadata of a commit that takes a number."""
    return json.dumps({"pubsub_delta": {"write": write_id, "outcome": outcome.value}})
