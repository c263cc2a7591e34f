"""Seeded bugs of ``tables/messages/commits.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/lanes/test_damage.py",
    "tests/unit/test_commit_cache.py",
    "tests/unit/test_topic_history.py",
    "tests/unit/test_publish_calls.py",
    "tests/unit/test_looks.py",
    "tests/unit/test_restored.py",
    "tests/unit/test_tables_in_memory.py",
    "tests/unit/test_retention_job.py",
    "tests/unit/test_races_with_retention.py",
    "tests/unit/test_cleaned_logs.py",
    "tests/unit/test_as_of.py",
    "tests/lanes/test_cut_logs.py",
    "tests/lanes/test_reads_on_disk.py",
)

BUGS = (
    Bug(
        "unknown-commit-keeps-all",
        "A DELETE is taken for a commit after which every message is there.",
        "removes_messages=logged.operation not in _KEEPS_MESSAGES or logged.overwrites",
        "removes_messages=logged.overwrites",
    ),
    Bug(
        "overwrite-keeps-all",
        "A write that overwrites a topic is taken for one after which every message is there.",
        " or logged.overwrites,",
        ",",
    ),
    Bug(
        "late-commits-not-within",
        "A commit that was stamped at the very end of a period is left out of it.",
        "if earliest <= time <= latest]",
        "if earliest <= time < latest]",
    ),
    Bug(
        "gap-in-the-log-ignored",
        "What a log that was cut does not tell is taken for nothing.",
        "is_complete = not new or len(new) == new[0].version - version",
        "is_complete = True",
    ),
    Bug(
        "own-publishes-known-in-a-gap",
        "A publish is known to follow the last known one though another was in between.",
        "if cached and cached[0].version + 1 == commit.version:",
        "if cached:",
    ),
    Bug(
        "positions-of-files-without-statistics",
        "Positions are given out twice where neither log nor statistics tell them.",
        "        if None in told:\n",
        "        if highest < 0 and None not in told:\n",
    ),
    Bug(
        "an-early-look-is-a-lost-log",
        "A topic that was looked at before an ack state is taken for one whose log was cut.",
        "if read[0].version < version:",
        "if read[0].version < version - 10:",
    ),
    Bug(
        "a-seek-is-noted-too-early",
        "A seek does not cover commits that the ack state has seen already.",
        "if self._newest < at_least:",
        "if self._newest < at_least - 10:",
    ),
    Bug(
        "what-a-cut-log-deleted-is-waited-for",
        "Of what was deleted the log tells no more, and so it counts as stored.",
        "return not self.is_complete or self.removes_messages",
        "return self.removes_messages",
    ),
    Bug(
        "announcement-means-what-comes",
        "What is published after an announcement is left out by seeks, too.",
        "            if each.discards_before is not None and not is_void:\n                bound =",
        "            bound = self.discards_before\n"
        "            if each.discards_before is not None and not is_void:\n                bound =",
    ),
    Bug(
        "announced-before-a-restore",
        "What an operator has restored after a deletion is brought back by no seek.",
        'restores=logged.operation == "RESTORE",',
        "restores=False,",
    ),
    Bug(
        "restored-row-behind-maintenance",
        "Positions are given out twice after a restore, where maintenance has committed since.",
        "        for count in (_FIRST_READ, None):\n            commits",
        "        for count in (_FIRST_READ,):\n            commits",
    ),
    Bug(
        "restored-row-with-a-cut-log",
        "Positions are given out twice after a restore, where the log tells of no publish.",
        "        return highest + 1\n",
        "        return 0\n",
    ),
    Bug(
        "older-checkpoint-of-another-query",
        "A query is refused for the micro-batches of another one.",
        "for name, _, number in named if name == application]",
        "for name, _, number in named if name]",
    ),
    Bug(
        "rate-over-a-log-that-is-gone",
        "The rate of publishes counts the time of commits that the log no longer has.",
        "return number, time if commits[-1].version == 0 else max(time, first)",
        "return number, time",
    ),
    Bug(
        "as-of-without-its-instant",
        "A topic as of the publish time of a message lacks that message.",
        "if c.publish_time is not None and c.publish_time > time]",
        "if c.publish_time is not None and c.publish_time >= time]",
    ),
    Bug(
        "a-stream-from-a-time-leaves-out-its-first",
        "A stream of a topic from a time on leaves out what was published at that time.",
        "if c.publish_time and c.publish_time >= time]",
        "if c.publish_time and c.publish_time > time]",
    ),
    Bug(
        "published-at-the-cut",
        "What was published at the very time that retention announces is lost to a seek.",
        "each.publish_time is None or each.publish_time >= bound:",
        "each.publish_time is None or each.publish_time > bound:",
    ),
    Bug(
        "needed-from-the-last-follower",
        "Of the messages that followed a snapshot only those of the last publish are kept for it.",
        "return min(stamps, default=None)",
        "return max(stamps, default=None)",
    ),
    Bug(
        "first-announcement-counts",
        "A seek brings back what a later run of retention is about to delete.",
        "else max(bound, each.discards_before)",
        "else min(bound, each.discards_before)",
    ),
    Bug(
        "divided-by-what-the-log-has-left",
        "A seek acknowledges later messages whose commits the log has forgotten.",
        "if commits[-1].version > 0 or any(each.removes_messages for each in commits):",
        "if any(each.removes_messages for each in commits):",
    ),
    Bug(
        "void-announcements-count",
        "After a restore, a seek leaves out messages whose deletion was announced before it.",
        "            if each.discards_before is not None and not is_void:\n",
        "            if each.discards_before is not None:\n",
    ),
    Bug(
        "positions-are-given-again-behind-maintenance",
        "The last publish in the log does not count if maintenance has committed since.",
        "if any(each.adds_messages for each in commits) or commits[-1].version == 0:",
        "if commits[0].adds_messages or commits[-1].version == 0:",
    ),
    Bug(
        "a-void-announcement-counts",
        "A seek leaves out messages that an operator has restored.",
        "since = takewhile(lambda each: not each.restores, self.commits)",
        "since = iter(self.commits)",
    ),
    Bug(
        "commit-metadata-must-be-json",
        "A topic cannot be read since somebody has optimized it with a note of their own.",
        "    except ValueError:\n        return {}\n    return metadata",
        "    except TypeError:\n        return {}\n    return metadata",
    ),
    Bug(
        "long-history-has-no-messages-within-a-time",
        "A seek to a time in a topic of many commits brings back too much.",
        "        if count > _FEW:\n            return None",
        "        if count > _FEW:\n            return []",
    ),
    Bug(
        "older-log-of-a-topic-is-not-noticed",
        "A topic's table was replaced by an older copy, and its next messages are passed over.",
        "        if behind < 0:\n            raise DataLoss(",
        "        if behind < -9:\n            raise DataLoss(",
    ),
    Bug(
        "known-commits-before-a-gap",
        "Publishes that the log has lost between two looks are passed over without a word.",
        "joins = bool(fresh) and fresh[-1].version == cached[0].version + 1",
        "joins = bool(fresh)",
    ),
    Bug(
        "positions-below-a-file-are-given-again",
        "Positions are given out twice where several files tell them and the log does not.",
        "highest = max((each for each in told if each is not None), default=-1)",
        "highest = min((each for each in told if each is not None), default=-1)",
    ),
)
