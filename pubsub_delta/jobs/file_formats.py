"""Formats and compression of files, by their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath

from pubsub_delta import InvalidArgument

FORMATS = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".parq": "parquet",
    ".pq": "parquet",
}
TEXTS = ("csv", "json")
"""Text formats, whose files may be compressed."""
UNPACKED = (".gz", ".bz2", ".zst", ".zstd", ".deflate", ".lz4", ".snappy")
"""Suffixes that Spark decompresses; the last two as Hadoop writes them."""
PACKED = (*UNPACKED, ".xz", ".zip", ".7z", ".br", ".gzip", ".lzma", ".lzo", ".tar", ".tgz")


def format_of(name: str, inside: str = "") -> str | None:
    """Return the format by the name of a file, in any case; None if unknown.

    A file without a suffix has the format of its directory.

    >>> format_of("flights.CSV"), format_of("a.jsonl.gz"), format_of("part-0", "flights.csv/")
    ('csv', 'json', 'csv')
    """
    ending = _ending(name)
    if not ending and inside:
        ending = _ending(inside.rstrip("/"))
    return FORMATS.get(ending)


def packing_of(name: str) -> str:
    """Return the suffix of the compression of a file, or "".

    >>> packing_of("a.csv.gz"), packing_of("a.gz.parquet")
    ('.gz', '')
    """
    ending = PurePosixPath(name).suffix
    return ending if ending.lower() in PACKED else ""


def format_of_all(names: Sequence[str], path: str, asked: str | None = None) -> str | None:
    """Return the format of all files of an input; None without files.

    Args:
        names: the paths or URLs of the files.
        path: the input.
        asked: the format of the option, which overrides the names.

    InvalidArgument for several formats, an unknown format, or a compression that Spark does not
    have.
    """
    formats = {name: format_of(name, path) for name in names}
    known = {each for each in formats.values() if each is not None}
    if len(known) > 1 or (asked is None and known and None in formats.values()):
        raise InvalidArgument(
            f"--input: {path!r} holds {_counted(formats)}; files of one format are accepted: "
            f"a pattern such as {path.rstrip('/')}/*.{min(known)} names some of them"
        )
    if asked is None and names and not known:
        raise InvalidArgument(
            f"--input: {path!r} holds {_counted(formats)}, whose names show no format; give "
            "--format csv, json, parquet or delta"
        )
    chosen = asked or next(iter(known), None)
    for name in names:
        _check_packing(name, chosen)
    return chosen


def _check_packing(name: str, format_: str | None) -> None:
    packing = packing_of(name)
    wording = f"--input: {name!r}: Spark does not unpack {packing}"
    if packing and format_ not in TEXTS:
        raise InvalidArgument(f"{wording} around {format_}; unpack it")
    if packing and packing.lower() not in UNPACKED:
        raise InvalidArgument(f"{wording}; unpack it, or pack it as .gz, .bz2 or .zst")


def _ending(name: str) -> str:
    packing = packing_of(name)
    return PurePosixPath(name.removesuffix(packing)).suffix.lower()


def _counted(formats: dict[str, str | None]) -> str:
    """Write how many files there are of each kind: ``2 csv files and 1 .txt file``."""
    kinds = Counter(
        format_ or _ending(name) or "nameless" for name, format_ in sorted(formats.items())
    )
    wording = [
        f"{count:,} {kind} file{'s' * (count != 1)}" for kind, count in sorted(kinds.items())
    ]
    return " and ".join([", ".join(wording[:-1]), wording[-1]] if len(wording) > 1 else wording)
