"""A turn: all that a consumer has to say of the messages it holds, in one go.

Pub/Sub: a StreamingPull request carries acknowledgements and new deadlines together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from pubsub_delta.policy import delivery
from pubsub_delta.policy.ack_state import AckState
from pubsub_delta.policy.delivery import Outcomes, Terms
from pubsub_delta.policy.positions import Positions

Held = Mapping[int, Positions]
"""Messages by the lease that they are held under."""


@dataclass(frozen=True)
class Turn:
    """What a consumer says of messages.

    ``deadlines``: messages by their new deadline from now; zero is a nack. ``given_back``: those
    that were never looked at, so that no delivery of them failed. ``repeated``: acknowledgements
    that have succeeded before; all that is asked is whether they hold still.
    """

    acknowledged: Held = field(default_factory=dict)
    deadlines: Mapping[timedelta, Held] = field(default_factory=dict)
    given_back: Held = field(default_factory=dict)
    repeated: Held = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """The outcomes of a turn: of its acknowledgements, and of each new deadline.

    ``holding``: the repeated acknowledgements that hold still. ``first_lease_id``: what is held or
    remembered under lower ones is void, as they are from before a seek, whoever asked for it.
    """

    acknowledged: Outcomes = field(default_factory=Outcomes)
    deadlines: Mapping[timedelta, Outcomes] = field(default_factory=dict)
    holding: Held = field(default_factory=dict)
    first_lease_id: int = 0


def hear(state: AckState, turn: Turn, terms: Terms, now: datetime) -> tuple[AckState, Answer]:
    """Let a turn happen, the acknowledgements first; return the next state and the outcomes."""
    acknowledged = Outcomes()
    if any(turn.acknowledged.values()):
        state, acknowledged = delivery.acknowledge(state, turn.acknowledged, terms, now)
    deadlines = {}
    for deadline, held in turn.deadlines.items():
        state, deadlines[deadline] = delivery.modify_ack_deadline(state, held, terms, now, deadline)
    if any(turn.given_back.values()):
        state = delivery.give_back(state, turn.given_back, terms, now)
    holding = delivery.still_acknowledged(state, turn.repeated)
    return state, Answer(acknowledged, deadlines, holding, state.first_lease_id)
