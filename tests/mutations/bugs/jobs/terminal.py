"""Seeded bugs of ``jobs/terminal.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_job_exit_codes.py",
    "tests/unit/test_job_progress.py",
    "tests/unit/test_job_options.py",
    "tests/unit/test_job_summaries.py",
    "tests/unit/test_job_arguments.py",
    "tests/lanes/test_jobs.py",
)

BUGS = (
    Bug(
        "full-checkpoint-is-unexpected",
        "A scheduler is told not to run a job again whose checkpoint is on a full disk.",
        "    outage = None if name in _errors_by_name() else outage_in(error)\n",
        "    outage = None\n",
    ),
    Bug(
        "full-log-ends-a-job",
        "A job ends where the disk of its log is full.",
        "        with suppress(OSError):\n            super()",
        "        with suppress(KeyError):\n            super()",
    ),
    Bug(
        "failed-job-leaves-its-query",
        "A job that fails does not stop its query, whose messages stay leased.",
        "    finally:\n        query.stop()",
        "    finally:\n        pass",
    ),
    Bug(
        "summary-is-tried-after-the-work",
        "A summary that cannot be written fails a job that has done its work.",
        "        callback=check_summary,\n",
        "",
    ),
    Bug(
        "tried-summary-stays",
        "A job that fails leaves an empty summary, or takes away that of an earlier run.",
        "        if is_new:",
        "        if not is_new:",
    ),
    Bug(
        "full-disk-fails-what-a-job-has-done",
        "A disk that fills while a job works fails what it has done.",
        "    except OSError as error:\n        _print_line(",
        "    except KeyError as error:\n        _print_line(",
    ),
    Bug(
        "full-log-changes-the-exit-code-of-a-job",
        "A job whose log is full ends with the exit code 120, and is run again.",
        "    drop_unwritten()\n",
        "",
    ),
    Bug(
        "path-is-markup",
        "Brackets in a path are styles in the last line of a job, or end it with an error.",
        "highlight=False, markup=False, emoji=False)",
        "highlight=False, emoji=False)",
    ),
    Bug(
        "interval-of-a-job-is-sparks-alone",
        "A streaming job refuses 60s, which every other duration is given by.",
        "(?<=\\d)[wdhms](?![a-z])",
        "(?<=\\d)[wdh](?![a-z])",
    ),
    Bug(
        "full-disk-refuses-a-job-for-good",
        "A scheduler is told that a later run cannot help, after a disk was full.",
        "_TEMPORARY = (Aborted, Unavailable, Unknown)",
        "_TEMPORARY = (Aborted, Unknown)",
    ),
    Bug(
        "errors-of-a-query-are-known-in-one-level",
        "A storage that refuses a job's query is an unexpected failure.",
        "yield from _errors(each)",
        "_errors(each)",
    ),
    Bug(
        "job-names-outermost-cause",
        "A streaming job names the first line of a query's error that looks like one, "
        "and not the cause: its exit code is wrong.",
        "name, why = causes[-1] if causes",
        "name, why = causes[0] if causes",
    ),
    Bug(
        "bad-records-set-aside-no-more",
        "A publishing job goes on without a word when its bad records cannot be set aside.",
        "            if beside is not None and beside.exception() is not None:",
        "            if beside is None and query.exception() is not None:",
    ),
    Bug(
        "a-micro-batch-counted-again",
        "A streaming job counts its last micro-batch again at each look.",
        'if progress["batchId"] <= seen:',
        'if progress["batchId"] < seen:',
    ),
    Bug(
        "summary-without-its-folder",
        "A job refuses a --summary in a new directory.",
        "        path.parent.mkdir(parents=True, exist_ok=True)\n",
        "",
    ),
    Bug(
        "exit-code-of-unknown",
        "A commit in doubt ends a job as a refusal.",
        "_TEMPORARY = (Aborted, Unavailable, Unknown)",
        "_TEMPORARY = (Aborted, Unavailable)",
    ),
    Bug(
        "job-of-an-ended-session-is-refused",
        "A job whose session its cluster has ended tells its scheduler not to try again.",
        "    if error.__name__ == _ENDED:\n",
        "    if error is None:\n",
    ),
    Bug(
        "progress-counts-steps",
        "The log of a job tells how many steps it made as messages.",
        "            done += count\n            bar",
        "            done += 1\n            bar",
    ),
    Bug(
        "empty-option-is-left-out",
        "A job whose --idempotency-id is an empty variable publishes everything anew.",
        "    if not value.strip():\n",
        "    if value is None:\n",
    ),
    Bug(
        "failed-job-keeps-the-summary-of-an-earlier-run",
        "The summary of a job that failed is that of an earlier run.",
        "        finally:\n            self.finish(path)\n",
        "        self.finish(path)\n",
    ),
    Bug(
        "a-session-that-runs-is-not-taken",
        "jobs/maintain.py on Databricks runs without the storage settings of its session.",
        "return start() if any(name in os.environ for name in _HAVE_STARTED_SPARK) else start",
        "return start() if all(name in os.environ for name in _HAVE_STARTED_SPARK) else start",
    ),
    Bug(
        "a-job-that-is-ended-keeps-an-earlier-summary",
        "A job that its scheduler ends by SIGTERM leaves the summary of an earlier run.",
        "            with raising_at_signals(), ending:\n",
        "            with ending:\n",
    ),
    Bug(
        "a-summary-at-a-url-is-a-local-file",
        "The summary of a job at s3a://bucket/x is written below a directory s3a: of the driver.",
        "    if _URL.match(str(path)):\n",
        "    if _URL.match(path.name):\n",
    ),
    Bug(
        "the-query-goes-on-beside-an-error",
        "A job whose other query has failed goes on leasing until that is told.",
        "                query.stop()\n                beside.awaitTermination()",
        "                beside.awaitTermination()",
    ),
)
