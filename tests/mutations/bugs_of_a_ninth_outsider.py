"""Bugs by a ninth outsider, who had not seen the list."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_A_NINTH_OUTSIDER = (
    Bug(
        "a-group-with-a-capital",
        "Who is written with a capital letter among the members of a group has none of its roles.",
        "policy/access.py",
        "if name in map(plain, has)",
        "if name in has",
    ),
    Bug(
        "passed-over-in-the-last-window",
        "Of messages whose key has failed, only those of the last window come with it.",
        "policy/ordering.py",
        "chosen, passed_over = chosen | (window - held), passed_over | held",
        "chosen, passed_over = chosen | (window - held), held",
    ),
    Bug(
        "a-history-after-the-detach",
        "The history of a detached subscription counts what was published since.",
        "operations/survey.py",
        "and not subscription.filter and not subscription.detached:",
        "and not subscription.filter:",
    ),
    Bug(
        "an-age-below-zero",
        "After a clock was set back a history shows negative ages.",
        "operations/survey.py",
        "oldest_unacked_message_age=max(0.0, age),",
        "oldest_unacked_message_age=age,",
    ),
    Bug(
        "searched-one-file-too-few",
        "A search by time leaves out a file whose messages are all of its last moment.",
        "operations/find.py",
        "return time is not None and other is not None and time < other",
        "return time is not None and other is not None and time <= other",
    ),
    Bug(
        "a-dry-run-writes-what-is-leased",
        "A dry run of maintain counts messages under a lease or a backoff as to be written.",
        "operations/maintain.py",
        "else state.count(State.AVAILABLE, State.WRITING), problem",
        "else state.count(), problem",
    ),
    Bug(
        "measured-once-for-each-mention",
        "Names of metrics are measured twice if given twice.",
        "operations/metrics.py",
        "return list(dict.fromkeys(given))",
        "return list(given)",
    ),
    Bug(
        "a-lease-beside-a-problem",
        "Messages stay leased for a minute where an earlier write to the table fails.",
        "delivery/table_subscriptions.py",
        "            if result.lease is not None:\n"
        "                self._settle(result.lease, Positions(), Positions(), clock())\n",
        "",
    ),
    Bug(
        "a-lower-version-lands",
        "An append under a lower version than the last of its application lands.",
        "tables/lanes/direct/commits.py",
        "landed >= transaction[1]",
        "landed == transaction[1]",
    ),
    Bug(
        "rows-counted-by-file",
        "A publish of files by tasks counts its files as its messages.",
        "tables/lanes/direct/tables.py",
        'metrics = {"num_added_rows": sum(file.rows for file in files)}',
        'metrics = {"num_added_rows": len(files)}',
    ),
    Bug(
        "announced-of-any-topic",
        "While a snapshot of a topic is created, nothing of any topic is deleted.",
        "tables/registry/registry.py",
        "return held + [EVERY_MESSAGE for row in rows if is_announced(row)]",
        "return held + [EVERY_MESSAGE for row in self._snapshots.rows() if is_announced(row)]",
    ),
    Bug(
        "columns-that-differ-in-case",
        "Fields sku after SKU get two columns that differ by case alone.",
        "tables/typed.py",
        "taken.add(name.lower())",
        "taken.add(name)",
    ),
    Bug(
        "milliseconds-of-a-file",
        "Files that tasks write are modified in the year 58000, by the log.",
        "tables/lanes/direct/files.py",
        "modification_time=to_micros(self.publish_time) // 1000,",
        "modification_time=to_micros(self.publish_time),",
    ),
    Bug(
        "pipelined-bytes-are-lost",
        "The beginning of a request that came during the one before is lost.",
        "server/rest/connection.py",
        "            self._http.receive_data(part)\n            await asyncio.Event().wait()",
        "            await asyncio.Event().wait()",
    ),
    Bug(
        "leased-beside-a-table",
        "What a dispatcher had leased is not written to the new table until its leases end.",
        "server/table_writing.py",
        "                pulled.leaser.give_back_waiting()\n",
        "",
    ),
    Bug(
        "given-to-who-leaves",
        "A stream that ends is given what waits, as it gives back what it had.",
        "server/streams.py",
        "dispatcher.leave(consumer)\n            dispatcher.give_back(queue.unsent())\n",
        "dispatcher.give_back(queue.unsent())\n            dispatcher.leave(consumer)\n",
    ),
    Bug(
        "a-stop-that-waits",
        "Cancelling an idle StreamingPull waits for the next exchange.",
        "callbacks.py",
        "            self._work.notify_all()\n        if self.idle:\n            self._on_idle()\n",
        "            self._work.notify_all()\n",
    ),
    Bug(
        "measured-at-this-very-moment",
        "A page of the console waits for measurements that it has.",
        "console/measurements.py",
        "self._by_name[n].at + MAX_AGE >= now",
        "self._by_name[n].at >= now",
    ),
    Bug(
        "a-column-with-a-slash",
        "The ids of two columns and values can be the same.",
        "jobs/idempotency_ids.py",
        "{quote(column, safe='')}",
        "{quote(column)}",
    ),
    Bug(
        "bytes-of-files-without-rows",
        "maxBytesPerTrigger counts files whose number of messages is unknown.",
        "datasource/consumer.py",
        "stored = sum(each.size for each in counted)",
        "stored = sum(each.size for each in files)",
    ),
    Bug(
        "held-up-by-the-topic-before",
        "Dead letters for a topic that cannot be written hold up those for the one set later.",
        "delivery/dead_letters.py",
        """            unwritable.add(target)
            continue""",
        "            return Forwarded(count, problem)",
    ),
    Bug(
        "waiting-for-a-deleted-topic",
        "Dead letters wait for ever for a damaged topic that was deleted with its subscriptions.",
        "delivery/dead_letters.py",
        "takes_any = tables.is_received(target)\n",
        "takes_any = tables.messages(target).exists() and tables.is_received(target)\n",
    ),
    Bug(
        "a-backlog-of-the-last-publishes",
        "A history counts only the messages of the last publishes, as many as it has points.",
        "operations/survey.py",
        "publishes = adding if new.is_complete else []",
        "publishes = adding[-most:] if new.is_complete else []",
    ),
    Bug(
        "a-backlog-without-what-came-before",
        "At an ack a history does not count what was published before it and not pulled.",
        "operations/survey.py",
        "        for publish, time in until_then:",
        "        for publish, time in until_then[:0]:",
    ),
    Bug(
        "a-seek-later-in-the-history",
        "A history shows the backlog of before a seek until the next operation carries it out.",
        "operations/survey.py",
        "states = [found.carry_out_seeks(each) for each in states]",
        "pass",
    ),
    Bug(
        "a-purge-without-end-in-the-history",
        "A history counts what a seek into the future acknowledges as it is published.",
        "operations/survey.py",
        "if each.may_add(state.floor, None)",
        "if each.may_add(None, None)",
    ),
    Bug(
        "a-backlog-between-two-points",
        "A history shows a backlog that acks between two of its points have ended.",
        "operations/survey.py",
        "in later if is_followed else ():",
        "in later:",
    ),
    Bug(
        "held-up-by-a-missing-file",
        "Dead letters whose file is gone hold up those that are forwarded later.",
        "delivery/dead_letters.py",
        """{error}"
            continue""",
        """{error}"
            unwritable.add(target)""",
    ),
    Bug(
        "metrics-hidden-by-a-damaged-topic",
        "Where one topic is damaged, the exporter has no metrics of any.",
        "operations/metrics.py",
        "        damaged.append(error)\n        return []",
        "        raise",
    ),
    Bug(
        "a-damaged-topic-looks-sound",
        "Where one topic is damaged, the exporter says that the measurement succeeded.",
        "exporter.py",
        "partly.rows, began, seconds, count, failures, partly.error, start",
        "partly.rows, began, seconds, count, failures, None, start",
    ),
    Bug(
        "a-lease-over-before-it-is-given",
        "A pull that has waited for longer than the ack deadline returns messages without a lease.",
        "operations/pull.py",
        """    check_max_messages(max_messages)

    def lease""",
        """    check_max_messages(max_messages)
    begun = clock()
    clock = lambda: begun

    def lease""",
    ),
    Bug(
        "a-micro-batch-over-before-it-is-given",
        "A query that has waited for longer than the ack deadline processes messages without a "
        "lease: another consumer gets them, too.",
        "operations/pull.py",
        "streams.begin(state, query_id, batch_id, max_messages, terms, clock(), below)",
        "streams.begin(state, query_id, batch_id, max_messages, terms, begun, below)\n"
        "\n    begun = clock()",
    ),
    Bug(
        "a-slice-over-before-it-is-leased",
        "A writer that has waited for a minute writes a slice without a lease.",
        "delivery/table_subscriptions.py",
        "table_writes.SLICE_MESSAGES, terms, clock(), deadline)",
        "table_writes.SLICE_MESSAGES, terms, begun, deadline)\n\n        begun = clock()",
    ),
    Bug(
        "scans-of-another-table",
        "What a session finds at the path of a topic is taken for it: messages that a copy lacks "
        "do not pass a filter.",
        "tables/lanes/choice.py",
        "by_spark = many and self._is_found_by_spark(table)",
        "by_spark = many",
    ),
    Bug(
        "copy-on-the-session-s-file-system",
        "A DataFrame is published to a copy of the store, which has the ids of its tables.",
        "tables/lanes/choice.py",
        "on_disk(self._layout.base) is None or self.bulk.is_on_disk(table)",
        "True",
    ),
    Bug(
        "new-deadline-that-is-past",
        "A deadline that a call moves while it waits for another process is told as moved, and is "
        "over.",
        "operations/acknowledge.py",
        "return deadline + max(clock() - now, timedelta(0)) if deadline else deadline",
        "return deadline",
    ),
)
