"""Seeded bugs of ``tables/messages/messages.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_order_of_writes.py",
    "tests/unit/test_changes_in_doubt.py",
    "tests/protocol/test_outages.py",
    "tests/unit/test_tables_in_memory.py",
    "tests/unit/test_cleaned_logs.py",
    "tests/unit/test_maintenance_problems.py",
    "tests/unit/test_retention_job.py",
    "tests/unit/test_races_with_retention.py",
    "tests/unit/test_publish_calls.py",
    "tests/unit/test_fuzz_sql.py",
    "tests/lanes/test_races_found.py",
    "tests/unit/test_lost_answers.py",
)

BUGS = (
    Bug(
        "retention-fails-in-a-race",
        "A deletion of messages that lost a race fails in place of waiting for the next run.",
        "            except Conflict:\n                return False\n",
        "            except Conflict:\n                raise\n",
    ),
    Bug(
        "slow-publisher-loses",
        "What a slow publisher commits while the retention job runs is deleted with the rest.",
        "if any(each.restores or each.may_add(None, time) for each in late.commits):",
        "if any(each.restores for each in late.commits):",
    ),
    Bug(
        "what-is-restored-meanwhile-is-deleted",
        "Retention deletes what an operator and a seek have brought back since its last look.",
        "if any(each.restores or each.may_add(None, time) for each in late.commits):",
        "if any(each.may_add(None, time) for each in late.commits):",
    ),
    Bug(
        "own-append-is-a-conflict",
        "A publish that met its own commit in object storage is made twice.",
        "return commit is not None and commit.first_position == first",
        "return False",
    ),
    Bug(
        "any-append-is-ours",
        "A publish that lost a race is taken for one that landed.",
        "return commit is not None and commit.first_position == first",
        "return True",
    ),
    Bug(
        "optimize-that-lost-a-race",
        "A run of maintain joins no files of a topic where another program was faster.",
        "return repeat_on_conflict(lambda: self._lane.compact(self._table), self._table)",
        "return self._lane.compact(self._table)",
    ),
    Bug(
        "publish-in-doubt-is-told-as-unavailable",
        "A publish that may have landed is told as not written, and sent again.",
        """        except Exception as failed:
            raise Unknown(""",
        """        except Exception as failed:
            raise failed
            raise Unknown(""",
    ),
    Bug(
        "publish-is-looked-for-after-conflicts-only",
        "A publish that may have landed is told as not written where its storage is away.",
        """            except Exception as error:
                # Also""",
        """            except Conflict as error:
                # Also""",
    ),
    Bug(
        "dataframe-that-landed-is-an-error",
        "A DataFrame whose answer was lost is told as failed, and published again.",
        """            if not self._has_landed(publish_id, first, error):
                raise
            return True
""",
        """            raise
""",
        needs_spark=("tests/delta/test_concurrency.py",),
    ),
    Bug(
        "deletes-as-of-the-first-look",
        "Retention in the direct lane fails if somebody compacts the topic between its two looks.",
        "seen = late.commits[0].version if late.commits else after_version",
        "seen = after_version",
    ),
    Bug(
        "every-day-is-rewritten",
        "Retention of whole days reads and writes the messages of the day of its bound.",
        "if time == start_of_day(time):",
        "if time < start_of_day(time):",
    ),
    Bug(
        "older-checkpoint-in-a-catalog",
        "The same in a catalog, where no transaction can be read.",
        "return self.history.last_version_of(application) if known is None else known",
        "return known",
    ),
    Bug(
        "commit-of-another-block-is-ours",
        "A Conflict of an idempotent publish that another process has landed counts as this one's.",
        "return commit is not None and commit.first_position == first",
        "return commit is not None",
    ),
    Bug(
        "a-deletion-that-cannot-see-slow-publishers",
        "Retention deletes a slow publisher's messages where the log was cut meanwhile.",
        """            if not late.is_complete:
                return False
""",
        "",
    ),
    Bug(
        "refused-publish-is-in-doubt",
        "A publish that the storage refuses is told as one that may have landed.",
        "        if isinstance(error, StorageRefused):\n            return False",
        "        if isinstance(error, KeyError):\n            return False",
    ),
    Bug(
        "messages-before-their-positions",
        "A topic whose creation was cut short looks as if it could be published to.",
        "        self._allocator.create(self._positions_table)\n"
        "        self._lane.create(self._table, MESSAGES)\n",
        "        self._lane.create(self._table, MESSAGES)\n"
        "        self._allocator.create(self._positions_table)\n",
    ),
)
