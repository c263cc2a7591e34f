"""Whether a server may forward dead letters, and what it tells of it."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("grpc")
from pubsub_delta.policy.iam import Binding
from pubsub_delta.resources import DeadLetterPolicy
from pubsub_delta.server.authorization import Authorizer
from pubsub_delta.server.policy_files import PolicyFile
from pubsub_delta.server.stored_policies import StoredPolicies
from tests.unit.access_files import AGENT, SUBSCRIPTION, write
from tests.unit.builders import PLAIN, START

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
