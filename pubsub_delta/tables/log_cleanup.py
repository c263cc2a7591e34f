"""Metadata cleanup, as Delta's protocol names it, of a log on the driver's disk.

Delta cleans a log by whole days. What is older than a checkpoint nobody needs who reads a later
version, and the protocol lets everybody remove it, if that checkpoint stays.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_SUM = r"(?:\.crc)?"
_OF_A_VERSION = re.compile(rf"\.?(\d{{20}})\.(json|crc|checkpoint\.parquet){_SUM}")
"""Files of one version, each with the sums that Hadoop keeps beside it under a hidden name."""
_SUM_OF = re.compile(r"\.?(\d{20})(?:\.json|\.crc)?\.crc")
"""What Delta keeps beside a commit, and what Hadoop keeps beside both."""
_VERSIONED = re.compile(r"\.?\d{20}\..*")
_PARQUET = b"PAR1"
_PROTECTED = "checkpointProtection"


def properties(table: Path, version: int) -> Mapping[str, str]:
    """Return a table's properties as the checksum of a version tells them; none without one."""
    told = _told(_checksum(table, version).get("metadata"))
    return _told(told.get("configuration"))


def clean(table: Path, before: int) -> int:
    """Forget the commits before the last checkpoint at or before a version; return how many.

    The caller holds the table's lock. Nothing is removed where the log is not as expected: a commit
    after that checkpoint is missing, the checkpoint is not whole, there are files of a kind that is
    not known here, or the table's protocol protects its checkpoints, or is not told. The earliest
    go first, so that what is left has no gap, whenever it ends.
    """
    log = table / "_delta_log"
    versions: dict[int, list[str]] = {}
    for name in os.listdir(log):
        found = _OF_A_VERSION.fullmatch(name)
        if found is not None:
            versions.setdefault(int(found[1]), []).append(name)
        elif _VERSIONED.fullmatch(name):
            return 0
    commits = {version for version, names in versions.items() if _commit(version) in names}
    checkpoints = [version for version, names in versions.items() if _checkpoint(version) in names]
    kept = max((version for version in checkpoints if version <= before), default=None)
    if kept is None or not _is_whole(log / _checkpoint(kept)):
        return 0
    newest = max(commits, default=kept)
    if not commits >= set(range(kept, newest + 1)) or not _may_be_cleaned(table, newest):
        return 0
    for version in sorted(version for version in versions if version < kept):
        for name in versions[version]:
            (log / name).unlink(missing_ok=True)
    return sum(version < kept for version in commits)


def forget_sums(table: Path) -> int:
    """Remove the sums of commits that are older than the last checkpoint; return how many.

    Delta writes a checksum beside each commit, and Hadoop a hidden file beside each of both: three
    of four names that Delta lists before each transaction. The commits stay, and all that is told
    by them. Nobody needs the sums who reads a version from that checkpoint on; for one before it,
    Delta takes a checksum that is missing for one that was never written, as the protocol has it,
    and Hadoop reads a file without a sum as it is.
    """
    log = table / "_delta_log"
    names = os.listdir(log)
    checkpoints = sorted(name for name in names if name[20:] == _checkpoint(0)[20:])
    if not checkpoints or not _is_whole(log / checkpoints[-1]):
        return 0
    last = int(checkpoints[-1][:20])
    sums = [name for name in names if (found := _SUM_OF.fullmatch(name)) and int(found[1]) < last]
    for name in sums:
        (log / name).unlink(missing_ok=True)
    return len(sums)


def actions_of_checkpoint(table: Path) -> int:
    """Return how many actions the last checkpoint has, as Delta noted; 0 without one."""
    try:
        told = json.loads((table / "_delta_log" / "_last_checkpoint").read_bytes())
    except (OSError, ValueError):
        return 0
    size = _told(told).get("size")
    return size if isinstance(size, int) else 0


def seconds_between(table: Path, version: int, later: int) -> float:
    """Return how many seconds one commit was made after another, by the times of their files."""
    earlier, last = ((table / "_delta_log" / _commit(each)).stat() for each in (version, later))
    return last.st_mtime - earlier.st_mtime


def _commit(version: int) -> str:
    return f"{version:020d}.json"


def _checkpoint(version: int) -> str:
    return f"{version:020d}.checkpoint.parquet"


def _checksum(table: Path, version: int) -> Mapping[str, Any]:
    """Return what Delta writes beside a commit of the table's state: protocol, metadata, counts."""
    try:
        told = json.loads((table / "_delta_log" / f"{version:020d}.crc").read_bytes())
    except (OSError, ValueError):
        return {}
    return _told(told)


def _told(part: Any) -> Mapping[str, Any]:
    return part if isinstance(part, dict) else {}


def _may_be_cleaned(table: Path, version: int) -> bool:
    protocol = _told(_checksum(table, version).get("protocol"))
    return bool(protocol) and _PROTECTED not in (protocol.get("writerFeatures") or ())


def _is_whole(checkpoint: Path) -> bool:
    with checkpoint.open("rb") as file:
        file.seek(max(checkpoint.stat().st_size - len(_PARQUET), 0))
        return file.read() == _PARQUET
