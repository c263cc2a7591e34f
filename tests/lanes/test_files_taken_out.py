"""A file of a topic that is lost for good is taken out of its table: everything else goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from pubsub_delta import DataLoss, DeadLetterPolicy, ManualClock, Message, PubSub

TOPIC, NAME, LETTERS = "flights", "delays", "letters"


@pytest.mark.parametrize("ordered", [False, True])
def test_a_file_that_is_taken_out_holds_up_no_other_message(tmp_path: Path, ordered: bool) -> None:
    """Until then a read of it is DataLoss: it can be restored, and nothing is passed over."""
    clock = ManualClock()
    store = PubSub(None, str(tmp_path), clock=clock)
    for name in (TOPIC, LETTERS):
        store.create_topic(name)
    policy = DeadLetterPolicy(LETTERS, max_delivery_attempts=5)
    store.create_subscription(
        NAME, TOPIC, enable_message_ordering=ordered, dead_letter_policy=policy
    )
    store.create_subscription("reader", LETTERS)
    table = tmp_path / "messages" / store.get_topic(TOPIC).uid
    (lost,) = store.publish(TOPIC, [Message(b"0", ordering_key="k0")]).message_ids
    (file,) = table.rglob("publish_date=*/*.parquet")
    sent = [Message(b"%d" % n, ordering_key=f"k{n % 2}") for n in range(1, 4)]
    later = list(store.publish(TOPIC, sent).message_ids)
    file.unlink()
    with pytest.raises(DataLoss, match="missing or damaged"):
        list(store.pull(NAME, max_messages=1))
    if ordered:
        with pytest.raises(DataLoss, match="missing or damaged"):
            store.pull(NAME, max_messages=1)

    DeltaTable(table).repair()
    received: list[str] = []
    for _ in range(9):
        batch = store.pull(NAME, max_messages=1)
        try:
            received += [each.message_id for each in batch]
            batch.ack()
        except DataLoss:
            batch.nack()
        clock.advance(10)
    assert received == later
    (letter,) = store.pull("reader")
    assert (
        letter.attributes["pubsub_delta_unreadable"] == f"message {lost}: it is not stored any more"
    )
