"""Writes pulled messages to a new file: JSON lines, CSV or Parquet.

The file is written under a temporary name, synced to disk, and then renamed, so it is complete. An
existing file is never replaced, as its messages may be acknowledged and stored nowhere else.
"""

from __future__ import annotations

import csv
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pubsub_delta.cli.rest import in_key_order, message_record, time_text
from pubsub_delta.errors import AlreadyExists, FailedPrecondition, InvalidArgument
from pubsub_delta.resources import ReceivedMessage

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = ("message_id", "publish_time", "ordering_key", "attributes", "data", "delivery_attempt")
"""The columns of CSV and Parquet."""
_LINE_END = "\r\n"


class MessageFile(ABC):
    """A file that messages are written to."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream

    @abstractmethod
    def write(self, messages: Iterable[ReceivedMessage]) -> None:
        """Append messages."""

    def close(self) -> None:  # noqa: B027 - most files have no end of their own
        """Write the end of the file; the stream stays open."""


class _JsonLines(MessageFile):
    """Google's JSON of one message a line, with data in base64, as ``publish`` reads it."""

    def write(self, messages: Iterable[ReceivedMessage]) -> None:
        for each in messages:
            record = message_record(each.message, each.message_id, each.publish_time)
            text = json.dumps(record, ensure_ascii=False, sort_keys=True)
            self.stream.write(text.encode() + b"\n")


class _Csv(MessageFile):
    """A header, and one message a line; data is text, and attributes are a JSON object."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(stream)
        # older versions of Python quote no line breaks but those of lineterminator
        self._rows = csv.writer(_Encoded(stream), lineterminator=_LINE_END)
        self._rows.writerow(COLUMNS)

    def write(self, messages: Iterable[ReceivedMessage]) -> None:
        self._rows.writerows(map(_csv_row, messages))


class _Encoded:
    """Encodes rows to a stream of bytes, and ends each with a line feed."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def write(self, row: str) -> int:
        return self._stream.write(row.removesuffix(_LINE_END).encode() + b"\n")


class _Parquet(MessageFile):
    """The columns of a topic's table, and the delivery attempt."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(stream)
        import pyarrow.parquet as pq  # here and below, as it takes long to import

        self._schema = _schema()
        self._writer = pq.ParquetWriter(stream, self._schema)

    def write(self, messages: Iterable[ReceivedMessage]) -> None:
        import pyarrow as pa

        rows = [
            {name: getattr(each, name) for name in COLUMNS}
            | {"attributes": list(in_key_order(each.attributes).items())}
            for each in messages
        ]
        self._writer.write_table(pa.Table.from_pylist(rows, self._schema))

    def close(self) -> None:
        self._writer.close()


_KINDS: dict[str, type[MessageFile]] = {
    ".jsonl": _JsonLines,
    ".ndjson": _JsonLines,
    ".csv": _Csv,
    ".parquet": _Parquet,
}


def check_path(path: Path) -> None:
    """Raise InvalidArgument for an unknown suffix, AlreadyExists for an existing file."""
    if path.suffix.lower() not in _KINDS:
        raise InvalidArgument(
            f"output: {str(path)!r} does not name a kind of file; a name that ends in "
            f"{', '.join(_KINDS)} is accepted"
        )
    if path.is_symlink() or path.exists():
        raise _already_exists(path)


@contextmanager
def message_file(path: Path) -> Iterator[MessageFile]:
    """Yield a file to write to, which is synced and renamed at the end of the block.

    After an error no file is left. FailedPrecondition if the file cannot be written, AlreadyExists
    if another process created it meanwhile.
    """
    check_path(path)
    begun = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with open(begun, "xb") as stream:
            written = _KINDS[path.suffix.lower()](stream)
            yield written
            written.close()
            stream.flush()
            os.fsync(stream.fileno())
        _name(begun, path)
    except OSError as error:
        raise FailedPrecondition(
            f"output: {path} cannot be written: {error.strerror or error}; choose another path"
        ) from None
    finally:
        with suppress(OSError):
            begun.unlink()


def _name(begun: Path, path: Path) -> None:
    """Link a file to its name, and sync the directory; AlreadyExists if the name is taken."""
    try:
        os.link(begun, path)
    except FileExistsError:
        raise _already_exists(path) from None
    except OSError:  # the file system has no links
        if path.exists():
            raise _already_exists(path) from None
        begun.rename(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _already_exists(path: Path) -> AlreadyExists:
    return AlreadyExists(
        f"output: {path} exists already, and the messages in it may be acknowledged; another name "
        "is accepted"
    )


def _csv_row(message: ReceivedMessage) -> list[Any]:
    try:
        data = message.data.decode()
    except UnicodeDecodeError:
        raise InvalidArgument(
            f"output: the data of message {message.message_id} is not UTF-8, which CSV needs; a "
            "file that ends in .jsonl or .parquet holds any bytes"
        ) from None
    attributes = json.dumps(dict(message.attributes), ensure_ascii=False, sort_keys=True)
    time, attempt = time_text(message.publish_time), message.delivery_attempt
    return [message.message_id, time, message.ordering_key, attributes, data, attempt]


def _schema() -> pa.Schema:
    import pyarrow as pa

    return pa.schema(
        {
            "message_id": pa.string(),
            "publish_time": pa.timestamp("us", tz="UTC"),
            "ordering_key": pa.string(),
            "attributes": pa.map_(pa.string(), pa.string()),
            "data": pa.binary(),
            "delivery_attempt": pa.int32(),
        }
    )
