"""Reads records of CSV and JSON files.

Values are kept as text, and not parsed as numbers or dates: ``00501``, ``1.10``.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath

CSV, JSON = "csv", "json"
_KINDS = {".csv": CSV, ".json": JSON, ".jsonl": JSON, ".ndjson": JSON}
_LONGEST_FIELD = 10_000_000
_DECODER = json.JSONDecoder(parse_int=str)  # Python converts no more than 4,300 digits
BOM = "\ufeff"
"""The byte order mark, which programs on Windows write before a text."""


@dataclass(frozen=True)
class Record:
    """A record of a file, or a bad record.

    Args:
        place: the place in the file, such as ``line 3``.
        data: the record as JSON; the original bytes of a bad record.
        wrong: the reason why it is bad, else None.
        is_rest: whether it is bad only because no record can be found after a bad one.
    """

    place: str
    data: bytes
    wrong: str | None = None
    is_rest: bool = False


def kind_of(name: str, packed: Iterable[str]) -> str | None:
    """Return the kind of records by the name of a file, in any case.

    >>> kind_of("a.CSV.GZ", [".gz"]), kind_of("a.jsonl", []), kind_of("a.txt", [])
    ('csv', 'json', None)
    """
    path = PurePath(name)
    if path.suffix.lower() in packed:
        path = path.with_suffix("")
    return _KINDS.get(path.suffix.lower())


def records(lines: Iterable[bytes], kind: str) -> Iterator[Record]:
    """Yield the records of a file."""
    return _of_csv(lines) if kind == CSV else _of_json(lines)


# CSV


def _of_csv(lines: Iterable[bytes]) -> Iterator[Record]:
    """Yield each row as an object of strings, with names from the first line (RFC 4180).

    Lines in which no row can be found are bad records, too, so that none is left out.
    """
    csv.field_size_limit(_LONGEST_FIELD)
    taken: list[str] = []
    given = iter(lines)
    rows = csv.reader(_texts(given, taken), strict=True)
    names: list[str] | None = None
    while True:
        first, before = rows.line_num + 1, len(taken)
        try:
            row = next(rows, None)
        except csv.Error as error:
            yield Record(f"line {first}", _joined(taken[before:]), f"it is not CSV: {error}")
            break  # the next row cannot be found
        text = _joined(taken[before:])
        taken.clear()
        if row is None:
            return
        if not row:
            continue
        if any("\udc80" <= letter <= "\udcff" for value in row for letter in value):
            yield Record(f"line {first}", text, "it is not UTF-8")
            if names is None:
                break  # the names of the columns are not known
        elif names is None:
            names, twice = row, sorted({name for name in row if row.count(name) > 1})
            if twice:
                why = f"it names the column {twice[0]!r} twice; once is accepted"
                yield Record(f"line {first}", text, why)
                break
        elif len(row) != len(names):
            why = f"it has {len(row)} columns; {len(names)} are accepted: {', '.join(names)}"
            yield Record(f"line {first}", text, why)
        else:
            yield Record(f"line {first}", _written(dict(zip(names, row, strict=True))))
    for number, line in enumerate(given, start=rows.line_num + 1):
        why = f"it comes after line {first}, behind which no row of CSV can be found"
        yield Record(f"line {number}", line.rstrip(b"\r\n"), why, is_rest=True)


def _texts(lines: Iterable[bytes], taken: list[str]) -> Iterator[str]:
    """Decode and keep lines; bytes that are not UTF-8 become surrogates."""
    for number, line in enumerate(lines):
        text = line.decode("utf-8", "surrogateescape")
        text = text.removeprefix(BOM) if number == 0 else text
        taken.append(text)
        yield text


def _joined(texts: list[str]) -> bytes:
    return "".join(texts).rstrip("\r\n").encode("utf-8", "surrogateescape")


def _written(row: dict[str, str]) -> bytes:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()


# JSON


def _of_json(lines: Iterable[bytes]) -> Iterator[Record]:
    """Yield each object unchanged: one a line, or the elements of an array."""
    given = iter(lines)
    for number, line in enumerate(given, start=1):
        text = line.removeprefix(BOM.encode()) if number == 1 else line
        if text.lstrip().startswith(b"["):
            yield from _of_array(b"".join([text, *given]))
            return
        if text.strip():
            yield _object(f"line {number}", text.strip())
            break
    for later, line in enumerate(given, start=number + 1):
        if line.strip():
            yield _object(f"line {later}", line.strip())


def _of_array(data: bytes) -> Iterator[Record]:
    """Yield the elements of an array; what is no array is one bad record."""
    try:
        text = data.decode("utf-8")
        found = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        yield Record(f"line {error.lineno}", data, f"it is not a JSON array: {error.msg}")
        return
    except (ValueError, RecursionError) as error:
        yield Record("line 1", data, f"it is not a JSON array: {error}")
        return
    at = text.index("[") + 1
    for element in range(1, len(found) + 1):
        while text[at] in " \t\r\n,":
            at += 1
        _, end = _DECODER.raw_decode(text, at)
        yield _object(f"element {element}", text[at:end].encode())
        at = end


def _object(place: str, data: bytes) -> Record:
    try:
        found = _DECODER.decode(data.decode("utf-8"))
    except json.JSONDecodeError as error:
        return Record(place, data, f"it is not JSON: {error.msg} at character {error.pos + 1}")
    except (ValueError, RecursionError) as error:
        return Record(place, data, f"it is not JSON: {error}")
    return Record(place, data, None if isinstance(found, dict) else "it is not a JSON object")
