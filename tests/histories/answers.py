"""What was answered: errors that nothing explains, ids, names that are there, and dead letters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tests.histories.effects import Effects
from tests.histories.records import NEVER, History, Op, Violation

LOOKS = ("list_topics", "list_subscriptions", "list_snapshots")


def of_ends(history: History) -> Iterator[Violation]:
    """Who does not end, and what is left when all was taken."""
    for each in history.events:
        if each["event"] == "hung":
            yield Violation("hung", f"{each['process']} did not end")
    for op in history.of_kind("drained"):
        if op.done is not None and op.done["left"]:
            name = op.args["subscription"]
            says = f"{op.done['left']} messages never come"
            yield Violation("left over", says, name, ops=(op.id,))


def of_answers(history: History) -> Iterator[Violation]:
    """Errors that nothing explains."""
    has_small_disk = bool(history.world.get("disk"))
    for op in history.ops:
        if op.kind == "maintain" and op.done is not None:
            yield from _of_problems(history, op)
        if op.error in (None, "no answer", "Aborted") or op.kind == "restore":
            continue
        if _met_a_full_disk(op) and has_small_disk:
            continue
        if op.error == "Unknown" and history.world.get("storage"):
            continue
        if op.error == "NotFound" and not _must_be_there(history, op):
            continue
        if op.error == "AlreadyExists" and _may_be_there(history, op):
            continue
        if op.error in ("FailedPrecondition", "InvalidArgument") and _is_of_a_deleted(history, op):
            continue
        if "not leased by it any more" in op.text and _has_lost_its_lease(history, op):
            continue
        yield Violation(
            "unexplained error", f"{op.kind}: {op.error}: {op.text}",
            str(op.args.get("subscription", "")), ops=(op.id,),
        )  # fmt: skip


def _of_problems(history: History, op: Op) -> Iterator[Violation]:
    """What ``maintain`` could not do; beside others it may come too early or too late."""
    for resource, why in (op.done or {})["problems"].items():
        harmless = ("deleted meanwhile", "does not exist", "nothing was deleted", "dead_letter")
        others_wrote = ("Aborted", "another process", "others wrote")
        if not any(each in why for each in harmless + others_wrote) and not (
            history.world.get("disk") and "space" in why
        ):
            yield Violation("unexplained error", f"maintain: {resource}: {why}", ops=(op.id,))


_NAMES = ("topic", "subscription", "snapshot")


def _must_be_there(history: History, op: Op) -> bool:
    """Tell whether everything that an operation names was there all the time."""
    for kind in _NAMES:
        name = op.args.get(kind)
        if name is None or op.kind == f"create_{kind}":
            continue
        lives = history.lives[f"{kind} {name}"]
        if not any(history.lives_through(life, op.begin, op.end) for life in lives):
            return False
    return True


def _may_be_there(history: History, op: Op) -> bool:
    kind = op.kind.removeprefix("create_")
    others = history.possible(kind, op.args[kind], op)
    return any(life.create.id != op.id for life in others) or _may_be_left(history, op)


def _may_be_left(history: History, op: Op) -> bool:
    """Tell whether a full disk may have kept a snapshot that failed from being removed again."""
    if op.kind != "create_snapshot" or not history.world.get("disk"):
        return False
    return any(
        _met_a_full_disk(each)
        and each.begin < op.end
        and each.args["snapshot"] == op.args["snapshot"]
        for each in history.of_kind("create_snapshot")
    )


def _met_a_full_disk(op: Op) -> bool:
    return op.error == "Unavailable" and "space" in op.text


def _is_of_a_deleted(history: History, op: Op) -> bool:
    """Tell whether a topic may have been deleted: a snapshot of its subscriptions needs it."""
    if op.kind not in ("create_snapshot", "seek_snapshot"):
        return False
    topic = history.config(op.args["subscription"])["topic"]
    if any(each.may and each.begin < op.end for each in history.of_kind("delete_topic")
           if each.args["topic"] == topic):  # fmt: skip
        return True
    if op.kind == "seek_snapshot":
        found = history.possible("snapshot", op.args["snapshot"], op)
        sources = {each.create.args["subscription"] for each in found}
        return any(history.config(each)["topic"] != topic for each in sources)
    return False


def _has_lost_its_lease(history: History, op: Op) -> bool:
    """Tell whether a seek may have ended what a pull had leased, before that was read."""
    name = op.args["subscription"]
    seeks = history.of_kind("seek_time", "seek_snapshot")
    beside = [each for each in seeks if each.begin < op.end and op.begin < each.end]
    return any(each.may and each.args["subscription"] == name for each in beside)


def of_ids(history: History) -> Iterator[Violation]:
    """A message has one id, and an id one message; both as the publisher was told."""
    ids: dict[tuple[str, str], set[str]] = defaultdict(set)
    for op in history.of_kind("publish"):
        for told in (op.done or {}).get("ids", ()):
            if len(told) != len(op.args["messages"]):
                yield Violation("wrong ids", f"{len(told)} ids for its messages", ops=(op.id,))
            for (text, _), each in zip(op.args["messages"], told, strict=False):
                ids["", text].add(each)
    for each in history.deliveries:
        ids[each.source, each.text].add(each.message_id)
        message = history.published.get(each.text)
        if message is None or each.source:
            continue
        if each.publish_time != message.op.now or each.key != message.key:
            yield Violation(
                "another message", f"{each.text} came with another publish time or key",
                each.op.args["subscription"], each.text, (message.op.id, each.op.id),
            )  # fmt: skip
    for (source, text), found in ids.items():
        if not source and len(found) > 1:
            message = history.published.get(text)
            ops = () if message is None else (message.op.id,)
            yield Violation(
                "published twice", f"{text} has the ids {sorted(found)}", message=text, ops=ops
            )


def of_lives(history: History) -> Iterator[Violation]:
    """What a list shows is there, and what is there it shows."""
    for op in history.of_kind(*LOOKS):
        kind = op.kind.removeprefix("list_").removesuffix("s")
        shown = set((op.done or {}).get("names", ()))
        if op.done is None:
            continue
        for name in {each.split(" ")[1] for each in history.lives if each.startswith(f"{kind} ")}:
            lives = history.lives[f"{kind} {name}"]
            sure = [life for life in lives if history.lives_through(life, op.begin, op.end)]
            if sure and name not in shown:
                ops = (sure[0].create.id, op.id)
                yield Violation("lost resource", f"{kind} {name} is not listed", ops=ops)
            if name in shown and not history.possible(kind, name, op):
                gone = [each.id for each in history.deletes(lives[-1])]
                says = f"{kind} {name} is listed"
                yield Violation("deleted, and there", says, ops=(*gone, op.id))


def of_letters(effects: Effects) -> Iterator[Violation]:
    """A dead letter is forwarded once, after its attempts, unless its source was rewound."""
    history = effects.history
    for (name, text), found in effects.forwarded.items():
        lives = history.lives[f"subscription {name}"]
        views = [effects.view(life) for life in lives if life.uid]
        tried = sum(
            len(view.deliveries.get(text, ()))
            + sum(op.kind == "pull" and not op.sure for op in view.ops)
            for view in views
        )  # fmt: skip
        ops = tuple(each.op.id for each in found)
        attempts = history.config(name)["attempts"] or 0
        if tried < attempts:
            says = f"{text} was forwarded after {tried} attempts of {attempts}"
            yield Violation("forwarded early", says, name, text, ops)
        ids = {each.message_id for each in found}
        rewound = any(view.was_rewound(0, NEVER) for view in views)
        if len(ids) > 1 and len(views) == 1 and not rewound:
            yield Violation("forwarded twice", f"{text} has the ids {sorted(ids)}", name, text, ops)
