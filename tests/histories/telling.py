"""A violation as people read it: what it is, and the operations that it is about."""

from __future__ import annotations

from collections.abc import Iterator

from tests.histories.records import NEVER, History, Op, Violation

_MOST = 40
"""Operations that are printed of one violation."""
_CHANGES = ("seek_time", "seek_snapshot", "restore", "create_subscription", "delete_subscription")


def told(history: History, violation: Violation) -> str:
    """Return a violation with the operations that concern its message, and nothing else."""
    start = min((op.begin for op in history.ops), default=0)
    chosen = [op for op in history.ops if _concerns(history, violation, op)]
    left_out = len(chosen) - _MOST
    if left_out > 0:
        named = [op for op in chosen if op.id in violation.ops]
        chosen = sorted({op.id: op for op in [*named, *chosen[-_MOST:]]}.values(), key=_begin)
    head = f"{violation.kind}: {violation.subscription}: {violation.says}"
    lines = [head, *(f"  {line}" for line in _events(history, start))]
    lines += [_line(op, start, violation) for op in chosen]
    if left_out > 0:
        lines.append(f"  ({left_out} earlier operations are left out)")
    return "\n".join(lines)


def _begin(op: Op) -> int:
    return op.begin


def _concerns(history: History, violation: Violation, op: Op) -> bool:
    if op.id in violation.ops:
        return True
    if op.kind in _CHANGES and op.args.get("subscription") == violation.subscription and op.may:
        return True
    if not violation.message:
        return False
    if op.kind == "pull" and op.done is not None:
        rows = op.done["messages"]
        mine = op.args["subscription"] == violation.subscription
        return mine and any(row["text"] == violation.message for row in rows)
    named = [history.by_ack_id.get(each) for each in op.args.get("ids", ())]
    return any(
        each is not None
        and each.text == violation.message
        and each.op.args["subscription"] == violation.subscription
        for each in named
    )


def _events(history: History, start: int) -> Iterator[str]:
    for each in history.events:
        yield f"{(each['at'] - start) / 1e9:9.3f}  {each['event']} {each['process']}"


def _line(op: Op, start: int, violation: Violation) -> str:
    end = "killed" if op.end == NEVER else f"{(op.end - start) / 1e9:.3f}"
    mark = "*" if op.id in violation.ops else " "
    args = {k: v for k, v in op.args.items() if k != "ids"}
    what = f"{op.kind} {args}".replace("'", "")
    return f"{mark} {(op.begin - start) / 1e9:9.3f} to {end:>9}  {op.id:12} {what} → {_answer(op)}"


def _answer(op: Op) -> str:
    if op.done is None:
        return f"{op.error}: {op.text[:160]}"
    if op.kind == "pull":
        texts = ", ".join(row["text"] for row in op.done["messages"])
        return f"[{texts}] until {op.done['until'] - op.now:+} µs"
    counts = {k: len(v) for k, v in op.done.items() if isinstance(v, list)}
    return str(counts or op.done)
