"""Maintain: what must be done even where nobody pulls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from pubsub_delta.policy.ack_state import AckState, State
from pubsub_delta.tables import dead_letters
from pubsub_delta.tables.store import Source, Tables


@dataclass(frozen=True)
class MaintenanceReport:
    """What a run of ``maintain`` did, by the full name of the resource.

    ``dead_letters``: messages forwarded, by subscription. ``problems``: what could not be done.
    """

    dead_letters: Mapping[str, int] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)


def maintain(tables: Tables, now: datetime) -> MaintenanceReport:
    """Forward the exhausted messages of all subscriptions; what fails is told, and does not stop.

    It is safe to run late, twice, and beside publishers and consumers.
    """
    counts: dict[str, int] = {}
    problems: dict[str, str] = {}
    for subscription, topic_uid in tables.registry.sources():
        if subscription.detached:
            continue
        try:
            forwarded = _forward(tables, Source(subscription, tables.messages(topic_uid)), now)
        except Exception as error:
            problems[subscription.name] = f"{type(error).__name__}: {error}"
            continue
        if forwarded.count:
            counts[subscription.name] = forwarded.count
        if forwarded.problem:
            problems[subscription.name] = forwarded.problem
    return MaintenanceReport(counts, problems)


def _forward(tables: Tables, source: Source, now: datetime) -> dead_letters.Forwarded:
    """Forward the messages of a subscription whose last attempt has failed by now."""

    def decide(state: AckState) -> tuple[AckState, dead_letters.Forwarded | None]:
        if source.subscription.dead_letter_policy is not None:
            current = source.catch_up(state, now)
        else:
            current = state  # perhaps something is under way from an earlier policy
        decided, problem = dead_letters.decide_forwarding(tables, source, current)
        if not decided.in_state(State.FORWARDING):
            return state, dead_letters.Forwarded(0, problem)
        return decided, None

    done = tables.ack_states.change(source.uid, decide)
    return done if done is not None else dead_letters.forward(tables, source, now)
