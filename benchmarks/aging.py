"""Tables of thousands of commits, of which most are copies written into their logs by hand."""

from __future__ import annotations

import json
import os
import time
import uuid
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

INTERVAL = 100
"""Versions between two checkpoints, of the tables that are aged."""

_STRIDE = 10 * INTERVAL
"""Versions between two commits that are real, of which one writes a checkpoint."""

_PACE = 0.5
"""Seconds between two commits, as pulls and acks in a row make them."""

_SUM_OF_BYTES = 512
"""Bytes for each sum in the files that Hadoop writes beside those of a local disk."""


def age(tables: Sequence[Path], commits: int, commit: Callable[[], None]) -> None:
    """Bring tables to about a number of commits, ending with a real one and its checkpoint.

    ``commits``: hundreds of them. ``commit`` is to commit to each of the tables, the same thing
    each time. The commits are given the times of a store on which they were made one after the
    other until now, since an ack state forgets what it removed by when that was.
    """
    begin = time.time() - commits * _PACE
    while (at := min(map(version_of, tables))) < commits:
        for _ in range(2):  # what is copied is a usual commit, and not a checkpoint's
            commit()
        for table in tables:
            until = min((at // _STRIDE + 1) * _STRIDE, commits) - 1
            _copy_last(table, until=until, begin=begin)
            _set_times(table, at, begin)
        commit()


def version_of(table: Path) -> int:
    """Return a table's version as the names of its log tell it."""
    return max(int(name[:20]) for name in os.listdir(table / "_delta_log") if name[20:] == ".json")


def _set_times(table: Path, since: int, begin: float) -> None:
    """Give the files of the commits from a version on the times that ``_time_of`` tells."""
    for version in range(since, version_of(table) + 1):
        at = _time_of(version, begin)
        os.utime(table / "_delta_log" / f"{version:020}.json", (at, at))


def _time_of(version: int, begin: float) -> float:
    """Return when a commit was made, if they began at ``begin``, in seconds since 1970."""
    return begin + version * _PACE


def _copy_last(table: Path, *, until: int, begin: float) -> None:
    """Commit again what the last commit of a table was, up to a version, in as many files.

    Each copy adds a data file of its own, and removes the one before if the real commit did. All
    have the checksum file of the first, since Delta reads only that of the last version, and the
    last has none: Delta computes its state.
    """
    log, version = table / "_delta_log", version_of(table)
    actions = [json.loads(line) for line in (log / f"{version:020}.json").open()]
    checksum = (log / f"{version:020}.crc").read_bytes()
    for following in range(version + 1, until + 1):
        old = next(action["add"]["path"] for action in actions if "add" in action)
        new = str(Path(old).with_name(f"part-00000-{uuid.uuid4()}-c000.snappy.parquet"))
        os.link(table / old, table / new)
        for action in actions:
            _advance(action, following, old, new, _time_of(following, begin))
        text = "".join(json.dumps(action) + "\n" for action in actions)
        _write_summed(log / f"{following:020}.json", text.encode())
        if following < until:
            _write_summed(log / f"{following:020}.crc", checksum)


def _advance(action: dict[str, Any], version: int, old: str, new: str, at: float) -> None:
    """Make an action what the next commit has: later, and with positions that follow."""
    match action:
        case {"commitInfo": info}:
            info["timestamp"] += 1
            if "inCommitTimestamp" in info:
                info["inCommitTimestamp"] = info["timestamp"]
            info["readVersion"], info["txnId"] = version - 1, str(uuid.uuid4())
        case {"add": add}:
            add["path"] = new
            if "baseRowId" in add:
                add["baseRowId"] += json.loads(add["stats"])["numRecords"]
                add["defaultRowCommitVersion"] = version
        case {"remove": remove}:
            remove["path"], remove["deletionTimestamp"] = old, int(at * 1000)
        case {"domainMetadata": {"domain": "delta.rowTracking"} as domain}:
            high = json.loads(domain["configuration"])
            high["rowIdHighWaterMark"] += 1
            domain["configuration"] = json.dumps(high)


def _write_summed(path: Path, content: bytes) -> None:
    """Write a file as Hadoop's local file system does, with one of sums beside it."""
    path.write_bytes(content)
    parts = [content[at : at + _SUM_OF_BYTES] for at in range(0, len(content), _SUM_OF_BYTES)]
    sums = b"".join(zlib.crc32(part).to_bytes(4, "big") for part in parts)
    header = b"crc\0" + _SUM_OF_BYTES.to_bytes(4, "big")
    path.with_name(f".{path.name}.crc").write_bytes(header + sums)
