"""A dead-letter topic that is damaged stops nobody who forwards to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pubsub_delta import DeadLetterPolicy, ManualClock, PubSub
from pubsub_delta.delivery import dead_letters
from pubsub_delta.errors import DeadLetterWarning
from tests.lanes.table_world import DEAD, NAME, TOPIC, Killed, kill_before


@pytest.mark.parametrize("is_decided", [False, True])
def test_the_others_of_its_source_come_and_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_decided: bool
) -> None:
    """ "nothing is forwarded or lost: the message stays on the source and the failure is reported".

    ``is_decided``: whether a process died once it was decided that the message is forwarded.
    """
    clock, root = ManualClock(), tmp_path / "store"
    store = PubSub(None, str(root), clock=clock)
    for topic in (TOPIC, DEAD):
        store.create_topic(topic)
    store.create_subscription("letters", DEAD)
    policy = DeadLetterPolicy(DEAD, 5)
    store.create_subscription(NAME, TOPIC, dead_letter_policy=policy)
    store.publish(TOPIC, [b"bad"])
    for _ in range(5):
        store.pull(NAME).nack()
    if is_decided:
        with monkeypatch.context() as patched:
            kill_before(patched, dead_letters, "_append")
            with pytest.raises(Killed):
                store.pull(NAME)
    store.publish(TOPIC, [b"good"])
    log = root / "messages" / store.get_topic(DEAD).uid / "_delta_log"
    for commit in log.glob("*.json"):
        commit.write_bytes(b"\0")
    with pytest.warns(DeadLetterWarning, match="damaged"):
        pulled = PubSub(None, str(root), clock=clock).pull(NAME)
    assert [each.data for each in pulled] == [b"good"]
    assert pulled.ack().success
    assert store.metrics(NAME)["num_undelivered_messages"] == 1
