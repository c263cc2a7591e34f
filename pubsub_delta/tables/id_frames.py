"""DataFrames of ack ids, folded into positions: read one by one, or known to be a lease's own.

The ids in a batch's DataFrame are computed from positions. Millions of them are written only to be
taken apart again where a consumer chooses rows of that DataFrame and acknowledges these. Where
Spark's own optimizer proves that the ids of a DataFrame are what this lease would write, the
positions are folded as they are (decision 0018).
"""

from __future__ import annotations

import re

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.bitmaps import fold, fold_named
from pubsub_delta.tables.columns import ack_id, named_leases
from pubsub_delta.tables.damage import collected

MANY = 2_000_000
"""Leased messages from which on it pays to ask the optimizer, which takes some 0.2 s."""

_CHOICE = {"Project", "Filter", "ColumnarToRow", "FileScan", "BatchEvalPython", "ArrowEvalPython"}
"""Nodes of a plan that choose rows of files. Whatever is cached, joined or counted has others."""

_NODE = re.compile(r"^[ :|+-]*(?:\*\(\d+\) )?(\S+)", re.MULTILINE)
_NO_ROWS = re.compile(r"LocalTableScan <empty>, \[[^\[\]\n]*\]")


def fold_ids(
    ids: DataFrame, subscription_uid: str, *, many: bool
) -> tuple[dict[int, Positions], list[str | None]]:
    """Return the positions by lease that a DataFrame (ack_id STRING, …) names, and what names none.

    ``many``: whether so many ids may come that it pays to look for a way not to read them.
    """
    if many and (own := _own_positions(ids.select("ack_id"), subscription_uid)):
        lease_id, rows = own
        positions = fold(rows)
        return ({lease_id: positions} if positions else {}), []
    return fold_named(named_leases(subscription_uid, ids))


def _own_positions(ids: DataFrame, subscription_uid: str) -> tuple[int, DataFrame] | None:
    """Return a lease and its (position BIGINT) that ids are written from, None where that is open.

    The row ids of the same rows are at hand as hidden metadata, which Spark passes on through
    whatever chooses rows. That the text of each id is what the lease would write for that row id
    is no guess: Spark has no row left for which it might be another. A cached plan has to be read
    as it is, for its rows may not come out the same a second time.
    """
    plan = _explained(ids)
    leases = set(re.findall(rf"concat\({re.escape(subscription_uid)}\.(\d+)\., cast\(", plan))
    if len(leases) != 1 or not set(_NODE.findall(plan)) <= _CHOICE:
        return None
    lease_id = int(leases.pop())
    written = ack_id(subscription_uid, lease_id, F.col("position"))
    try:
        rows = ids.select("ack_id", F.col("_metadata.row_id").alias("position"))
        others = rows.where(~F.col("ack_id").eqNullSafe(written))
        proven = _NO_ROWS.fullmatch(_explained(others))
    except AnalysisException:  # files without row ids
        return None
    return (lease_id, rows.select("position")) if proven else None


def _explained(frame: DataFrame) -> str:
    """Return the plan of a DataFrame as Spark tells it, a node a line; nothing is run.

    Spark makes a view for it, and whoever drops a view drops what is cached of its query: so it is
    not the DataFrame itself, but one more query.
    """
    query = frame.where(F.lit(True))
    explained = frame.sparkSession.sql("EXPLAIN SELECT * FROM {query}", query=query)
    told: str = collected(explained)[0]["plan"]
    return told.removeprefix("== Physical Plan ==").strip()
