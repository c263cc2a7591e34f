"""Seeded bugs of the sixth outsider in the command line, the jobs and the console."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_A_SIXTH_OUTSIDER_AT_SURFACES = (
    Bug(
        "only-the-last-batch-is-extended",
        "pull --output extends the lease of the last batch only.",
        "cli/pull.py",
        "            for each in puller.held:\n"
        "                each.modify_ack_deadline(MAX_ACK_DEADLINE_SECONDS)"
        "\n"
        "            extended",
        "            batch.modify_ack_deadline(MAX_ACK_DEADLINE_SECONDS)\n            extended",
    ),
    Bug(
        "the-detached-cannot-be-read",
        "doctor reports a problem where a subscription is detached.",
        "cli/checks.py",
        "            return\n        found = store.metrics(each.name)\n",
        "            raise NotFound(name)\n        found = store.metrics(each.name)\n",
    ),
    Bug(
        "several-carriage-returns-go",
        "A line of a file loses all carriage returns at its end.",
        "cli/message_lines.py",
        'text = line.removesuffix(b"\\r\\n" if line.endswith(b"\\r\\n") else b"\\n")',
        'text = line.rstrip(b"\\r\\n")',
    ),
    Bug(
        "published-before-it-is",
        "publish --from counts the messages of a batch that failed as published.",
        "cli/publish.py",
        "            app.call(lambda service: service.publish(topic, part.messages))\n"
        "            published, count = published + len(part), count + 1\n",
        "            published, count = published + len(part), count + 1\n"
        "            app.call(lambda service: service.publish(topic, part.messages))\n",
    ),
    Bug(
        "one-failed-extension-is-the-last",
        "A job extends the lease of its batch no more after one failure.",
        "jobs/leases.py",
        '                _log.exception("the lease of a batch could not be extended")\n',
        '                _log.exception("the lease of a batch could not be '
        'extended")\n'
        "                return\n",
    ),
    Bug(
        "an-idempotency-id-of-many-bytes",
        "An idempotency ID of a batch is shortened by characters, and is too long in bytes.",
        "jobs/idempotency_ids.py",
        "if len(written) > LONGEST_ID:",
        "if len(id_) > LONGEST_ID:",
    ),
    Bug(
        "a-micro-batch-counted-again",
        "A streaming job counts its last micro-batch again at each look.",
        "jobs/terminal.py",
        'if progress["batchId"] <= seen:',
        'if progress["batchId"] < seen:',
    ),
    Bug(
        "a-rate-since-zero",
        "The rate of a count after an error is all of the count in a second or so.",
        "console/measurements.py",
        "if before is not None and before.value is not None:",
        "if before is not None:",
    ),
    Bug(
        "a-live-list-without-end",
        "The rows that were added to a list of messages make no room smaller.",
        "console/message_search.py",
        "room = MOST_LIVE - listed - added",
        "room = MOST_LIVE - listed",
    ),
    Bug(
        "a-replay-of-any-snapshot",
        "A seek of the console goes to a snapshot that was replaced since the preview.",
        "console/replay.py",
        '    if "snapshot" in target:\n'
        "        found += "
        'fingerprint(store.get_snapshot(target["snapshot"]))\n',
        "",
    ),
    Bug(
        "a-block-over-a-longer-one",
        "A short block in an ack state's chart ends the group that a longer one began.",
        "console/ack_state_chart.py",
        "            end = max(end, last)\n",
        "            end = last\n",
    ),
    Bug(
        "a-batch-in-use-is-dropped",
        "A batch of the console that was used last is dropped first.",
        "console/leased_batches.py",
        "            self._batches.move_to_end(batch.id)\n",
        "",
    ),
    Bug(
        "a-header-for-each-sample",
        "watch --format=csv prints the header before each sample.",
        "cli/printing.py",
        "        self._has_begun = True\n",
        "",
    ),
    Bug(
        "a-fraction-of-a-day-is-lost",
        "A time of days and a half ago is that of whole days ago.",
        "cli/times.py",
        "return at + durations.exactly(sign * (period.seconds + rest * 86_400))",
        "return at + durations.exactly(sign * period.seconds)",
    ),
    Bug(
        "today-in-utc",
        "A time of day in a zone is one of the day in UTC.",
        "cli/times.py",
        "midnight = in_zone(now, zone).replace(",
        "midnight = now.replace(",
    ),
    Bug(
        "acks-counted-from-the-start",
        "A consuming stream counts all acks of the query again with each micro-batch.",
        "jobs/stream_consume.py",
        "        self._before = acked\n",
        "        self._before = acked if self._before is None else self._before\n",
    ),
    Bug(
        "a-failed-extension-moves-the-end",
        "A page of pulled messages shows a new deadline though no lease was extended.",
        "console/pulling.py",
        'left = replace(kept, until=until if counts["success"] else kept.until)',
        "left = replace(kept, until=until)",
    ),
    Bug(
        "one-measurement-is-enough",
        "A list of the console does not wait for all resources that it shows.",
        "console/measurements.py",
        "return all(n in self._by_name and self._by_name[n].at + MAX_AGE >= now for n in names)",
        "return any(n in self._by_name and self._by_name[n].at + MAX_AGE >= now for n in names)",
    ),
    Bug(
        "done-jobs-by-size-or-number",
        "Done jobs of the console are kept beyond one of their two limits.",
        "console/jobs.py",
        "if len(self._jobs) < KEPT and form_bytes + self._form_bytes() <= KEPT_BYTES:",
        "if len(self._jobs) < KEPT or form_bytes + self._form_bytes() <= KEPT_BYTES:",
    ),
    Bug(
        "page-zero",
        "Page 0 of a list is empty.",
        "console/lists.py",
        "    page = max(1, page)\n",
        "",
    ),
    Bug(
        "replay-by-the-topic-alone",
        "A subscription to a topic that retains messages is said to replay no acknowledged ones.",
        "console/replay.py",
        "return subscription.retain_acked_messages or kept is not None",
        "return subscription.retain_acked_messages",
    ),
    Bug(
        "bars-until-today",
        "Messages of a clock that is ahead have no bar in the chart of days.",
        "console/charts.py",
        "last = max(today, max(by))",
        "last = today",
    ),
    Bug(
        "a-short-token-is-accepted",
        "A short token of the console is accepted if it can be printed.",
        "console/security.py",
        "if self.token is not None and (len(self.token) < 16 or not self.token.isprintable()):",
        "if self.token is not None and (len(self.token) < 16 and not self.token.isprintable()):",
    ),
    Bug(
        "the-last-error-of-a-field",
        "A field of a form shows its last error, and not its first.",
        "console/forms.py",
        "self.errors.setdefault(target, readable(text.removeprefix(beginning).strip()))",
        "self.errors[target] = readable(text.removeprefix(beginning).strip())",
    ),
)
