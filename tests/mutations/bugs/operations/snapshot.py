"""Seeded bugs of ``operations/snapshot.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_changed_at_that_moment.py",
    "tests/unit/test_wrong_arguments.py",
    "tests/unit/test_console_deletions.py",
    "tests/unit/test_seek_calls.py",
    "tests/unit/test_snapshot_calls.py",
    "tests/unit/test_crossed_changes.py",
    "tests/unit/test_console_successors.py",
    "tests/unit/test_if_unchanged.py",
)

BUGS = (
    Bug(
        "interrupted-snapshot-keeps-its-name",
        "Ctrl-C while a snapshot is created leaves its announcement.",
        "except (Exception, KeyboardInterrupt, SystemExit):",
        "except Exception:",
    ),
    Bug(
        "announcement-outside-of-what-is-undone",
        "An announcement that landed, and whose call failed then, stays.",
        "tables.registry.remove_snapshot(snapshot.uid)\n            raise",
        "if is_announced:\n"
        "                    tables.registry.remove_snapshot(snapshot.uid)\n"
        "            raise",
    ),
    Bug(
        "snapshot-as-it-was-read",
        "An update of a snapshot returns it without what others have changed meanwhile.",
        '        raise NotFound(f"{name} was deleted meanwhile; create it again")\n'
        "    return found\n",
        "        return snapshot\n    return replace(snapshot, **changes)\n",
    ),
    Bug(
        "snapshot-deleted-whatever-it-is",
        "A deletion with if_unchanged deletes a snapshot that was created again.",
        "    check_unchanged(stored, wanted)\n"
        "    if not tables.registry.hide_snapshot(stored.uid, wanted):\n",
        "    if not tables.registry.hide_snapshot(stored.uid):\n",
    ),
    Bug(
        "snapshot-of-a-stored-state",
        "A snapshot knows nothing of what happened since the last commit.",
        "return source.catch_up(state, now)",
        "return state",
    ),
    Bug(
        "snapshot-of-a-noted-seek",
        "The table of a snapshot holds the stored ack state, with a seek that is noted in it.",
        "capture_snapshot(announced.uid, state)",
        "capture_snapshot(announced.uid, tables.ack_states.read(source.uid))",
    ),
    Bug(
        "slow-snapshot-takes-the-name",
        "A snapshot that was too slow to be taken is told as taken, after it lapsed.",
        "if not tables.registry.finish_snapshot(announced.uid, expire_time):",
        "if tables.registry.finish_snapshot(announced.uid, expire_time) is None:",
    ),
    Bug(
        "snapshot-of-dead-letters",
        "A snapshot holds messages that are on their way to the dead-letter topic.",
        "if state.in_state(State.FORWARDING):",
        "if state.in_state(State.ACKED):",
    ),
    Bug(
        "snapshot-as-old-as-its-span",
        "A snapshot's oldest message is taken for as old as those it was published with.",
        "return source.messages.earliest(reaching) or first.publish_time_min",
        "return first.publish_time_min",
    ),
    Bug(
        "snapshot-expires-by-the-oldest-publish",
        "A snapshot expires by a message that its source has acknowledged.",
        "    if first.publish_time_min == first.publish_time_max:\n",
        "    if first.publish_time_min <= first.publish_time_max:\n",
    ),
    Bug(
        "deleted-and-an-error",
        "A snapshot is deleted, and an error says that it was not, where its table cannot be.",
        "    with suppress(Exception):  # the snapshot is deleted, and an error would deny it\n"
        "        tables.registry.remove_hidden_snapshot(stored.uid)\n",
        "    tables.registry.remove_hidden_snapshot(stored.uid)\n",
    ),
    Bug(
        "oldest-of-one-span",
        "A snapshot lives too long if its oldest message is in the second of two spans.",
        "if s.publish_time_min <= first.publish_time_max]",
        "if s.publish_time_min <= first.publish_time_min]",
    ),
    Bug(
        "oldest-of-the-first-span",
        "The age of a snapshot is that of its first span, though others reach as far back.",
        "    return source.messages.earliest(reaching) or first.publish_time_min",
        "    return source.messages.earliest([first]) or first.publish_time_min",
    ),
    Bug(
        "reach-of-the-first-span",
        "A snapshot expires by the oldest message of one span, though others reach back as far.",
        "reaching = [s for s in captured.spans if s.publish_time_min <= first.publish_time_max]",
        "reaching = [first]",
    ),
    Bug(
        "a-failed-snapshot-keeps-its-name",
        "A snapshot that could not be created keeps its name until maintain.",
        "            with suppress(Exception):  # ``maintain`` removes the remains\n"
        "                tables.registry.remove_snapshot(snapshot.uid)\n",
        "",
    ),
    Bug(
        "labels-of-a-snapshot-are-not-checked",
        "Labels that are no labels end in an error of Python.",
        "checked = rules.check_labels(labels)",
        "checked = dict(labels or {})",
    ),
    Bug(
        "snapshots-of-any-deleted-topic",
        "A snapshot is offered to subscriptions of other topics.",
        "if uid == found[1] and not each.detached)",
        "if not each.detached)",
    ),
    Bug(
        "no-seekers-after-their-topic",
        "The console offers the subscriptions of a deleted topic none of its snapshots.",
        "if found is None or found.subscription.detached:",
        "if found is None or tables.registry.topic_of_uid(found.topic_uid) is None:",
    ),
    Bug(
        "snapshot-is-deleted-twice",
        "Of two that delete a snapshot at the same time both are told that they have.",
        "    if not tables.registry.hide_snapshot(stored.uid, wanted):",
        "    if not tables.registry.hide_snapshot(stored.uid, wanted) and wanted:",
    ),
)
