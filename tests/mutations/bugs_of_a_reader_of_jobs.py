"""Bugs of the jobs, as a reader of their pages found them."""

from __future__ import annotations

from tests.mutations.bug import Bug

ROWS = ("tests/delta/test_job_rows.py",)
SET_ASIDE = ("tests/delta/test_set_aside.py",)

BUGS_OF_A_READER_OF_JOBS = (
    Bug(
        "empty-option-is-left-out",
        "A job whose --idempotency-id is an empty variable publishes everything anew.",
        "jobs/terminal.py",
        "    if not value.strip():\n",
        "    if value is None:\n",
    ),
    Bug(
        "failed-job-keeps-the-summary-of-an-earlier-run",
        "The summary of a job that failed is that of an earlier run.",
        "jobs/terminal.py",
        "        finally:\n            self.finish(path)\n",
        "        self.finish(path)\n",
    ),
    Bug(
        "written-and-not-told",
        "jobs/consume.py does not tell what it has written and could not acknowledge.",
        "jobs/consume.py",
        "                    totals.add(batch.message_count)\n"
        "                    outcome = batch.ack()\n",
        "                    outcome = batch.ack()\n"
        "                    totals.add(batch.message_count)\n",
    ),
    Bug(
        "rows-of-the-input-are-messages",
        "jobs/stream_publish.py counts bad records as messages, and each row at each reading.",
        "jobs/stream_publish.py",
        "return each.message_count or 0",
        'return int(progress["numInputRows"])',
    ),
    Bug(
        "damaged-files-are-passed-over",
        "jobs/publish.py leaves out damaged files by a setting of the session, without a word.",
        "jobs/sources.py",
        "    check_session(spark)\n",
        "",
    ),
    Bug(
        "an-option-of-another-job",
        "jobs/export_metrics.py tells to give --merge-schema, which it does not have.",
        "jobs/outputs.py",
        "may_merge = merge_schema is False",
        "may_merge = not merge_schema",
    ),
    Bug(
        "names-are-no-utf-8",
        "jobs/publish.py publishes a CSV in UTF-16 with spoilt names.",
        "jobs/records.py",
        "(found[-1] or _REPLACED in names)",
        "found[-1]",
        needs_spark=ROWS,
    ),
    Bug(
        "folders-are-passed-over",
        "jobs/publish.py leaves out the files of folders that are no partitions, without a word.",
        "jobs/sources.py",
        "deep = bool(files) and files != _files(spark, path, deep=False)",
        "deep = False",
        needs_spark=ROWS,
    ),
    Bug(
        "attribute-twice",
        "jobs/publish.py ends in a traceback where an attribute is asked for twice.",
        "jobs/inputs.py",
        "dict.fromkeys(attributes)",
        "attributes",
        needs_spark=ROWS,
    ),
    Bug(
        "misfits-are-not-set-aside",
        "jobs/publish.py --bad-records ends at a row that does not fit the schema of the topic.",
        "jobs/publish.py",
        "if bad_records is not None and has_columns:",
        "if bad_records is not None and not has_columns:",
        needs_spark=SET_ASIDE,
    ),
    Bug(
        "misfits-of-a-stream-are-not-set-aside",
        "jobs/stream_publish.py --bad-records leaves out what does not fit, and tells nobody.",
        "jobs/set_aside.py",
        "            add_to(bad_records, checked)\n",
        "",
        needs_spark=SET_ASIDE,
    ),
    Bug(
        "set-aside-at-each-start",
        "A micro-batch that has landed sets its bad records aside again.",
        "operations/publish.py",
        "looks = topic.schema_settings is not None or prepare is not None",
        "looks = topic.schema_settings is not None",
    ),
    Bug(
        "input-has-another-version",
        "A run of jobs/publish.py publishes the input of an earlier run again.",
        "jobs/publish.py",
        "yield (idempotency_id, 1) if idempotency_id else None, rows",
        "yield (idempotency_id, 2) if idempotency_id else None, rows",
    ),
    Bug(
        "refused-views-are-no-failure",
        "jobs/create_views.py ends with 0 though it could not create a view.",
        "jobs/create_views.py",
        "return REFUSED_SOME if report.refused else 0",
        "return REFUSED_SOME if not report.views else 0",
    ),
    Bug(
        "views-for-this-session-alone",
        "jobs/create_views.py creates views that end with the job.",
        "jobs/create_views.py",
        "temporary=False if schema is None else None",
        "temporary=None",
    ),
    Bug(
        "micro-batches-without-numbers",
        "jobs/stream_consume.py writes a repeated micro-batch twice.",
        "jobs/stream_consume.py",
        "merge_schema=merge_schema, **numbered)",
        "merge_schema=merge_schema)",
    ),
    Bug(
        "micro-batches-of-any-size",
        "jobs/stream_consume.py takes all messages at once, whatever --batch-size says.",
        "jobs/stream_consume.py",
        "            max_messages=batch_size,\n",
        "",
    ),
    Bug(
        "log-retention-is-not-handed-on",
        "jobs/maintain.py keeps the commits that --log-retention would remove.",
        "jobs/maintain.py",
        "log_retention=log_retention, ",
        "",
    ),
    Bug(
        "forgotten-publish-fails-the-job",
        "jobs/publish.py ends with NOT_FOUND where an earlier run published long ago.",
        "jobs/publish.py",
        "    except NotFound:\n        return 0\n",
        "    except NotFound:\n        raise\n",
    ),
    Bug(
        "a-session-that-runs-is-not-taken",
        "jobs/maintain.py on Databricks runs without the storage settings of its session.",
        "jobs/terminal.py",
        "return start() if any(name in os.environ for name in _HAVE_STARTED_SPARK) else start",
        "return start() if all(name in os.environ for name in _HAVE_STARTED_SPARK) else start",
    ),
)
