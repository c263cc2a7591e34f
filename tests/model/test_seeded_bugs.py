"""A bug in the policy is found: each of these is put there, and the machine must notice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase
from hypothesis.stateful import run_state_machine_as_test

from pubsub_delta.policy import delivery, redelivery, replay, retention
from tests.model.drivers import MemoryDriver
from tests.model.running import machine_on, settings_of


def a_moment_late(span: Any, state: Any, now: Any) -> bool:
    return span.state is state and span.until is not None and span.until < now


def never_doubled(policy: Any, failures: int) -> Any:
    return BACKOFF(policy, 1)


def without_its_floor(*args: Any, **fields: Any) -> Any:
    return replace(CAPTURE(*args, **fields), floor=None)


def old_ids_valid(state: Any, *args: Any) -> Any:
    return replace(NOTE_SEEK(state, *args), first_lease_id=state.first_lease_id)


def attempts_kept(state: Any, *args: Any) -> Any:
    attempts = {span.delivery_attempt for span in state.spans}
    noted = NOTE_SEEK(state, *args)
    return replace(
        noted, spans=tuple(replace(s, delivery_attempt=max(attempts)) for s in noted.spans)
    )


def reaching_back(topic: Any, duration: Any, now: Any) -> Any:
    return None if duration is None else topic.retained_from or now


BACKOFF, CAPTURE, NOTE_SEEK = redelivery.backoff, replay.capture, replay.note_seek
BUGS: dict[str, tuple[object, str, Callable[..., Any]]] = {
    "a lease ends a moment late": (delivery, "_is_over", a_moment_late),
    "a backoff is not doubled": (redelivery, "backoff", never_doubled),
    "a snapshot forgets a pending purge": (replay, "capture", without_its_floor),
    "an ack id from before a seek still counts": (replay, "note_seek", old_ids_valid),
    "a seek does not reset attempts": (replay, "note_seek", attempts_kept),
    "a longer topic retention reaches back": (retention, "retained_from", reaching_back),
    "a retained message that is needed is deleted": (
        retention,
        "needed_by_subscription",
        lambda *_: None,
    ),
}


@pytest.mark.trial
@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*BUGS[bug])
    settings = settings_of(400, derandomize=True, phases=[Phase.generate])
    with pytest.raises(AssertionError):
        run_state_machine_as_test(machine_on(MemoryDriver, Counter()), settings=settings)
