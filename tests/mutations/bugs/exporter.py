"""Seeded bugs of ``exporter.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_exporter.py",
    "tests/unit/test_started_threads.py",
    "tests/lanes/test_damaged_metrics.py",
    "tests/lanes/test_far_clocks.py",
    "tests/unit/test_forked_processes.py",
)

BUGS = (
    Bug(
        "exporter-keeps-a-thread-that-never-ran",
        "An exporter that could not start its thread can be neither started nor stopped.",
        "start_threads([thread], self._stopped.set)\n            self._thread = thread\n",
        "self._thread = thread\n            start_threads([thread], self._stopped.set)\n",
    ),
    Bug(
        "estimates-are-not-exported",
        "Metrics that are sent by OTLP lack which values are estimates.",
        "{**found, **dict.fromkeys(estimates, False), **_OWN}",
        "{**found, **_OWN}",
    ),
    Bug(
        "long-interval-ends-measuring",
        "After the first measurement nothing is measured any more at an interval of 300 years.",
        'min(parse_duration(interval, "interval"), _LONGEST_WAIT)',
        'parse_duration(interval, "interval")',
    ),
    Bug(
        "address-of-metrics-with-an-empty-label",
        "An address that is no name ends the exporter with an error of Python.",
        "        except (OSError, UnicodeError) as error:",
        "        except OSError as error:",
    ),
    Bug(
        "measurement-goes-by-the-wall-clock",
        "A measurement is shorter than nothing where the clock is set back meanwhile.",
        "        seconds = self._uptime() - start",
        "        seconds = (self._now() - began).total_seconds()",
    ),
    Bug(
        "exporter-started-again-measures-nothing",
        "An exporter that was stopped and started again tells the old metrics, and that it is up.",
        "            self._stopped.clear()\n",
        "",
    ),
    Bug(
        "forked-exporter-waits-for-ever",
        "A forked process that stops an exporter waits for a thread that it does not have.",
        "        if not self._own_process.is_this:\n            return\n",
        "",
    ),
    Bug(
        "old-metrics-look-new",
        "After a failed measurement the exporter gives the earlier metrics the age of the failure.",
        "replace(before, measurements=count, failures=failures, error=error)",
        "replace(before, uptime=start, measurements=count, failures=failures, error=error)",
    ),
    Bug(
        "failures-are-counted-from-the-last-success",
        "The counter of failed measurements falls back to 0.",
        "Measurement(rows, began, seconds, count, before.failures, uptime=start)",
        "Measurement(rows, began, seconds, count, uptime=start)",
    ),
    Bug(
        "one-port-closed",
        "An exporter that is stopped goes on answering scrapes at all ports but one.",
        "        while self._closing:\n",
        "        if self._closing:\n",
    ),
    Bug(
        "exporter-ends-at-a-failure",
        "The metrics exporter measures no more after the first failure.",
        "        while not self._stopped.is_set():\n"
        "            with suppress(Exception):  # the next scrape reports "
        "it\n"
        "                self.refresh()\n"
        "            self._stopped.wait(self._interval.total_seconds())\n",
        "        with suppress(Exception):  # the next scrape reports it\n"
        "            while not self._stopped.is_set():\n"
        "                self.refresh()\n"
        "                self._stopped.wait(self._interval.total_seconds())"
        "\n",
    ),
    Bug(
        "scrape-of-a-failure-without-rows",
        "A failed measurement removes the metrics from scrapes.",
        "replace(before, measurements=count, failures=failures, error=error)",
        "replace(before, rows=(), measurements=count, failures=failures, error=error)",
    ),
    Bug(
        "up-after-a-failure",
        "pubsub_delta_up is 1 after a failure.",
        "is_up = measurement.time is not None and measurement.error is None",
        "is_up = measurement.time is not None",
    ),
    Bug(
        "an-exporter-measures-all-the-time",
        "The metrics of a store are measured again as soon as they were measured.",
        "            self._stopped.wait(self._interval.total_seconds())\n",
        "            self._stopped.wait(0.001)\n",
    ),
    Bug(
        "a-damaged-topic-looks-sound",
        "Where one topic is damaged, the exporter says that the measurement succeeded.",
        "partly.rows, began, seconds, count, failures, partly.error, start",
        "partly.rows, began, seconds, count, failures, None, start",
    ),
    Bug(
        "estimates-of-every-metric",
        "Every metric is said to have an estimate beside it, by OTLP.",
        "for m in METRICS if m.may_be_estimate]",
        "for m in METRICS]",
    ),
    Bug(
        "scrape-fails-with-its-clock",
        "A measurement that fails by its clock is not counted, and the metrics are told as up.",
        "        try:\n            began = self._now()\n            rows",
        "        began = self._now()\n        try:\n            rows",
    ),
    Bug(
        "age-by-a-clock-that-can-be-set",
        "Metrics are young for an hour when the clock is set back by an hour.",
        "                self._uptime() - measurement.uptime,",
        "                max(0.0, (self._now() - measurement.time).total_seconds()),",
    ),
)
