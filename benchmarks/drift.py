"""What publish, pull and ack cost after ten thousand commits, against what they cost after few."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import Any

from benchmarks.measuring import Bench, Section
from pubsub_delta import PubSub

INTERVAL = 100
"""Delta writes a checkpoint at every hundredth version of these tables."""


def drift(bench: Bench) -> Section:
    """Time operations on tables of about 100 commits, and then of thousands."""
    commits, rounds = (10_000 if bench.full else 2_000), 5 * bench.rounds
    section = Section(
        "drift",
        f"Publishes of 10 messages, pull(10) and ack, in the medians of {rounds} rounds, after 100 "
        f"commits of the topic and of the ack state and after {commits:,} of both. Most of those "
        "commits are copies of real ones, written into the log by hand; each hundredth is real "
        "and writes the checkpoint. Nothing was maintained; then maintain(optimize=True) ran.",
    )
    store = PubSub(bench.spark, f"{bench.directory}/store")
    topic = store.create_topic("old")
    subscription = store.create_subscription("old", "old", ack_deadline_seconds=600)
    tables = [
        Path(bench.directory, "store", "messages", topic.uid),
        Path(bench.directory, "store", "ack_state", subscription.uid),
    ]
    stages = {"100": 100, f"{commits:,}": commits}
    for stage, wanted in stages.items():
        _grow(store, tables, wanted)
        _rounds(section, store, f"after {stage}", rounds)
    store.maintain(optimize=True)
    _rounds(section, store, "after maintain", rounds)
    for stage in (f"{commits:,}", "maintain"):
        for what in ("publish", "pull", "ack"):
            section.compare(
                f"{what} after {stage}: × after 100",
                [f"{what}, after {stage}"],
                [f"{what}, after 100"],
                at_most=1.3,
            )
    return section


def _rounds(section: Section, store: PubSub, when: str, rounds: int) -> None:
    for turn in range(rounds + 3):
        keep = turn > 2
        section.time(f"publish, {when}", lambda: store.publish("old", ["x" * 64] * 10), keep=keep)
        batch = section.time(f"pull, {when}", lambda: store.pull("old", 10), keep=keep)
        assert len(section.time(f"ack, {when}", batch.ack, keep=keep).success) == 10


def _grow(store: PubSub, tables: list[Path], wanted: int) -> None:
    """Bring both tables to about a number of commits: copies, and real ones for checkpoints."""
    _, ack_state = tables
    while (at := min(map(_version, tables))) < wanted:
        for _ in range(2):  # a commit that can be copied is the last one, and not a checkpoint's
            store.publish("old", ["x" * 64])
            store.pull("old", 1).ack()
        for table in tables:
            for _ in range(_version(table), min((at // INTERVAL + 1) * INTERVAL, wanted) - 1):
                _copy_last(table, replaces=table == ack_state)
        store.publish("old", ["x" * 64])
        store.pull("old").ack()


def _version(table: Path) -> int:
    return max(int(each.stem) for each in (table / "_delta_log").glob("*[0-9].json"))


def _copy_last(table: Path, *, replaces: bool) -> None:
    """Commit once more what the last commit of a table was, with a data file of its own."""
    log, version = table / "_delta_log", _version(table)
    actions = [json.loads(line) for line in (log / f"{version:020}.json").open()]
    added = next(action["add"] for action in actions if "add" in action)
    new = str(Path(added["path"]).with_name(f"part-00000-{uuid.uuid4()}-c000.snappy.parquet"))
    os.link(table / added["path"], table / new)
    following = [_following(action, version + 1, new) for action in actions]
    if replaces:
        for action in following:
            if "remove" in action:
                action["remove"]["path"] = added["path"]
    text = "".join(json.dumps(action) + "\n" for action in following)
    (log / f"{version + 1:020}.json").write_text(text)


def _following(action: dict[str, Any], version: int, path: str) -> dict[str, Any]:
    """Return an action as the next commit has it: later, and with positions that follow."""
    action = json.loads(json.dumps(action))
    match action:
        case {"commitInfo": info}:
            info["inCommitTimestamp"] = info["timestamp"] = info["timestamp"] + 1
            info["readVersion"], info["txnId"] = version - 1, str(uuid.uuid4())
        case {"add": add}:
            count = json.loads(add["stats"])["numRecords"]
            add["path"], add["defaultRowCommitVersion"] = path, version
            if "baseRowId" in add:
                add["baseRowId"] += count
        case {"domainMetadata": {"domain": "delta.rowTracking"} as domain}:
            high = json.loads(domain["configuration"])
            high["rowIdHighWaterMark"] += 1
            domain["configuration"] = json.dumps(high)
    return action
