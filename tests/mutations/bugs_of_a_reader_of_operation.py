"""Bugs of scheduled work, metrics and views, as a reader of the pages of operation found them."""

from __future__ import annotations

from tests.mutations.bug import Bug

ROWS = ("tests/delta/test_job_rows.py",)

BUGS_OF_A_READER_OF_OPERATION = (
    Bug(
        "absent-store-is-maintained",
        "A schedule whose root is misspelt does nothing, and tells that all is done.",
        "tables/store.py",
        "        if not self.registry.is_created():\n",
        "        if self.registry.is_created() is None:\n",
    ),
    Bug(
        "absent-store-has-metrics",
        "An exporter whose disk is not mounted tells that it is up, and that nothing waits.",
        "methods/metrics.py",
        "        if wanted is None:\n            self._tables.check_created()\n",
        "",
    ),
    Bug(
        "absent-store-loses-its-views",
        "create_views drops all views of a store whose disk is not mounted.",
        "operations/views.py",
        "    tables.check_created()  # else all views are dropped while a disk is not mounted\n",
        "",
    ),
    Bug(
        "a-reader-is-asked-to-write",
        "Who may not read a store is told to get a permission to write it.",
        "tables/lanes/storage_errors.py",
        'what = "write" if _READ_ONLY.search(told) else "read or write"',
        'what = "write"',
    ),
    Bug(
        "id-without-messages-hides-later-ones",
        "Rows that are published again, since the input was empty at first, are lost in silence.",
        "operations/publish.py",
        "    if commit is not None and _had_no_messages(messages, commit) and has_messages():\n",
        "    if commit is not None and _had_no_messages(messages, commit) and not has_messages:\n",
    ),
    Bug(
        "a-column-is-a-dataframe",
        "publish or an acknowledgement of a Column ends in an error that names no argument.",
        "session.py",
        "    kind = type(what)\n",
        "    kind = what\n",
    ),
    Bug(
        "the-root-of-a-disk-is-a-checkpoint",
        "A checkpoint at / ends in an error of Hadoop's that names no argument.",
        "streaming.py",
        'not checkpoint_location.strip(" /")',
        "not checkpoint_location.strip()",
    ),
    Bug(
        "views-of-a-directory-ask-for-another-option",
        "The refusal of jobs/create_views.py for a directory names an option that it has not.",
        "operations/views.py",
        'f"schema: it is not given, and the store',
        'f"temporary: False, and the store',
    ),
    Bug(
        "names-in-utf-16-are-published",
        "jobs/publish.py publishes a CSV in UTF-16 with a NUL in each name and value.",
        "jobs/readers.py",
        '        if any("\\0" in name for name in names):\n',
        "        if not any(names):\n",
        needs_spark=ROWS,
    ),
    Bug(
        "a-control-letter-is-null",
        "jobs/publish.py leaves out a text of CSV that is one control letter.",
        "jobs/readers.py",
        '_NOTHING = "\\u0001no text of an input: pubsub_delta\\u0001"\n',
        '_NOTHING = "\\u0001"\n',
        needs_spark=ROWS,
    ),
    Bug(
        "a-job-that-is-ended-keeps-an-earlier-summary",
        "A job that its scheduler ends by SIGTERM leaves the summary of an earlier run.",
        "jobs/terminal.py",
        "            with raising_at_signals(), ending:\n",
        "            with ending:\n",
    ),
    Bug(
        "a-handler-of-a-job-stays",
        "After a job the process of its platform ends by a signal as the job did.",
        "jobs/signals.py",
        "            signal.signal(each, signal.SIG_DFL)\n",
        "            pass\n",
    ),
    Bug(
        "a-summary-at-a-url-is-a-local-file",
        "The summary of a job at s3a://bucket/x is written below a directory s3a: of the driver.",
        "jobs/terminal.py",
        "    if _URL.match(str(path)):\n",
        "    if _URL.match(path.name):\n",
    ),
    Bug(
        "a-topic-is-consumed",
        "jobs/consume.py ends in a KeyError where its subscription is the id of a topic.",
        "jobs/consume.py",
        "        name = store.get_subscription(subscription).name  "
        "# a topic may have the same id\n",
        "        name = subscription\n",
    ),
)
