"""A process that was stopped for longer than its leases: others have its messages by now."""

from __future__ import annotations

import threading
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from pubsub_delta.callbacks import Callbacks

pytest.importorskip("grpc")
pytest.importorskip("jwt")
from filelock import FileLock

from pubsub_delta import ManualClock
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import OidcToken, PushConfig
from pubsub_delta.server.push_keys import PushKeys
from pubsub_delta.server.push_tokens import PushTokens
from pubsub_delta.server.pushing import Pushers
from tests.endpoints import PushEndpoint, listening
from tests.unit.builders import START
from tests.unit.calling import MINUTE, PATIENCE, Answers, put, received
from tests.unit.serving_calls import NAME, Calls, opening, running, soon
from tests.unit.test_server_response_queue import following, texts


@pytest.mark.parametrize("deadline", [10, 600])
@pytest.mark.parametrize("exactly_once", [False, True])
def test_a_stream_is_not_sent_what_another_has_acknowledged_meanwhile(
    exactly_once: bool, deadline: int
) -> None:
    # "A process that goes on after it was stopped gives nothing away whose lease is over"
    async def test(calls: Calls) -> None:
        stream = calls.stream(opening(stream_ack_deadline_seconds=deadline))
        await calls.publish("a")
        assert texts(await following(stream)) == ["a"]
        await calls.publish("b", "c")
        await soon(lambda: calls.backend.counted.delivered == 3)
        calls.backend.clock.advance(700)  # nothing of this process runs meanwhile
        batch = calls.other_process.pull(NAME)
        assert batch.message_count == 3
        assert batch.ack().counts["success"] == 3
        found = texts(await following(stream))  # before anything else of the server goes on
        await calls.publish("d")
        while "d" not in found:
            found += texts(await following(stream))
        assert found == ["d"]
        await stream.aclose()  # type: ignore[attr-defined]

    running(test, enable_exactly_once_delivery=exactly_once)


def test_nothing_is_pushed_that_another_has_since_its_token_was_asked_for(path: Path) -> None:
    async def test(one: PushEndpoint, calls: Calls) -> None:
        tokens = PushTokens(PushKeys(path, calls.backend.now), "http://server", calls.backend.now)
        pushers, store = Pushers(calls.hub, calls.backend.now, tokens), calls.store
        signed = PushConfig(one.url, oidc_token=OidcToken("push@example.com"))
        await pushers.apply(store.update_subscription(NAME, push_config=signed))
        pusher = pushers._workers[NAME]
        with FileLock(f"{path}.lock"):
            await calls.publish("a")
            await soon(lambda: pusher.has_requests)
            delivery = next(iter(pusher._requests.values()))
            delivery.leased_until = calls.backend.now() - timedelta(seconds=1)
        await soon(lambda: not pusher.has_requests)
        assert one.data == []
        await pushers.stop()

    with listening() as one:
        running(partial(test, one))


@pytest.mark.parametrize("ordered", [False, True])
def test_no_callback_is_called_with_what_another_can_have(ordered: bool) -> None:
    # the next callback begins before the next request to the store
    clock, answers, goes_on = ManualClock(START), Answers(), threading.Event()
    answers.on[0] = lambda _: goes_on.wait(PATIENCE)
    callbacks = Callbacks(answers, 1, NAME, clock.now, ordered=ordered, on_idle=lambda: None)
    callbacks.threads[0].start()
    put(callbacks, 1, *(received(n, "key") for n in range(3)))
    answers.wait_for(0)
    clock.advance(60)
    goes_on.set()
    callbacks.lease(2, Positions.of([7]), clock.now(), clock.now() + MINUTE, MINUTE)
    callbacks.put(2, Positions.of([7]), [received(7)])
    answers.wait_for(7)
    assert answers.ids == [0, 7]
    callbacks.stop()
    callbacks.join()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"
