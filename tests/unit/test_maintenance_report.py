"""What the lines of a maintenance report say of each duty."""

from __future__ import annotations

from dataclasses import replace

from pubsub_delta import MaintenanceReport
from tests.unit.builders import at

TOPIC, OTHER = "projects/p/topics/ttt", "projects/p/topics/uuu"
SUBSCRIPTION = "projects/p/subscriptions/sss"


def test_a_report_has_a_line_for_each_thing_that_was_done_or_failed() -> None:
    report = MaintenanceReport(
        written={SUBSCRIPTION: 2},
        dead_letters={SUBSCRIPTION: 1},
        expired=[SUBSCRIPTION],
        discarded={TOPIC: 1000, OTHER: 1},
        kept_from={TOPIC: at(0), OTHER: None},
        optimized={TOPIC: 1, OTHER: 0},
        vacuumed=[TOPIC],
        forgotten={TOPIC: 3},
        problems={OTHER: "its log\n is damaged"},
    )
    kept = "needed from 2026-01-01 00:00 UTC on"
    told = [line.split(": ", 2) for line in report.lines()]
    assert [(duty, of) for duty, of, _ in told] == [
        ("tables", SUBSCRIPTION),
        ("dead-letters", SUBSCRIPTION),
        ("expiration", SUBSCRIPTION),
        ("retention", TOPIC),
        ("retention", OTHER),
        ("optimize", TOPIC),
        ("vacuum", TOPIC),
        ("log-retention", TOPIC),
        ("not done", OTHER),
    ]
    assert [text for _, _, text in told] == [
        "2 messages written",
        "1 message forwarded",
        "deleted",
        f"1,000 messages deleted; {kept}",
        "1 message deleted; none is needed",
        "1 small file replaced",
        "no unneeded files are left",
        "3 commits forgotten",
        "its log is damaged",
    ]
    would = [line.split(": ", 2)[2] for line in replace(report, dry_run=True).lines()]
    assert would[:4] == [
        "2 messages would be written",
        "1 message would be forwarded",
        "would be deleted",
        f"1,000 messages would be deleted; {kept}",
    ]
