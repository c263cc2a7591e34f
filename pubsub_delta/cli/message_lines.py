"""Reads messages from a file or a pipe: lines, objects in Google's JSON, or records.

Google's objects have ``data``, ``attributes`` and ``orderingKey``. The fields ``messageId`` and
``publishTime``, which a pull prints, are accepted and ignored, and so are the attributes that a
topic with a schema adds.
"""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import json
import lzma
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from pubsub_delta.cli.records import BOM, CSV, JSON, Record, kind_of, records
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy.messages import broken_rule, size_of
from pubsub_delta.policy.schemas.json_data import NotStrict, unique_members
from pubsub_delta.policy.schemas.validation import ATTRIBUTES
from pubsub_delta.resources import Message

LINES, JSONL = "lines", "jsonl"
FORMATS = (LINES, JSONL, CSV, JSON)

MOST_BYTES = 10_000_000
"""The size of the messages of a batch (Pub/Sub's limit of a request)."""
MOST_NAMED = 10
"""The number of bad lines that an error names; it counts the others."""

_MODULES: dict[str, Any] = {".gz": gzip, ".bz2": bz2, ".xz": lzma}
_ZSTANDARD = (".zst", ".zstd")
_PACKED = (".zip", ".7z", ".lz4", ".snappy", ".br", ".tgz", ".tar")
_UNPACKING = (EOFError, OSError, lzma.LZMAError, zlib.error)
_FILLED_IN = {"messageId", "publishTime"}

OnBadRecord = Callable[[str, bytes, str], None]
WhyNot = Callable[[bytes], "str | None"]
"""Returns why the data of a message does not fit, None if it does."""


@dataclass(frozen=True)
class LineFormat:
    """How a line becomes a message.

    Args:
        kind: ``lines`` or ``jsonl``; or ``csv`` or ``json``, whose records are messages.
        attributes: of every message; those of an object's own go before them.
        ordering_key: of every message whose object has none.
        base64: the data of an object is in base64, as Google writes it, and not plain text.
        why_not: returns why data does not fit the schema of the topic; None without one.
    """

    kind: str = LINES
    attributes: Mapping[str, str] = field(default_factory=dict)
    ordering_key: str = ""
    base64: bool = False
    why_not: WhyNot | None = None

    def message(self, line: bytes) -> Message:
        """Return the message of a line; InvalidArgument if the line is not valid."""
        found = self._of_json(line) if self.kind == JSONL else self._of(line, {}, "")
        broken = broken_rule(found)
        if broken is None and self.why_not is not None:
            broken = self.why_not(found.data)
        if broken is not None:
            raise InvalidArgument(broken)
        return found

    @property
    def has_records(self) -> bool:
        """Whether messages are records of a file, not lines."""
        return self.kind in (CSV, JSON)

    def is_nothing(self, line: bytes) -> bool:
        """Return whether a line is blank, between objects."""
        return self.kind == JSONL and not line.strip()

    def _of(self, data: bytes, attributes: Mapping[str, str], ordering_key: str) -> Message:
        return Message(data, {**self.attributes, **attributes}, ordering_key or self.ordering_key)

    def _of_json(self, line: bytes) -> Message:
        try:
            given = json.loads(line.decode("utf-8-sig"), object_pairs_hook=unique_members)
        except json.JSONDecodeError as error:
            reason = f"{error.msg} at character {error.pos + 1}"
            raise InvalidArgument(
                f"it is not JSON: {reason}; one JSON object a line is accepted"
            ) from None
        except (NotStrict, UnicodeDecodeError, RecursionError) as error:
            raise InvalidArgument(
                f"it is not JSON: {error}; one JSON object a line is accepted"
            ) from None
        except ValueError:  # of Python's own limit
            raise InvalidArgument("a number has too many digits; strings are accepted") from None
        if not isinstance(given, dict):
            raise InvalidArgument("it is not a JSON object; one object a line is accepted")
        data, attributes = given.pop("data", None), given.pop("attributes", None)
        key = given.pop("orderingKey", None)
        unknown = sorted(given.keys() - _FILLED_IN)
        if unknown:
            raise InvalidArgument(
                f"{unknown[0]!r} is not a field of a message; data, attributes and orderingKey are "
                "accepted"
            )
        if not isinstance(attributes, (dict, type(None))):
            raise InvalidArgument(
                f"attributes: {json.dumps(attributes)[:40]} is not an object; an object of "
                "strings is accepted"
            )
        return self._of(
            self._data(data),
            {
                _text(name, "attributes"): _text(value, f"attributes[{name!r}]")
                for name, value in (attributes or {}).items()
                if name not in ATTRIBUTES
            },
            _text(key, "orderingKey"),
        )

    def _data(self, value: object) -> bytes:
        text = _text(value, "data")
        if not self.base64:
            return text.encode()
        plain = text.translate(str.maketrans("-_", "+/")).rstrip("=")
        try:
            return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
        except ValueError:
            raise InvalidArgument(
                f"data: {text[:40]!r} is not base64; without --base64 it is read as text"
            ) from None


