"""What a pull has Delta prepare while it commits, and while its messages are read."""

from __future__ import annotations

import pytest

from benchmarks.jobs import jobs_of
from pubsub_delta import PulledBatch
from pubsub_delta.tables.ahead import Ahead
from tests.conftest import Bench


def _jobs_of_reading_and_acknowledging(bench: Bench, *, wait: bool) -> tuple[int, int]:
    topic, subscription = bench.pair()
    for data in ("first", "next"):
        bench.store.publish(topic, [data])
        batch = bench.store.pull(subscription)
        if wait:
            bench.store._tables.ahead._thread.submit(lambda: None).result()
        reading, rows = jobs_of(bench.spark, batch.df.collect)
        acknowledging, result = jobs_of(bench.spark, batch.ack)
        assert ([bytes(row.data).decode() for row in rows], len(result.success)) == ([data], 1)
    return len(reading), len(acknowledging)


@pytest.mark.usefixtures("jobs_are_counted")
def test_states_that_a_pull_needs_next_are_put_together_beside_its_commit_and_its_reading(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading waits for the topic's state after a publish, and an ack for that of the ack state."""
    prepared = _jobs_of_reading_and_acknowledging(bench, wait=True)
    monkeypatch.setattr(Ahead, "prepare", lambda *_: None)
    unprepared = _jobs_of_reading_and_acknowledging(bench, wait=False)
    assert unprepared == (prepared[0] + 1, prepared[1] + 1)


@pytest.mark.usefixtures("jobs_are_counted")
def test_a_topic_is_prepared_for_those_who_read_and_not_for_those_who_only_acknowledge(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside a commit it costs a little; the ack state is needed in any case."""
    topic, subscription = bench.pair()
    prepared: list[str] = []
    monkeypatch.setattr(Ahead, "prepare", lambda _, table: prepared.append(table))

    def pull() -> tuple[PulledBatch, list[str]]:
        prepared.clear()
        bench.store.publish(topic, ["a"])
        batch = bench.store.pull(subscription)
        assert batch.message_count == 1
        return batch, list(prepared)

    messages = bench.store._tables.messages(bench.store.get_topic(topic).uid).table
    ack_state = bench.ack_state_table(subscription)
    batch, first = pull()
    batch.ack()
    batch, second = pull()
    list(batch)
    batch, third = pull()
    assert batch.df.columns
    batch.nack()
    prepared.clear()
    again = bench.store.pull(subscription)
    assert again.message_count == 1
    assert (first, second, third, prepared) == (
        [messages, ack_state],
        [ack_state],
        [messages, ack_state],
        [ack_state],  # nobody has published since
    )
