"""Bugs that only another process shows, which does the opposite at that moment."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_THE_PROTOCOL = (
    Bug(
        "seek-waits-for-nobody",
        "Retention deletes what a seek to a time brings back at that moment.",
        "operations/seek.py",
        "brings_back = target.time is not None",
        "brings_back = target.time is None",
    ),
    Bug(
        "landed-letter-goes-back",
        "A dead letter that has landed is given back as its topic is deleted: it comes twice.",
        "delivery/dead_letters.py",
        "if not tables.messages(target).exists() or not tables.is_received(target):",
        "if tables.registry.topic_of_uid(target) is None:",
    ),
)
