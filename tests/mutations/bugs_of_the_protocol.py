"""Bugs that only another process shows, which does the opposite at that moment."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_THE_PROTOCOL = (
    Bug(
        "deletion-is-not-announced",
        "Retention looks again before it has announced what it deletes.",
        "delivery/discard.py",
        "        messages.announce_discard(min(bound, now), discard_id)\n"
        "        again = _bound(kept, *_needed_from(*wanted), now)\n",
        "        again = _bound(kept, *_needed_from(*wanted), now)\n"
        "        messages.announce_discard(min(bound, now), discard_id)\n",
    ),
    Bug(
        "announcement-is-not-heeded",
        "A seek brings back what retention is about to delete.",
        "delivery/sources.py",
        "new = new.without_discarded()",
        "new = new.up_to(up_to)",
    ),
    Bug(
        "retention-heeds-itself",
        "Retention takes what it has announced itself for gone.",
        "delivery/discard.py",
        "state = source.heeding_no_announcement().catch_up(state, now)",
        "state = source.catch_up(state, now)",
    ),
    Bug(
        "prefetched-log-is-taken",
        "A seek is carried out by a log that was read before its note.",
        "delivery/sources.py",
        "if self._after_version < 0:  # what",
        "if self._after_version < -1:  # what",
    ),
    Bug(
        "announcement-of-a-cut-log",
        "Where the log has forgotten commits, a seek heeds no announcement.",
        "delivery/sources.py",
        "if not new.is_complete:",
        "if new.is_complete:",
    ),
    Bug(
        "announcement-means-what-comes",
        "What is published after an announcement is left out by seeks, too.",
        "tables/messages/commits.py",
        "            if each.discards_before is not None and not is_void:\n                bound =",
        "            bound = self.discards_before\n"
        "            if each.discards_before is not None and not is_void:\n                bound =",
    ),
    Bug(
        "announced-before-a-restore",
        "What an operator has restored after a deletion is brought back by no seek.",
        "tables/messages/commits.py",
        'restores=logged.operation == "RESTORE",',
        "restores=False,",
    ),
    Bug(
        "counts-what-is-about-to-go",
        "A seek to a deleted snapshot succeeds though retention is deleting its messages.",
        "tables/messages/stored.py",
        "Window(positions, self.history.discards_before(), None)",
        "Window(positions, None, None)",
    ),
    Bug(
        "deletes-what-it-did-not-see",
        "Retention deletes what a slow publisher has committed since its last look.",
        "tables/lanes/direct/tables.py",
        "return nullcontext(self.open_tables.opened(table, version))",
        "return nullcontext(self.open_tables.opened(table))",
    ),
    Bug(
        "deletion-that-met-itself",
        "A DELETE whose answer was lost is told as one that did not land.",
        "tables/lanes/direct/tables.py",
        "if c.user_metadata == user_metadata), None)\n            if landed is None:",
        "if c.user_metadata == user_metadata), None)\n            if True:",
    ),
    Bug(
        "deletes-as-of-the-first-look",
        "Retention in the direct lane fails if somebody compacts the topic between its two looks.",
        "tables/messages/messages.py",
        "seen = late.commits[0].version if late.commits else after_version",
        "seen = after_version",
    ),
    Bug(
        "announced-for-ever",
        "What retention announces of a deleted topic lies a hundred years ahead.",
        "delivery/discard.py",
        "announce_discard(min(bound, now), ",
        "announce_discard(bound, ",
    ),
    Bug(
        "every-day-is-rewritten",
        "Retention of whole days reads and writes the messages of the day of its bound.",
        "tables/messages/messages.py",
        "if time == start_of_day(time):",
        "if time < start_of_day(time):",
    ),
    Bug(
        "landed-letter-goes-back",
        "A dead letter that has landed is given back as its topic is deleted: it comes twice.",
        "delivery/dead_letters.py",
        "takes_any = tables.is_received(target)\n",
        "takes_any = tables.registry.topic_of_uid(target) is not None\n",
    ),
)
