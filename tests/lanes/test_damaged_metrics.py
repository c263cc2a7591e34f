"""The metrics of a store where one topic is damaged: the others can still be watched."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from prometheus_client.parser import text_string_to_metric_families

from pubsub_delta import Clock, ManualClock, PubSub, SystemClock
from pubsub_delta.errors import DataLoss, Unavailable
from pubsub_delta.metrics import Measured
from pubsub_delta.tables.messages.sizes import Sizes


def scraped(text: str, name: str) -> dict[str, float]:
    """Return the values of a metric by subscription, or "" for one of the exporter."""
    families = text_string_to_metric_families(text)
    samples = [sample for family in families for sample in family.samples]
    return {s.labels.get("subscription", ""): s.value for s in samples if s.name == name}


def half_broken(root: Path, clock: Clock) -> str:
    """Make a store with a sound and a damaged topic, and return the uid of the damaged one."""
    store = PubSub(None, str(root), clock=clock)
    for topic in ("sound", "broken"):
        store.create_topic(topic)
        store.create_subscription(f"of-{topic}", topic)
    uid = store.get_topic("broken").uid
    for commit in (root / "messages" / uid / "_delta_log").glob("*.json"):
        commit.write_bytes(b"\0")
    store.publish("sound", [b"a", b"b"])
    return uid


def test_a_damaged_topic_hides_the_metrics_of_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "Metrics, per subscription": each has its own, and the error of another one is told."""
    clock, root = ManualClock(), tmp_path / "store"
    uid = half_broken(root, clock)
    exporter = PubSub(None, str(root), clock=clock).metrics_exporter()
    exporter._uptime = lambda: clock.now().timestamp()
    with pytest.raises(DataLoss, match=uid):
        exporter.refresh()
    told, backlog = exporter.text(), "pubsub_subscription_num_undelivered_messages"
    assert scraped(told, backlog) == {"of-sound": 2}
    assert scraped(told, "pubsub_delta_up") == {"": 0}
    assert scraped(told, "pubsub_delta_metrics_age") == {"": 0}
    assert scraped(told, "pubsub_delta_measurement_failures_total") == {"": 1}
    assert scraped(told, "pubsub_delta_last_error_info") == {"": 1}
    # A storage that does not respond says nothing about any of them: the last metrics stay.
    clock.advance(60)

    def no_answer(*_: object, **__: object) -> Measured:
        raise Unavailable("no answer")

    monkeypatch.setattr(Sizes, "of", no_answer)
    with pytest.raises(Unavailable):
        exporter.refresh()
    assert scraped(exporter.text(), backlog) == {"of-sound": 2}
    assert scraped(exporter.text(), "pubsub_delta_metrics_age") == {"": 60}


def test_a_job_that_measures_once_prints_what_is_sound_and_fails(tmp_path: Path) -> None:
    """ "Metrics, per subscription": each has its own, and the error of another one is told."""
    from pubsub_delta.jobs.export_metrics import export_metrics

    uid = half_broken(tmp_path / "store", SystemClock())
    ended = CliRunner().invoke(export_metrics, ["--root", str(tmp_path / "store"), "--once"])
    assert scraped(ended.stdout, "pubsub_subscription_num_undelivered_messages") == {"of-sound": 2}
    assert scraped(ended.stdout, "pubsub_delta_up") == {"": 0}
    assert (ended.exit_code, uid in ended.stderr) == (3, True)
