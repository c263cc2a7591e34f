"""Seeded bugs of a seventh outsider in the jobs, the command line and the console."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_A_SEVENTH_OUTSIDER_AT_SURFACES = (
    Bug(
        "exact-not-passed-to-exporter",
        "export-metrics --exact estimates sizes.",
        "jobs/export_metrics.py",
        "interval=interval, exact=exact)",
        "interval=interval)",
    ),
    Bug(
        "no-names-are-none",
        "export-metrics without --name exports nothing.",
        "jobs/export_metrics.py",
        "store.metrics_exporter(names or None,",
        "store.metrics_exporter(names,",
    ),
    Bug(
        "maintain-writes-elsewhere",
        "The job maintain writes tables below the root in spite of --tables-root.",
        "jobs/maintain.py",
        "PubSub(session, root, project=project, tables_root=tables_root)",
        "PubSub(session, root, project=project)",
    ),
    Bug(
        "maintain-job-ignores-exact",
        "The job maintain --exact deletes only whole days.",
        "jobs/maintain.py",
        "log_retention=log_retention, exact=exact, dry_run=dry_run",
        "log_retention=log_retention, dry_run=dry_run",
    ),
    Bug(
        "topics-for-messages",
        "The total of maintain counts topics as messages that retention deleted.",
        "jobs/maintain.py",
        'sum(report.discarded.values()), "message", "deleted"',
        'len(report.discarded), "message", "deleted"',
    ),
    Bug(
        "long-ids-too-long",
        "An idempotency id of a long value has more than 256 bytes.",
        "jobs/idempotency_ids.py",
        "written[: LONGEST_ID - len(ending)]",
        "written[:LONGEST_ID]",
    ),
    Bug(
        "summary-without-its-folder",
        "A job refuses a --summary in a new directory.",
        "jobs/terminal.py",
        "        path.parent.mkdir(parents=True, exist_ok=True)\n",
        "",
    ),
    Bug(
        "braces-are-patterns",
        "A file with braces in its name cannot be read for the line of a bad record.",
        "jobs/sources.py",
        'r"([\\\\\\[\\]{}*?])"',
        'r"([\\\\\\[\\]*?])"',
    ),
    Bug(
        "added-rows-forgotten",
        "A live list of messages grows without an end.",
        "console/message_search.py",
        "listed, added + len(shown), is_full=is_full",
        "listed, len(shown), is_full=is_full",
    ),
    Bug(
        "page-after-the-first-message",
        "The next page of a search repeats the messages of this one.",
        "console/message_search.py",
        "running.found[-1].message_id if running.found",
        "running.found[0].message_id if running.found",
    ),
    Bug(
        "stopped-search-is-live",
        "The list of a stopped search shows newer messages as if it were whole.",
        "console/message_search.py",
        "if is_done and not running.was_stopped and not running.is_older:",
        "if is_done and not running.is_older:",
    ),
    Bug(
        "empty-value-is-any",
        "A search for an attribute with an empty value finds it with any value.",
        "console/search_form.py",
        "value if equals else None",
        "value or None",
    ),
    Bug(
        "problem-of-a-search-lost",
        "A search that failed looks like one that found nothing.",
        "console/searches.py",
        "            self.problem = error\n",
        "            self._stop.set()\n",
    ),
    Bug(
        "two-pages-of-a-batch",
        "An ack on an old page of a batch brings back messages that another page has acknowledged.",
        "console/pulling.py",
        "console.leased_batches.find(batch_id, id_) or held",
        "held",
    ),
    Bug(
        "named-twice-published-twice",
        "A message that is chosen twice is published twice.",
        "console/message_page.py",
        "list(dict.fromkeys(numbers))[:MOST]",
        "list(numbers)[:MOST]",
    ),
    Bug(
        "later-groups-unpublished",
        "A failure of a second topic hides that messages were published to the first.",
        "console/message_page.py",
        "                if not pairs:\n                    raise named from None\n",
        "                raise named from None\n",
    ),
    Bug(
        "sort-stays-on-its-page",
        "A click on a column shows the third page of the new order.",
        "console/lists.py",
        'reverse="on" if again else "", page=1)',
        'reverse="on" if again else "")',
    ),
    Bug(
        "unknown-rows-dropped",
        "A list hides resources that are not measured yet.",
        "console/lists.py",
        "found = known + [row for row in found if sort.key(row) is None]",
        "found = known",
    ),
    Bug(
        "measures-once",
        "The console measures nothing more after it has measured everything once.",
        "console/measurements.py",
        "                if name is None:\n"
        "                    self._thread = None\n"
        "                    return\n",
        "                if name is None:\n                    return\n",
    ),
    Bug(
        "measured-under-a-new-uid",
        "The figures of a deleted topic are shown for one that was created under its "
        "name meanwhile.",
        "console/measurements.py",
        "                if self._every.get(name) == uid:\n"
        "                    self._by_name[name] = found\n",
        "                self._by_name[name] = found\n",
    ),
    Bug(
        "replay-without-condition",
        "A replay is carried out though the subscription has changed meanwhile.",
        "console/replay.py",
        "store.seek(id_, **target, if_unchanged=stored)",
        "store.seek(id_, **target)",
    ),
    Bug(
        "detached-counted",
        "The list of topics counts detached subscriptions.",
        "console/topics.py",
        " for each in readers if not each.detached)",
        " for each in readers)",
    ),
    Bug(
        "watch-counts-one-more",
        "watch --count=6 prints seven samples.",
        "cli/watch.py",
        "last, done = first, 1",
        "last, done = first, 0",
    ),
    Bug(
        "file-limit-per-batch",
        "pull --output --limit takes more messages than the limit.",
        "cli/pull.py",
        "min(most, limit - count)",
        "min(most, limit)",
    ),
    Bug(
        "unreadable-topic-is-sound",
        "doctor counts an unreadable topic as sound.",
        "cli/checks.py",
        "        if isinstance(found, Finding):\n"
        "            yield found\n"
        "            continue\n"
        "        sound += 1\n"
        "        ahead",
        "        sound += 1\n"
        "        if isinstance(found, Finding):\n"
        "            yield found\n"
        "            continue\n"
        "        ahead",
    ),
    Bug(
        "doctor-warnings-fail",
        "doctor ends with 1 after a warning.",
        "cli/doctor.py",
        'any(each.state == "problem" for each in found):\n        raise',
        'any(each.state != "ok" for each in found):\n        raise',
    ),
    Bug(
        "doctor-checks-a-remote-disk",
        "doctor with --remote checks this machine's disk.",
        "cli/doctor.py",
        "    if settings.remote is None:  # or else they are another machine's\n",
        "    if True:\n",
    ),
    Bug(
        "completion-of-the-first-page",
        "Completion offers only the first page of names.",
        "cli/completion_names.py",
        "                page = listing(project=project, page_token=page.next_page_token)\n"
        "                found += [each.name for each in page]\n",
        "                break\n",
    ),
    Bug(
        "conditional-bindings-joined",
        "add-iam-policy-binding gives a member a role under another one's condition.",
        "cli/endpoint/policies.py",
        '[each for each in policy.bindings if not each.HasField("condition")]',
        "list(policy.bindings)",
    ),
    Bug(
        "retried-without-a-new-read",
        "add-iam-policy-binding fails at each concurrent change.",
        "cli/endpoint/policies.py",
        "            if attempt == _ATTEMPTS - 1:\n                raise\n",
        "            raise\n",
    ),
    Bug(
        "snapshot-of-this-project",
        "seek --snapshot-project is ignored.",
        "cli/delivery.py",
        "app.snapshot(snapshot, snapshot_project)",
        "app.snapshot(snapshot)",
    ),
    Bug(
        "csv-without-attempts",
        "The CSV file of pulled messages does not say their delivery attempt.",
        "cli/message_files.py",
        "data, attempt]",
        "data, None]",
    ),
    Bug(
        "file-replaced-meanwhile",
        "pull --output replaces a file that another process created meanwhile, on a disk "
        "without links.",
        "cli/message_files.py",
        "        if path.exists():\n            raise _already_exists(path) from None\n",
        "",
    ),
    Bug(
        "failed-status-before-output",
        "pull --auto-ack tells SUCCESS of messages that were not acknowledged.",
        "cli/pull.py",
        '"FAILURE" if each.get("ackId") in failed else "SUCCESS"',
        '"SUCCESS"',
    ),
    Bug(
        "sigterm-for-the-next-command",
        "After pull --follow in a shell, SIGTERM raises KeyboardInterrupt.",
        "cli/signals.py",
        "                signal.signal(each, handler)\n",
        "                pass\n",
    ),
)
