"""Seeded bugs of ``jobs/publish.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_job_arguments.py",
    "tests/delta/test_job_batches.py",
)

BUGS = (
    Bug(
        "rows-of-no-batch",
        "Rows whose value of `--batch-by` is no UTF-8 are in no batch, and nobody is told.",
        "        written = F.lit(None if text is None else text.decode())\n",
        '        written = F.lit(None if text is None else text.decode(errors="replace"))\n',
    ),
    Bug(
        "no-such-attribute",
        "jobs/publish.py ends in an error of Spark's where the column of an attribute is missing.",
        "named = [data, ordering_key, batch_by, *attributes]",
        "named = [data, ordering_key, batch_by]",
        needs_spark=("tests/acceptance/test_jobs.py::test_a_refusal_is_one_line_and_exit_code_3",),
    ),
    Bug(
        "bad-since-it-was-counted",
        "A record that is bad since jobs/publish.py counted it is left out without a word.",
        "good = held.good if counted.bad else found.checked",
        "good = found.good",
        needs_spark=(
            "tests/acceptance/test_jobs.py::test_a_record_that_is_bad_since_it_was_counted_stops_the_job",
        ),
    ),
    Bug(
        "misfits-are-not-set-aside",
        "jobs/publish.py --bad-records ends at a row that does not fit the schema of the topic.",
        "if bad_records is not None and has_columns:",
        "if bad_records is not None and not has_columns:",
        needs_spark=("tests/delta/test_set_aside.py",),
    ),
    Bug(
        "input-has-another-version",
        "A run of jobs/publish.py publishes the input of an earlier run again.",
        "yield (idempotency_id, 1) if idempotency_id else None, rows",
        "yield (idempotency_id, 2) if idempotency_id else None, rows",
    ),
    Bug(
        "forgotten-publish-fails-the-job",
        "jobs/publish.py ends with NOT_FOUND where an earlier run published long ago.",
        "    except NotFound:\n        return 0\n",
        "    except NotFound:\n        raise\n",
    ),
)
