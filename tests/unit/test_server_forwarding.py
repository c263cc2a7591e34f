"""Whether a server may forward dead letters, and what it tells of it."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("grpc")
from pubsub_delta.errors import Unavailable
from pubsub_delta.policy.iam import Binding
from pubsub_delta.resources import DeadLetterPolicy
from pubsub_delta.server.authorization import Authorizer
from pubsub_delta.server.policy_files import PolicyFile
from pubsub_delta.server.stored_policies import StoredPolicies
from pubsub_delta.tables.ack_state.states import AckStates
from tests.unit.access_files import AGENT, SUBSCRIPTION, write
from tests.unit.builders import PLAIN, START
from tests.unit.serving_calls import NAME, Calls, running

DEAD = "projects/p/topics/dead"


def test_each_loss_of_a_role_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Whoever reads the log learns of it as often as it happens, and not at each pull."""
    granted = {
        DEAD: [Binding("roles/pubsub.publisher", (AGENT,))],
        SUBSCRIPTION: [Binding("roles/pubsub.subscriber", (AGENT,))],
    }
    now_granted = dict(granted)
    stored = StoredPolicies(lambda: dict(now_granted))
    file = PolicyFile(write(tmp_path / "policy.json"))
    access = Authorizer(file, stored, lambda _: None, lambda: START)
    subscription = replace(PLAIN, name=SUBSCRIPTION, dead_letter_policy=DeadLetterPolicy(DEAD, 5))
    told = []
    for is_there in (False, False, True, True, False, False):
        now_granted.pop(DEAD, None)
        now_granted |= granted if is_there else {}
        stored.forget()
        caplog.clear()
        with caplog.at_level(logging.WARNING, logger="pubsub_delta.server"):
            assert access.may_forward(subscription) == is_there
        told.append(len(caplog.records))
    assert told == [1, 0, 0, 0, 1, 0]


@pytest.mark.filterwarnings("ignore::pubsub_delta.errors.DeadLetterWarning")
def test_an_ack_that_is_written_succeeds_though_dead_letters_cannot_be_forwarded_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ "none after a successful ack": who is told that an ack failed for good waits for a message
    that never comes again."""

    async def test(calls: Calls) -> None:
        dead = "projects/local/topics/dead"
        calls.store.create_topic(dead)
        calls.store.create_subscription("letters", dead)
        calls.store.update_subscription(NAME, dead_letter_policy=DeadLetterPolicy(dead, 5))
        await calls.publish("fails always", "good")
        poison, good = await calls.pull(2)
        for _ in range(4):
            await calls.nack(poison)
            (poison,) = await calls.pull(1)
        update, failures = AckStates.update, [Unavailable("the storage is away")]

        def away(states: AckStates, uid: str, step: Any) -> Any:
            if isinstance(step, partial) and failures:  # the last of the steps of a forwarding
                raise failures.pop()
            return update(states, uid, step)

        monkeypatch.setattr(AckStates, "update", away)
        await asyncio.gather(calls.nack(poison), calls.acknowledge(good))
        assert not failures
        assert await calls.pull_at_once(1) == []
        assert [each.data for each in calls.other_process.pull("letters")] == [b"fails always"]

    running(test, enable_exactly_once_delivery=True)
