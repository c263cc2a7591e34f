"""Bugs of the server and the console."""

from __future__ import annotations

from tests.mutations.bug import Bug

_JOBS = "console/jobs.py"

_SUBSCRIBER = "server/subscriber_service.py"

BUGS_OF_SURFACES = (
    Bug(
        "given-in-the-last-instant",
        "Messages are lost until their deadline that come at the instant of a pull's time-out.",
        _SUBSCRIBER,
        "        await asyncio.wait([given], timeout=patience)\n",
        "        try:\n            await asyncio.wait_for(given, patience)\n"
        "        except asyncio.TimeoutError:\n            return ()\n",
    ),
    Bug(
        "given-to-who-is-gone",
        "Messages that were given to a client which has gone away come after their deadline.",
        _SUBSCRIBER,
        "            dispatcher.give_back(given.result())\n",
        "            pass\n",
    ),
    Bug(
        "given-back-is-a-nack",
        "What could not be sent to a client counts as a failed delivery.",
        "server/dispatcher.py",
        "self.leaser.give_back(each.received.ack_id for each in deliveries)",
        "self.modify_ack_deadline([each.received.ack_id for each in deliveries], 0)",
    ),
    Bug(
        "forms-kept-by-number",
        "The console keeps a hundred forms, however large they are.",
        _JOBS,
        "if len(self._jobs) < KEPT and form_bytes + self._form_bytes() <= KEPT_BYTES:",
        "if len(self._jobs) < KEPT:",
    ),
    Bug(
        "form-kept-after-success",
        "The console keeps a form that was accepted.",
        _JOBS,
        "            self._failed, self.form_bytes = None, 0",
        "            pass",
    ),
    Bug(
        "answered-job-kept",
        "The console keeps work whose page was the answer.",
        "console/responses.py",
        "    console.jobs.forget(job)\n",
        "",
    ),
    Bug(
        "resource-with-two-names-is-exported-twice",
        "A resource that is named by its id and its full name has each of its metrics twice.",
        "operations/metrics.py",
        "for part in by_name.values() for row in part]",
        "for part in parts for row in part]",
    ),
    Bug(
        "long-interval-ends-measuring",
        "After the first measurement nothing is measured any more at an interval of 300 years.",
        "exporter.py",
        'min(parse_duration(interval, "interval"), _LONGEST_WAIT)',
        'parse_duration(interval, "interval")',
    ),
    Bug(
        "address-of-metrics-with-an-empty-label",
        "An address that is no name ends the exporter with an error of Python.",
        "exporter.py",
        "        except (OSError, UnicodeError) as error:",
        "        except OSError as error:",
    ),
    Bug(
        "measurement-goes-by-the-wall-clock",
        "A measurement is shorter than nothing where the clock is set back meanwhile.",
        "exporter.py",
        "        seconds = self._uptime() - start",
        "        seconds = (self._now() - began).total_seconds()",
    ),
    Bug(
        "metrics-on-a-full-disk-are-unexpected",
        "Metrics that a full disk does not take end the job with a traceback.",
        "jobs/export_metrics.py",
        "            with writing_stdout():\n",
        "            with suppress(ValueError):\n",
    ),
    Bug(
        "url-of-metrics-without-brackets",
        "The printed URL of metrics has an IPv6 address without brackets.",
        "jobs/export_metrics.py",
        'f"[{address}]" if ":" in address else address',
        "address",
    ),
    Bug(
        "lease-is-extended-after-its-end",
        "A draining job extends each lease by ten minutes, and a shorter one after its end.",
        "jobs/consume.py",
        "leases.extended(batch, batch.ack_deadline_seconds)",
        "leases.extended(batch, 600)",
    ),
    Bug(
        "path-is-markup",
        "Brackets in a path are styles in the last line of a job, or end it with an error.",
        "jobs/terminal.py",
        "highlight=False, markup=False, emoji=False)",
        "highlight=False, emoji=False)",
    ),
    Bug(
        "file-in-the-place-of-an-output-is-unexpected",
        "A job whose output is a file ends with a traceback.",
        "jobs/outputs.py",
        "        if refused is None:\n",
        "        if refused is not None:\n",
        needs_spark=(
            "tests/delta/test_outputs.py::"
            "test_where_a_file_is_no_table_is_made_and_that_is_told_by_name",
        ),
    ),
    Bug(
        "query-is-read-after-the-lease",
        "A query that is no SQL ends a draining job with a traceback, and its messages are leased.",
        "jobs/consume.py",
        "        outputs.check_query(spark, query)\n",
        "",
        needs_spark=("tests/acceptance/test_jobs.py::test_a_refusal_is_one_line_and_exit_code_3",),
    ),
    Bug(
        "refused-job-leaves-a-query",
        "A streaming job whose topic does not exist sets bad records aside for ever.",
        "jobs/stream_publish.py",
        "        query = store.publish_stream(\n",
        "        if bad_records is not None:\n"
        '            aside = found.bad.writeStream.format("json")\n'
        '            aside.option("checkpointLocation", f"{checkpoint}/aside").start(bad_records)\n'
        "        query = store.publish_stream(\n",
        needs_spark=(
            "tests/acceptance/test_jobs.py::test_a_job_that_is_refused_leaves_no_query_behind",
        ),
    ),
    Bug(
        "interval-of-a-job-is-sparks-alone",
        "A streaming job refuses 60s, which every other duration is given by.",
        "jobs/terminal.py",
        "(?<=\\d)[wdhms](?![a-z])",
        "(?<=\\d)[wdh](?![a-z])",
    ),
    Bug(
        "interval-that-spark-does-not-read",
        "An interval that Spark does not read ends with an error of Java.",
        "streaming.py",
        "    except IllegalArgumentException as error:",
        "    except KeyError as error:",
        needs_spark=(
            "tests/delta/test_stream_intervals.py::test_an_interval_that_spark_does_not_read_is_refused",
        ),
    ),
)
