"""Bugs of the jobs, by somebody who has not seen the list."""

from __future__ import annotations

from tests.mutations.bug import Bug

ROWS = ("tests/delta/test_job_rows.py",)

BUGS_OF_AN_EIGHTH_OUTSIDER_AT_JOBS = (
    Bug(
        "left-of-an-earlier-wait",
        "jobs/consume.py ends with exit code 4, though it got what others had held.",
        "jobs/consume.py",
        "waiting_since, left = None, 0",
        "waiting_since = None",
    ),
    Bug(
        "a-report-without-metrics",
        "jobs/stream_consume.py ends where the metrics of its subscription cannot be read.",
        "jobs/stream_consume.py",
        "        if acked is None:\n            return 0\n",
        "",
    ),
    Bug(
        "ids-in-the-output",
        "jobs/consume.py writes the delivery attempt into the table of its output.",
        "jobs/consume.py",
        'return batch.df.drop("ack_id", "delivery_attempt")',
        'return batch.df.drop("ack_id")',
        needs_spark=ROWS,
    ),
    Bug(
        "null-attributes-are-published",
        "jobs/publish.py ends where a column of an attribute has a null.",
        "jobs/inputs.py",
        "present = F.map_filter(F.create_map(*pairs), lambda _, value: value.isNotNull())",
        "present = F.create_map(*pairs)",
        needs_spark=ROWS,
    ),
    Bug(
        "times-in-the-zone-of-the-session",
        "The jobs write times as the session's time zone has them.",
        "jobs/inputs.py",
        '    "timeZone": "UTC",\n',
        "",
        needs_spark=ROWS,
    ),
    Bug(
        "no-such-attribute",
        "jobs/publish.py ends in an error of Spark's where the column of an attribute is missing.",
        "jobs/publish.py",
        "named = [data, ordering_key, batch_by, *attributes]",
        "named = [data, ordering_key, batch_by]",
        needs_spark=("tests/acceptance/test_jobs.py::test_a_refusal_is_one_line_and_exit_code_3",),
    ),
    Bug(
        "bad-since-it-was-counted",
        "A record that is bad since jobs/publish.py counted it is left out without a word.",
        "jobs/publish.py",
        "good = held.good if counted.bad else found.checked",
        "good = found.good",
        needs_spark=(
            "tests/acceptance/test_jobs.py::test_a_record_that_is_bad_since_it_was_counted_stops_the_job",
        ),
    ),
    Bug(
        "bad-ones-are-good",
        "The good records are counted with the bad ones.",
        "jobs/records.py",
        "RecordCounts(found[0] - found[1], found[1],",
        "RecordCounts(found[0], found[1],",
        needs_spark=ROWS,
    ),
    Bug(
        "one-more-bad-record",
        "The number of further bad records is one too high.",
        "jobs/records.py",
        'more = f" (and {count - 1:,} more)" if count > 1 else ""',
        'more = f" (and {count:,} more)" if count > 1 else ""',
        needs_spark=ROWS,
    ),
    Bug(
        "empty-texts-are-null",
        "An empty text in a CSV file is published as null.",
        "jobs/readers.py",
        '        options["nullValue"] = _NOTHING\n',
        '        options["emptyValue"] = _NOTHING\n',
        needs_spark=ROWS,
    ),
    Bug(
        "folders-without-a-comma",
        "The JSON object of a line in a folder month=1 is no JSON.",
        "jobs/readers.py",
        'F.when(inner.rlike(r"\\S"), F.lit(",")).otherwise(F.lit(""))',
        'F.when(inner.rlike(r"^\\S"), F.lit(",")).otherwise(F.lit(""))',
        needs_spark=ROWS,
    ),
)