@dataclass(frozen=True)
class Batch:
    """Messages of one publish, each with its record."""

    messages: list[Message] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.messages)

    def part(self, begin: int, end: int | None = None) -> Batch:
        """Return the messages from one index to another."""
        return Batch(self.messages[begin:end], self.records[begin:end])


def format_of(source: str) -> str:
    """Return the format of a file by its name; ``lines`` if the name shows none.

    >>> format_of("flights.CSV.gz"), format_of("flights.jsonl.zst"), format_of("-")
    ('csv', 'json', 'lines')
    """
    return kind_of(source, [*_MODULES, *_ZSTANDARD]) or LINES


@contextmanager
def open_lines(path: str) -> Iterator[IO[bytes]]:
    """Open a file to read its lines, decompressed by its suffix."""
    ending = Path(path).suffix.lower()
    if ending in _PACKED:
        raise InvalidArgument(
            f"{path}: {ending} is not a compression that --from reads; unpack the file, and pipe "
            f"its lines to --from=-: {', '.join([*_MODULES, *_ZSTANDARD])} are unpacked"
        )
    if Path(path).is_dir():
        raise InvalidArgument(
            f"{path} cannot be read: Is a directory; pubsub-delta-publish --input reads "
            "directories of files, and Delta tables"
        )
    module = _zstandard(path) if ending in _ZSTANDARD else _MODULES.get(ending, io)
    try:
        with module.open(path, "rb") as stream:
            yield stream
    except Exception as error:
        if not isinstance(error, _UNPACKING) and type(error).__name__ != "ZstdError":
            raise
        why = getattr(error, "strerror", None) or error
        raise InvalidArgument(f"{path} cannot be read: {why}") from None


def _zstandard(path: str) -> Any:
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise InvalidArgument(
            f"{path}: {name} is not installed; pip install 'pubsub-delta[cli]' installs it"
        ) from None


def batches(
    lines: Iterable[bytes],
    form: LineFormat,
    source: str,
    most: int,
    on_bad_record: OnBadRecord | None = None,
) -> Iterator[Batch]:
    r"""Yield the messages of lines in batches.

    A line ends with ``\n`` or ``\r\n``. InvalidArgument names the bad lines of a batch.

    Args:
        lines: the bytes of a file, line by line.
        form: how a line becomes a message.
        source: the name of the file, for errors.
        most: the largest number of messages in a batch; it has at most ``MOST_BYTES`` bytes, too.
        on_bad_record: called with the place, the bytes and the reason of each bad line, in place
            of the error.

    >>> [len(each) for each in batches([b"a\n", b"b\r\n", b"c"], LineFormat(), "-", 2)]
    [2, 1]
    """
    batch = Batch()
    size, wrong = 0, _BadLines(source)
    for record in _records(lines, form):
        try:
            if record.wrong is not None:
                raise InvalidArgument(record.wrong)
            message = form.message(record.data)
        except InvalidArgument as error:
            if on_bad_record is not None:
                on_bad_record(record.place, record.data, str(error))
            elif not record.is_rest:
                wrong.add(record.place, str(error))
            continue
        if batch and (len(batch) >= most or size + size_of(message) > MOST_BYTES):
            wrong.refuse()
            yield batch
            batch, size = Batch(), 0
        batch.messages.append(message)
        batch.records.append(record)
        size += size_of(message)
    wrong.refuse()
    if batch:
        yield batch


def _records(lines: Iterable[bytes], form: LineFormat) -> Iterator[Record]:
    if form.has_records:
        yield from records(lines, form.kind)
        return
    for number, line in enumerate(lines, start=1):
        text = line.removesuffix(b"\r\n" if line.endswith(b"\r\n") else b"\n")
        text = text.removeprefix(BOM.encode()) if number == 1 else text
        if not form.is_nothing(text):
            yield Record(f"line {number}", text)


class _BadLines:
    """Collects bad lines for one error."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._named: list[str] = []
        self._count = 0

    def add(self, place: str, why: str) -> None:
        self._count += 1
        if self._count <= MOST_NAMED:
            self._named.append(f"{place}: {why}")

    def refuse(self) -> None:
        """Raise InvalidArgument if there are bad lines."""
        if self._count:
            more = self._count - len(self._named)
            reason = "; ".join([*self._named, *([f"and {more:,} more lines"] if more else [])])
            raise InvalidArgument(f"{self._source}: {reason}")


def _text(value: object, where: str) -> str:
    """Return a string; None means "", as in Google's JSON."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidArgument(
            f"{where}: {json.dumps(value)[:40]} is not a string; a string is accepted"
        )
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(
            f"{where}: it has half of a surrogate pair; whole characters are accepted"
        ) from None
    return value
