"""Seeded bugs of ``console/replay.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_flows.py",
    "tests/unit/test_console_successors.py",
    "tests/unit/test_console_mistakes.py",
    "tests/unit/test_console_whole_pages.py",
    "tests/unit/test_console_whole_answers.py",
)

BUGS = (
    Bug(
        "replay-of-another-snapshot",
        "The console replays a snapshot that was created again since the preview.",
        'found += fingerprint(store.get_snapshot(target["snapshot"]))',
        'found += str(store.get_snapshot(target["snapshot"]).name)',
    ),
    Bug(
        "restores-without-retained",
        "The page of a seek says that acknowledged messages cannot return, though the topic has "
        "them.",
        "return subscription.retain_acked_messages or kept is not None",
        "return subscription.retain_acked_messages and kept is not None",
    ),
    Bug(
        "a-replay-of-any-snapshot",
        "A seek of the console goes to a snapshot that was replaced since the preview.",
        '    if "snapshot" in target:\n'
        "        found += "
        'fingerprint(store.get_snapshot(target["snapshot"]))\n',
        "",
    ),
    Bug(
        "replay-by-the-topic-alone",
        "A subscription to a topic that retains messages is said to replay no acknowledged ones.",
        "return subscription.retain_acked_messages or kept is not None",
        "return subscription.retain_acked_messages",
    ),
    Bug(
        "replay-without-condition",
        "A replay is carried out though the subscription has changed meanwhile.",
        "store.seek(id_, **target, if_unchanged=stored)",
        "store.seek(id_, **target)",
    ),
    Bug(
        "a-snapshots-error-stays",
        "After one error of a snapshot, other errors of a seek stand at the snapshot's field.",
        "fields = dict(_ERROR_FIELDS)",
        "fields = _ERROR_FIELDS",
    ),
    Bug(
        "any-failure-is-a-conflict",
        "A replay that another process hinders is told as a change of the subscription.",
        "if isinstance(error, Aborted) and fingerprint(store.get_subscription(id_)) != before:",
        "if isinstance(error, Aborted):",
    ),
)
