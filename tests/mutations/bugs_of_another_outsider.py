"""Seeded bugs of somebody from outside that the quick tests had not caught."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_ANOTHER_OUTSIDER = (
    Bug(
        "closed-acks-temporary",
        "An exactly-once ack of a subscription that was deleted meanwhile is told as "
        "temporary: clients repeat it for ever.",
        "server/dispatcher.py",
        "        self.leaser.give_up(INVALID_ACK_ID)\n",
        "        self.leaser.give_up()\n",
    ),
    Bug(
        "wire-labels-merged",
        "An update of labels merges them into the present ones: a label that was left out stays.",
        "server/update_masks.py",
        "_with_parents(resource, merged, paths), merged, True, True)",
        "_with_parents(resource, merged, paths), merged, True, False)",
    ),
    Bug(
        "hub-opens-twice",
        "Two first streams at once open two dispatchers of one subscription; ack ids of "
        "one are unknown to the other.",
        "server/hub.py",
        "            async with self._opening:\n                found = self.running(name)\n",
        "            async with self._opening:\n",
    ),
    Bug(
        "refresh-stale",
        "A refresh that read the registry before a change of this server undoes it: it "
        "pushes to the old endpoint again.",
        "server/subscription_workers.py",
        "            if applied != self._applied:\n                return  #",
        "            if applied > self._applied:\n                return  #",
    ),
    Bug(
        "publishing-memory-leaks",
        "The bytes of a publish that failed go on to count as waiting: after 64 MB of "
        "failures a server refuses every publish.",
        "server/memory.py",
        "        try:\n            yield\n        finally:\n            self.publishing -= size",
        "        yield\n        self.publishing -= size",
    ),
    Bug(
        "dead-letter-part-size",
        "The size of a full part is carried into the next: after 16 MB each dead letter "
        "has a commit of its own.",
        "delivery/dead_letters.py",
        "            found.append(Positions())\n            size = 0\n",
        "            found.append(Positions())\n",
    ),
    Bug(
        "find-file-within",
        "A search misses messages of a large file within whose positions a smaller one "
        "begins later.",
        "operations/find.py",
        "            max(self.high, other.high),\n",
        "            other.high,\n",
    ),
    Bug(
        "remove-swallows",
        "A deletion of a row that failed is told as done: the subscription is still there.",
        "tables/registry/resource_table.py",
        "                if self.row(uid) is not None:\n                    raise\n        "
        "        return True\n",
        "                return True\n",
    ),
    Bug(
        "open-tables-old-keys",
        "Tables stay open with credentials that were replaced in the environment.",
        "tables/lanes/direct/open_tables.py",
        "                self._keys = keys\n                self._by_table.clear()\n",
        "                self._keys = keys\n",
    ),
    Bug(
        "slices-row-twice",
        "After VACUUM took a file in the middle of a read, the last message before it comes twice.",
        "tables/lanes/direct/scans.py",
        "low, high = max(start, after + 1),",
        "low, high = max(start, after),",
    ),
    Bug(
        "live-search-cut",
        "A search for newer messages that was cut off by time goes on after the whole: "
        "what it did not reach is never shown.",
        "console/message_search.py",
        "is_full = len(found) > room or search.progress < 1",
        "is_full = len(found) > room",
    ),
    Bug(
        "maintenance-oldest",
        "The overview shows the first maintenance that is known, and not the last.",
        "console/overview.py",
        "if what not in last or last[what].time < commit.time:",
        "if what not in last or last[what].time > commit.time:",
    ),
    Bug(
        "republish-keeps-source",
        "A dead letter without attributes of its own is published again with those that "
        "forwarding added.",
        "console/message_page.py",
        "    if not kept and not message.data:  #",
        "    if not kept:  #",
    ),
    Bug(
        "form-creates-topic-again",
        "After an error of the second step, the form creates its new topic again, and "
        "fails with AlreadyExists for ever.",
        "console/subscription_edit.py",
        "        form.values[name] = console.short(created.name)\n",
        "        console.short(created.name)\n",
    ),
    Bug(
        "modify-expired-succeeds",
        "modify-message-ack-deadline ends with 0 though the leases were over and nothing "
        "was changed.",
        "cli/delivery.py",
        'fail_on_ack_ids(app, "modify", [*result.expired, *result.invalid])',
        'fail_on_ack_ids(app, "modify", result.invalid)',
    ),
    Bug(
        "doctor-shorter-retention",
        "doctor warns of messages that the topic's longer retention keeps.",
        "cli/checks.py",
        "    kept = max(\n        each.message_retention_duration, "
        "each.topic_message_retention_duration or timedelta(0)\n    )",
        "    kept = each.message_retention_duration",
    ),
    Bug(
        "held-repeats-lost",
        "A repeated ack that comes during a seek is forgotten: its client waits for ever.",
        "policy/ack_buffer.py",
        "        self.repeated.extend(later.repeated)\n",
        "",
    ),
    Bug(
        "source-parts-of-another",
        "A repeated micro-batch gets the messages of the present one.",
        "datasource/consumer.py",
        "        if self._current is None or self._current[0] != end:\n",
        "        if self._current is None:\n",
    ),
    Bug(
        "source-reserved-case",
        "A DataFrame can publish attributes with the reserved prefix in capitals.",
        "datasource/validation.py",
        "pc.starts_with(keys, pattern=RESERVED_PREFIX, ignore_case=True)",
        "pc.starts_with(keys, pattern=RESERVED_PREFIX)",
    ),
    Bug(
        "dry-run-vacuums",
        "maintain(dry_run=True) with vacuum removes files of ack states and the registry.",
        "operations/maintain.py",
        "    if duties.vacuum and not duties.dry_run:\n        for each",
        "    if duties.vacuum:\n        for each",
    ),
    Bug(
        "last-missing-unnoticed",
        "A batch whose last messages are missing in the topic is iterated without an "
        "error: fewer messages, and no DataLoss.",
        "delivery/leases.py",
        "        if left:\n            lost |= "
        "self._sorted_out(MESSAGES.columns.empty_table(), left)[1]\n",
        "",
    ),
    Bug(
        "dead-letter-of-first-source",
        "A dead letter that is dead-lettered again keeps the count and the source of the "
        "first time.",
        "delivery/dead_letters.py",
        '[*{**dict(row["attributes"] or ()), **named}.items()]',
        '[*{**named, **dict(row["attributes"] or ())}.items()]',
    ),
    Bug(
        "file-times-cut",
        "The last publish time of a file is taken as its statistics have it, cut to "
        "milliseconds: a search leaves out the file.",
        "tables/lanes/direct/table_snapshots.py",
        "publish_time_max=None if latest is None else latest + _MAXIMUM_ERROR,",
        "publish_time_max=latest,",
    ),
    Bug(
        "job-names-outermost-cause",
        "A streaming job names the first line of a query's error that looks like one, "
        "and not the cause: its exit code is wrong.",
        "jobs/terminal.py",
        "return causes[-1] if causes",
        "return causes[0] if causes",
    ),
    Bug(
        "detached-has-a-backlog",
        "The metrics of a detached subscription show the backlog that it had.",
        "operations/metrics.py",
        "        state = replace(state, spans=())\n",
        "        state = source.clip_retained(state, measurement.now)\n",
    ),
    Bug(
        "forms-of-metrics-lost",
        "With exact=True the oldest message of a snapshot is searched among its spans "
        "alone, though a later publish is older.",
        "operations/metrics.py",
        "known = [time for time in (found, first) if time is not None]",
        "known = [time for time in (found,) if time is not None]",
    ),
    Bug(
        "parts-by-empty-positions",
        "A search of files that OPTIMIZE has joined takes reads of empty positions.",
        "operations/find.py",
        "        if not self._is_sparse:\n",
        "        if self.low <= self.high:\n",
    ),
    Bug(
        "positions-of-all-files",
        "A search of joined files reads the positions of the whole topic for its first result.",
        "operations/find.py",
        "window = Window(Positions.between(self.low, self.high))",
        "window = Window(Positions.between(0, self.high))",
    ),
)
