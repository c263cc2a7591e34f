"""Seeded bugs of ``delivery/surveys.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_survey.py",
    "tests/unit/test_missing_statistics.py",
)

BUGS = (
    Bug(
        "last-run-of-a-span-one-short",
        "The chart of an ack state leaves out the newest message of a span.",
        "runs[-1] = (runs[-1][0], positions.max)",
        "runs[-1] = (runs[-1][0], positions.max - 1)",
    ),
    Bug(
        "retained-counted-as-unacked",
        "Acknowledged messages that are kept are counted as not acknowledged.",
        "for s in self.spans if s.state not in acknowledged)",
        "for s in self.spans)",
    ),
    Bug(
        "acknowledged-lane-lies",
        "Messages from before a subscription are drawn as acknowledged.",
        "bounds = [(subscription.create_time, BEFORE), (kept_from, EXPIRED)]",
        "bounds = [(kept_from, EXPIRED)]",
    ),
    Bug(
        "kept-by-the-topic-is-expired",
        "What the topic's retention covers is drawn as too old.",
        "kept_from = cutoff if covered is None else min(cutoff, covered)",
        "kept_from = cutoff",
    ),
    Bug(
        "overlapping-files-count-twice",
        "Where files overlap, the chart counts a message once for each file.",
        "        held |= rest  # where files overlap, a message counts once\n",
        "",
    ),
    Bug(
        "a-run-within-another",
        "Files that lie within an earlier one make the stored runs of a survey shorter.",
        "joined[-1] = (joined[-1][0], max(joined[-1][1], last))",
        "joined[-1] = (joined[-1][0], last)",
    ),
    Bug(
        "a-survey-ends-at-a-file-without-times",
        "A survey leaves out all files after one whose times the log does not have.",
        "        if first is None or last is None:\n            continue\n",
        "        if first is None or last is None:\n            break\n",
    ),
    Bug(
        "states-without-messages",
        "The survey of a subscription tells states that no message has.",
        "return [each for each in found if each.message_count]",
        "return found",
    ),
)
