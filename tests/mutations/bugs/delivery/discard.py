"""Seeded bugs of ``delivery/discard.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/lanes/test_upkeep.py",
    "tests/unit/test_retention_job.py",
    "tests/unit/test_expired_snapshots.py",
    "tests/unit/test_races.py",
    "tests/unit/test_races_with_retention.py",
    "tests/unit/test_cleaned_logs.py",
)

BUGS = (
    Bug(
        "retention-looks-at-one-snapshot",
        "Retention deletes what the second snapshot of a topic holds.",
        "        for each in captured:\n            if each ==",
        "        for each in captured[:1]:\n            if each ==",
    ),
    Bug(
        "deleted-topic-loses-backlog",
        "The backlog of a deleted topic's subscriptions is deleted.",
        "if kept.deleted is not None and not holders:",
        "if kept.deleted is not None:",
    ),
    Bug(
        "deleted-topic-retains",
        "A deleted topic's own retention still keeps its messages.",
        "times = [] if kept.deleted else [retention.covered_from(topic, now)]",
        "times = [retention.covered_from(topic, now)]",
    ),
    Bug(
        "detached-holds-messages",
        "A detached subscription still keeps messages from being deleted.",
        "        if not subscription.detached\n    ]",
        "    ]",
    ),
    Bug(
        "history-of-snapshots-forgotten",
        "A log forgets what came after a snapshot.",
        "if not old or min(held, default=old[0].version) < old[0].version:",
        "if not old:",
    ),
    Bug(
        "history-of-a-later-snapshot-forgotten",
        "A slow maintain forgets commits that a snapshot needs which was taken meanwhile.",
        "if clock() - now > keep / 2:",
        "if clock() - now > 2 * keep:",
    ),
    Bug(
        "history-of-sleepers-forgotten",
        "A log forgets what a subscription has not seen yet, and all that is stored comes again.",
        "        tables.ack_states.update(source.uid, partial(source.catch_up, now=now))",
        "        pass",
    ),
    Bug(
        "snapshots-hold-nothing",
        "Retention deletes what only a snapshot holds.",
        "captured = tables.registry.captured_of(topic.uid, as_of)",
        "captured = []",
    ),
    Bug(
        "retention-on-stored-states",
        "Retention deletes what came to a subscription since its last commit.",
        "            state = source.heeding_no_announcement().catch_up(state, now)\n",
        "",
    ),
    Bug(
        "dry-run-deletes-messages",
        "A dry run deletes messages.",
        "    if found and not dry_run:\n        discard_id",
        "    if found:\n        discard_id",
    ),
    Bug(
        "retention-looks-once",
        "Retention deletes what a seek has brought back since it looked.",
        "if again < bound or not messages",
        "if not messages",
    ),
    Bug(
        "abandoned-kept-for-a-seek",
        "The messages of a deleted topic that nobody has any more are kept.",
        "        return now + _FOR_EVER\n",
        "        return now\n",
    ),
    Bug(
        "dry-run-takes-expired-for-deleted",
        "A dry run without expiration tells of messages that the run does not delete.",
        "now if dry_run and after_expiration else None",
        "now if dry_run else None",
    ),
    Bug(
        "dry-run-keeps-idle-subscriptions",
        "A dry run tells of fewer messages than are deleted, where a subscription has expired.",
        "                continue\n            holders",
        "                pass\n            holders",
    ),
    Bug(
        "announced-snapshot-needs-the-log",
        "Retention calls a snapshot that is being created wrong, once the log was cleaned.",
        "            if each == EVERY_MESSAGE:\n",
        "            if each is None:\n",
    ),
    Bug(
        "announced-snapshot-holds-nothing",
        "Retention deletes what a snapshot may have that is being created.",
        "                times.append(_earliest_stored(messages))\n",
        "",
    ),
    Bug(
        "deleted-topic-forgotten-at-once",
        "A deleted topic is forgotten before VACUUM may remove its files.",
        "elif not found and bound > now and kept.is_vacuumed(now) and not dry_run:",
        "elif not found and bound > now and not dry_run:",
    ),
    Bug(
        "log-cleaned-by-the-newest-snapshot",
        "Of several snapshots of a topic the newest decides which commits may go.",
        "    if not old or min(held, default=old[0].version) < old[0].version:\n",
        "    if not old or max(held, default=old[0].version) < old[0].version:\n",
    ),
    Bug(
        "deletion-is-not-announced",
        "Retention looks again before it has announced what it deletes.",
        "        messages.announce_discard(min(bound, now), discard_id)\n"
        "        again = _bound(kept, *_needed_from(*wanted), now)\n",
        "        again = _bound(kept, *_needed_from(*wanted), now)\n"
        "        messages.announce_discard(min(bound, now), discard_id)\n",
    ),
    Bug(
        "retention-heeds-itself",
        "Retention takes what it has announced itself for gone.",
        "state = source.heeding_no_announcement().catch_up(state, now)",
        "state = source.catch_up(state, now)",
    ),
    Bug(
        "announced-for-ever",
        "What retention announces of a deleted topic lies a hundred years ahead.",
        "announce_discard(min(bound, now), ",
        "announce_discard(bound, ",
    ),
    Bug(
        "expired-snapshot-holds-nothing",
        "Retention deletes what a snapshot holds that is given more time, by a clock behind.",
        "now if dry_run and after_expiration else None)",
        "now)",
    ),
    Bug(
        "dry-run-keeps-expired-snapshots",
        "A dry run reports fewer messages than are deleted, where a snapshot has expired.",
        "now if dry_run and after_expiration else None)",
        "None)",
    ),
    Bug(
        "dry-run-forgets",
        "maintain --dry-run forgets topics that were deleted long ago.",
        "kept.is_vacuumed(now) and not dry_run:",
        "kept.is_vacuumed(now):",
    ),
    Bug(
        "a-snapshot-whose-commits-are-gone",
        "Retention deletes what a snapshot holds where another tool has cut the log.",
        "            if not following.is_complete:",
        "            if False:",
    ),
    Bug(
        "snapshot-needs-what-was-unacked",
        "Retention forgets that a snapshot holds what was published after it.",
        "retention.needed_by_snapshot(each, following.first_publish_time)",
        "retention.needed_by_snapshot(each, None)",
    ),
    Bug(
        "dry-run-removes-commits",
        "maintain --dry-run removes the old commits of topics.",
        "    if dry_run:\n        return len(old)",
        "    if dry_run and not old:\n        return len(old)",
    ),
)
