"""What was delivered: leases, acknowledgements, order within a key, and what never came."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from tests.histories.effects import Effects, View
from tests.histories.records import Answer, Delivery, Op, Violation


def never_published(effects: Effects, view: View) -> Iterator[Violation]:
    """A subscription is given what was published to its topic, and after it was created."""
    history = effects.history
    for text, found in view.deliveries.items():
        first = min(found, key=lambda each: each.op.end)
        where = (view.life.name, text)
        message = history.published.get(text)
        if message is None or message.op.begin >= first.op.end:
            yield Violation("never published", f"nobody published {text}", *where, (first.op.id,))
            continue
        if first.source:
            continue
        ops = (message.op.id, first.op.id)
        topics = history.possible("topic", view.config["topic"], view.life.create)
        there = history.possible("topic", message.topic, message.op)
        if message.topic != view.config["topic"] or not set(topics) & set(there):
            yield Violation("of another topic", f"{text} is of another topic", *where, ops)
        early = message.op.end <= view.life.create.begin
        if early and not view.was_rewound(0, first.op.end):
            yield Violation("from before", f"{text} came before its creation", *where, ops)


def held_twice(view: View) -> Iterator[Violation]:
    """While a lease lives nobody else has its message."""
    for text, found in view.deliveries.items():
        for place, one in enumerate(found):
            for other in found[place + 1 :]:
                if one.op is other.op:
                    says = f"{text} came twice in one batch"
                elif _follows(view, one, other) or _follows(view, other, one):
                    continue
                else:
                    says = f"{text} was leased twice: the first lease could not have ended"
                yield Violation(
                    "double lease", says, view.life.name, text, (one.op.id, other.op.id)
                )


def _follows(view: View, one: Delivery, other: Delivery) -> bool:
    """Tell whether a delivery may have come after another one had ended."""
    return not other.op.before(one.op) and view.may_have_ended(one, other.op)


def outcomes(effects: Effects, view: View) -> Iterator[Violation]:
    """Each id has the outcome that its lease calls for, and an id of another life none."""
    history = effects.history
    for ack_id, delivery in history.by_ack_id.items():
        if delivery.uid != view.life.uid:
            continue
        for answer in history.answers[ack_id]:
            op, outcome = answer.op, answer.outcome
            if outcome is None:
                continue
            says = _wrong_outcome(view, answer)
            if says:
                what = f"{op.kind} of {delivery.text}: {outcome}, though {says}"
                yield Violation(
                    "wrong outcome" if history.may_live(view.life, op) else "another life", what,
                    view.life.name, delivery.text, (delivery.op.id, op.id),
                )  # fmt: skip


def _wrong_outcome(view: View, answer: Answer) -> str | None:
    op, outcome, delivery = answer.op, answer.outcome, answer.delivery
    if outcome == "missing":
        return "each id has one"
    if not view.history.may_live(view.life, op):
        return None if outcome == "invalid" else "the subscription was deleted"
    if outcome == "success":
        return _wrong_success(view, answer)
    if view.may_have_ended(delivery, op):
        return None
    if not view.history.lives_through(view.life, op.begin, op.end):
        return None
    return "its lease lives"


def _wrong_success(view: View, answer: Answer) -> str | None:
    op, delivery = answer.op, answer.delivery
    if view.was_restored(delivery.op.begin, op.end):
        return None
    if view.is_void(answer):
        return "a seek has voided it"
    if op.kind == "ack" and not view.exactly_once:
        return None  # or the message was acknowledged already
    if op.now >= view.latest_end(delivery, op):
        return "its lease was over"
    later = [
        each
        for each in view.deliveries.get(delivery.text, ())
        if delivery.op.before(each.op) and each.op.before(op)
    ]
    return "its message was leased again" if later else None


def given_again(view: View) -> Iterator[Violation]:
    """An acknowledgement that succeeded is final, unless a seek or a RESTORE undoes it."""
    for text, found in view.deliveries.items():
        acks = [
            each for each in view.answers(text)
            if each.op.kind == "ack" and each.outcome == "success" and not view.is_void(each)
        ]  # fmt: skip
        for delivery in found:
            for ack in acks:
                if not ack.op.before(delivery.op):
                    continue
                if view.was_rewound(ack.op.begin, delivery.op.end):
                    continue
                if view.ordered and not view.exactly_once and _may_return(view, text, delivery.op):
                    continue
                yield Violation(
                    "given again", f"{text} came again after its ack was told as successful",
                    view.life.name, text, (ack.delivery.op.id, ack.op.id, delivery.op.id),
                )  # fmt: skip
                break


def _may_return(view: View, text: str, at: Op) -> bool:
    """Tell whether an earlier message of its key may have failed in a batch that it was in."""
    return any(
        each.key
        and any(view.may_have_failed(earlier, at) for earlier in view.earlier_in_batch(each))
        for each in view.deliveries.get(text, ())
        if each.op is not at
    )


def out_of_order(effects: Effects, view: View) -> Iterator[Violation]:
    """Of a key nothing comes while an earlier message of it is neither acknowledged nor with it."""
    if not view.ordered:
        return
    published = effects.history.published
    keys = defaultdict(list)
    for message in published.values():
        if message.key and view.surely_has(message.text):
            keys[message.key].append(message)
    for batch in view.batches.values():
        places = {each.text: each.place for each in batch}
        for each in batch:
            later = published.get(each.text)
            if not each.key or later is None:
                continue
            for earlier in keys[each.key]:
                if not earlier.surely_before(later):
                    continue
                if places.get(earlier.text, each.place) < each.place:
                    continue
                if effects.history.landed[earlier.text] > each.op.begin:
                    continue
                since = view.last_brought_back(earlier.text, each.op) or 0
                if earlier.text not in places and view.ended(earlier.text, since, each.op):
                    continue
                if earlier.text in places and _twice_in_doubt(view, earlier.text, each.op):
                    continue
                yield Violation(
                    "out of order", f"{each.text} came before {earlier.text} of its key",
                    view.life.name, each.text, (earlier.op.id, later.op.id, each.op.id),
                )  # fmt: skip
                break


def _twice_in_doubt(view: View, text: str, at: Op) -> bool:
    """Tell whether an operation gave a message twice, which is told elsewhere."""
    return Counter(each.text for each in view.deliveries.get(text, ()) if each.op is at)[text] > 1


# The end


def lost(effects: Effects, view: View) -> Iterator[Violation]:
    """Whatever is unacknowledged at the end was given to the drain, which acknowledged it."""
    history = effects.history
    drained = [op for op in history.of_kind("drained") if _is_of(op, view)]
    if not drained or not history.lives_through(view.life, drained[-1].begin, drained[-1].end):
        return
    for text, message in history.published.items():
        since = view.last_brought_back(text, drained[-1])
        if since is None or view.ended(text, since, drained[-1]):
            continue
        ops = [message.op.id, *(each.op.id for each in view.deliveries.get(text, ()))]
        ops += [op.id for op in view.seeks if op.begin == since]
        yield Violation(
            "lost", f"{text} was published, and never acknowledged, and is not there",
            view.life.name, text, tuple(ops),
        )  # fmt: skip


def _is_of(op: Op, view: View) -> bool:
    return op.sure and op.args["subscription"] == view.life.name
