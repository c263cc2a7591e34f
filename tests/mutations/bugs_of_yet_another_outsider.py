"""Seeded bugs of one more outsider, which the tests nearest to their modules had not noticed."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_YET_ANOTHER_OUTSIDER = (
    Bug(
        "null-is-not-found",
        "A search for a field that is null finds nothing.",
        "policy/json_fields.py",
        "if isinstance(found, bool) or found is None:",
        "if isinstance(found, bool):",
    ),
    Bug(
        "files-without-statistics",
        "A file without statistics is left out of a look.",
        "tables/lanes/direct/conditions.py",
        "pa.scalar(value, values.type)), True)",
        "pa.scalar(value, values.type)), False)",
    ),
    Bug(
        "deletions-of-a-query",
        "In a registry of many rows a deletion is told as none.",
        "tables/lanes/direct/merging.py",
        'for what in ("updated", "inserted", "deleted")',
        'for what in ("updated", "inserted")',
    ),
    Bug(
        "directory-that-was-replaced",
        "A table whose directory was replaced is read as it was.",
        "tables/lanes/direct/open_tables.py",
        "        if opened is not None and directory_id == handle.directory_id:\n            try:",
        "        if opened is not None:\n            try:",
    ),
    Bug(
        "last-problem-only",
        "Of two problems of a resource maintain tells the last.",
        "operations/maintain.py",
        'told if why in told else f"{told}; {why}".removeprefix("; ")',
        "told if why in told else why",
    ),
    Bug(
        "negative-age",
        "By a clock behind, the oldest message has a negative age.",
        "operations/metrics.py",
        "else max(0.0, (now - oldest).total_seconds())",
        "else (now - oldest).total_seconds()",
    ),
    Bug(
        "first-publishes-over-time",
        "The chart over time shows the first publishes and not the last.",
        "operations/survey.py",
        "publishes[-most:]",
        "publishes[:most]",
    ),
    Bug(
        "history-of-direct-deletions",
        "The history tells no number of messages that retention has deleted.",
        "operations/history.py",
        ', "num_deleted_rows")',
        ")",
    ),
    Bug(
        "record-batch-has-no-columns",
        "order_by is refused for an Arrow RecordBatch.",
        "operations/publish.py",
        "not isinstance(what, (pa.Table, pa.RecordBatch))",
        "not isinstance(what, pa.Table)",
    ),
    Bug(
        "publish-of-its-first-message",
        "The first message of a publish does not tell its publish id.",
        "operations/find.py",
        "c.first_position <= position < c.end_position",
        "c.first_position < position < c.end_position",
    ),
    Bug(
        "state-of-a-table-hides",
        "A subscription cannot be shown while the storage of its table does not answer.",
        "delivery/table_writes.py",
        "    except Exception:  # a storage that does not respond must not hide the subscription\n",
        "    except KeyError:  # a storage that does not respond must not hide the subscription\n",
    ),
    Bug(
        "column-twice",
        "Of two columns of one name in an Arrow table the first is lost without a word.",
        "delivery/message_rows.py",
        "twice = next((name for name in names if names.count(name) > 1), None)",
        "twice = None",
    ),
    Bug(
        "left-is-given-back",
        "A micro-batch that is left to the next one is given back.",
        "micro_batch_lease.py",
        "        elif phase is not _Phase.LEFT:\n",
        "        else:\n",
    ),
    Bug(
        "second-waiter-sleeps",
        "Of two publishes that wait for room the second sleeps on when both fit.",
        "publisher.py",
        "            self._blocked.remove(place)\n            self._room.notify_all()\n",
        "            self._blocked.remove(place)\n",
    ),
    Bug(
        "ended-writer-stays",
        "A table writer that has ended is never started again.",
        "server/table_writing.py",
        "if running is not None and not running.is_over:\n            running.topic",
        "if running is not None:\n            running.topic",
    ),
    Bug(
        "journals-go-whatever",
        "The journals of a dead server go though taking over failed.",
        "server/lease_journals.py",
        "            for own, _ in gone:\n"
        "                shutil.rmtree(own, ignore_errors=True)\n"
        "        finally:\n"
        "            for own, lock in gone:\n",
        "        finally:\n"
        "            for own, lock in gone:\n"
        "                shutil.rmtree(own, ignore_errors=True)\n",
    ),
    Bug(
        "kept-for-nobody",
        "Messages that nobody takes wait a minute, and those of a busy consumer five seconds.",
        "server/dispatcher.py",
        "_KEPT_FOR_THE_BUSY if self._receivers else _KEPT_FOR_NOBODY",
        "_KEPT_FOR_NOBODY if self._receivers else _KEPT_FOR_THE_BUSY",
    ),
    Bug(
        "worker-of-the-detached",
        "A detached subscription that is changed is pushed again.",
        "server/subscription_workers.py",
        "if self.needs_worker(subscription) and not subscription.detached:",
        "if self.needs_worker(subscription):",
    ),
    Bug(
        "two-queries-subscribe",
        "Of two queries that create one subscription the slower fails.",
        "datasource/consumer.py",
        "with suppress(AlreadyExists):  # by another",
        "with suppress(FailedPrecondition):  # by another",
    ),
    Bug(
        "drain-of-a-new-subscription",
        "A query that creates its subscription and drains it takes what comes later, without end.",
        "datasource/consumer.py",
        "            self._drains_from_the_start = True\n            return\n",
        "            return\n",
    ),
    Bug(
        "page-beyond-the-end",
        "A page after the last one of a list is empty.",
        "console/lists.py",
        "page = min(int(number), made.pages) if is_number else 1",
        "page = int(number) if is_number else 1",
    ),
    Bug(
        "text-cut-in-a-character",
        "A text that is cut within a character of four bytes is shown in hexadecimal alone.",
        "console/message_data.py",
        "for cut in range(4 if len(data) < whole else 1):",
        "for cut in range(3 if len(data) < whole else 1):",
    ),
    Bug(
        "watched-search-stops",
        "A search stops after a minute though its page is open.",
        "console/searches.py",
        "        self._last_request = self._at_present()\n        assert",
        "        assert",
    ),
    Bug(
        "batch-of-another-subscription",
        "The page of a subscription shows the batch of another one.",
        "console/leased_batches.py",
        "return found if found is not None and found.subscription == subscription else None",
        "return found",
    ),
    Bug(
        "weeks-are-days",
        "A period of weeks is one of days.",
        "cli/periods.py",
        "days += weeks * 7 + ",
        "days += weeks + ",
    ),
    Bug(
        "digest-of-a-part",
        "Two long values have one idempotency id, and the second is skipped.",
        "jobs/idempotency_ids.py",
        "hashlib.sha256(written).hexdigest()",
        "hashlib.sha256(written[:LONGEST_ID]).hexdigest()",
    ),
    Bug(
        "failed-duty-is-success",
        "The maintenance job ends with 0 though a duty failed.",
        "jobs/maintain.py",
        "return FAILED if report.problems else 0",
        "return 0",
    ),
    Bug(
        "no-duty-is-accepted",
        "--duties without a duty does nothing, and says nothing.",
        "jobs/maintenance_options.py",
        "if unknown or not duties:",
        "if unknown:",
    ),
    Bug(
        "packing-in-capitals",
        "A file that ends in .GZ is refused.",
        "jobs/file_formats.py",
        "packing.lower() not in UNPACKED",
        "packing not in UNPACKED",
    ),
    Bug(
        "registry-stops-maintain",
        "A registry that cannot be vacuumed ends a run of maintain, and its report is lost.",
        "operations/maintain.py",
        '        with _reporting(report, "registry"):\n            tables.registry.vacuum()\n',
        "        tables.registry.vacuum()\n",
    ),
    Bug(
        "journal-of-nobody",
        "Without a journal on disk a server keeps the positions of all that it has leased.",
        "server/lease_journals.py",
        "        if self._path is None:\n"
        "            return\n"
        "        self._waiting[lease_id] = positions\n",
        "        self._waiting[lease_id] = positions\n",
    ),
)
