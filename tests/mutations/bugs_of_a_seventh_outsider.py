"""Seeded bugs of a seventh outsider, chosen without a look at the tests or at this list."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_A_SEVENTH_OUTSIDER = (
    Bug(
        "pushed-times-widened",
        "A read with two lower bounds of the publish time uses the earlier one.",
        "datasource/batch_reader.py",
        "self.earliest, self.latest = max(starts, default=None)",
        "self.earliest, self.latest = min(starts, default=None)",
    ),
    Bug(
        "null-keys-shown",
        "A stored message without an ordering key is read with null, and not with the empty text.",
        "datasource/columns.py",
        'lambda: pc.fill_null(rows.column("ordering_key"), "")',
        'lambda: rows.column("ordering_key")',
    ),
    Bug(
        "drain-of-a-created-one-forgotten",
        "A stream with availableNow that creates its subscription never ends.",
        "datasource/consumer.py",
        "        if self._drains_from_the_start:\n            self.drain()\n",
        "",
    ),
    Bug(
        "finished-drain-leases-more",
        "A drain that only waits for its last batches leases messages of other consumers' nacks.",
        "datasource/consumer.py",
        "0 if finishing else max_messages",
        "max_messages",
    ),
    Bug(
        "small-limit-of-bytes-is-none",
        "A stream whose limit of bytes is below one message takes none for ever.",
        "datasource/consumer.py",
        "max(1, size * rows // stored)",
        "size * rows // stored",
    ),
    Bug(
        "attempt-lost-on-the-way",
        "A task shows 0 delivery attempts of each message.",
        "datasource/partitions.py",
        "            delivery_attempt=self.delivery_attempt,\n"
        "        )\n"
        "\n"
        "\n"
        "@dataclass(frozen=True)\n"
        "class SpansPartition",
        "        )\n\n\n@dataclass(frozen=True)\nclass SpansPartition",
    ),
    Bug(
        "backlog-with-deleted-fails",
        "A read of a backlog fails if retention has deleted a message since.",
        "datasource/partition_reader.py",
        "part.ack_prefix is not None and count < leased",
        "count < leased",
    ),
    Bug(
        "key-column-not-read",
        "A filter of ordering keys fails when the key is not selected.",
        "datasource/partition_reader.py",
        '        names.append("ordering_key")\n',
        "        pass\n",
    ),
    Bug(
        "loaded-path-stays-relative",
        'load("./pubsub") is a directory of each task\'s own.',
        "datasource/options.py",
        'value = _absolute(value) if plain == "root" else value',
        'value = _absolute(value) if name == "root" else value',
    ),
    Bug(
        "stopped-stream-keeps-leases",
        "The leases of a stopped stream are extended for as long as the process lives.",
        "datasource/stream_reader.py",
        "            self._consumer.leave()\n",
        "            pass\n",
    ),
    Bug(
        "larger-of-two-limits",
        "Of two limits of a micro-batch the larger one counts.",
        "datasource/stream_reader.py",
        "return min(permitted, default=None)",
        "return max(permitted, default=None)",
    ),
    Bug(
        "empty-attribute-keys-pass",
        "Spark publishes attributes with an empty key.",
        "datasource/validation.py",
        "_are_within(keys, 1, MAX_KEY_BYTES)",
        "_are_within(keys, 0, MAX_KEY_BYTES)",
    ),
    Bug(
        "position-after-the-last",
        "The range of a written file ends one position too late.",
        "datasource/writing.py",
        "first + stamped.count - 1",
        "first + stamped.count",
    ),
    Bug(
        "slice-of-one-read",
        "A slice of a table has eight messages at most.",
        "delivery/table_writes.py",
        "        left, room = left - reached, room - sum(sizes)\n"
        "        if reached != wanted:\n"
        "            break\n",
        "        left, room = left - reached, room - sum(sizes)\n        break\n",
    ),
    Bug(
        "missing-table-is-a-wrong-argument",
        "A table that does not exist is refused as a wrong argument, and not as NOT_FOUND.",
        "delivery/table_writes.py",
        "    if state is TableState.NOT_FOUND:\n        raise NotFound",
        "    if state is TableState.SCHEMA_MISMATCH:\n        raise NotFound",
    ),
    Bug(
        "rest-of-a-slice-fails",
        "Messages of a slice that were not looked at count as failed deliveries.",
        "delivery/table_subscriptions.py",
        "            following = delivery.give_back(following, {held: rest}, terms, now)\n",
        "            following, _ = delivery.modify_ack_deadline(following, {held: "
        "rest}, terms, now, nacked)\n",
    ),
    Bug(
        "unwritable-forgets-what-was-written",
        "maintain reports no rows of a table that went away after some slices.",
        "delivery/table_subscriptions.py",
        "return TableWrites(written, failed, problem.state, str(problem))",
        "return TableWrites(0, 0, problem.state, str(problem))",
    ),
    Bug(
        "keyless-messages-set-aside",
        "With ordering, an unreadable message without a key holds back all messages without a key.",
        "delivery/unreadable.py",
        "            if keys[place]:\n                first",
        "            if keys:\n                first",
    ),
    Bug(
        "stray-letters-lost",
        "A message whose publish time differs from its commit's is forwarded without its data.",
        "delivery/dead_letters.py",
        '        rows = pa.concat_tables([rows, stray]).sort_by("position")\n',
        "",
    ),
    Bug(
        "forwarded-untold",
        "What was forwarded before a failure is not counted.",
        "delivery/dead_letters.py",
        "            problem = _not_forwarded(source, messages, why)",
        "            count, problem = 0, _not_forwarded(source, messages, why)",
    ),
    Bug(
        "dry-run-forgets",
        "maintain --dry-run forgets topics that were deleted long ago.",
        "delivery/discard.py",
        "kept.is_vacuumed(now) and not dry_run:",
        "kept.is_vacuumed(now):",
    ),
    Bug(
        "first-message-too-large",
        "A message that is larger than the room is never received.",
        "delivery/leases.py",
        "found += read[: fitting or (0 if found else 1)]",
        "found += read[:fitting]",
    ),
    Bug(
        "lost-ones-read-again",
        "A consumer looks for a lost message at each read.",
        "delivery/leases.py",
        "            self.set_aside.positions |= lost\n",
        "",
    ),
    Bug(
        "forwarding-of-others-forgotten",
        "A pull with nothing to lease does not complete a forwarding of a process that ended.",
        "delivery/consuming.py",
        "forwarding = forward and bool(following.in_state(State.FORWARDING))",
        "forwarding = forward and following != state",
    ),
    Bug(
        "problem-of-forwarding-hidden",
        "A pull does not warn that dead letters could not be appended.",
        "delivery/consuming.py",
        "problem = dead_letters.forward(tables, source, now).problem or problem",
        "dead_letters.forward(tables, source, now)",
    ),
    Bug(
        "index-of-the-first",
        "The error of an Arrow row that breaks a rule names the first row.",
        "delivery/message_rows.py",
        "[as_message(value, index) for index, value in enumerate(given)]",
        "[as_message(value, 0) for value in given]",
    ),
    Bug(
        "null-key-is-none",
        "An Arrow table with a null in ordering_key cannot be published.",
        "delivery/message_rows.py",
        '"" if key is None else key',
        "key",
    ),
    Bug(
        "own-attributes-lost",
        "A message of a topic with a schema loses its own attributes.",
        "delivery/schemas.py",
        "[*(own.as_py() or ()), *added[revision_id]]",
        "[*added[revision_id]]",
    ),
    Bug(
        "oldest-revision-read",
        "Fields are read by the oldest revision of a range.",
        "delivery/schemas.py",
        "schema.type, revisions[0], tuple(living",
        "schema.type, revisions[-1], tuple(living",
    ),
    Bug(
        "successor-leased-from",
        "A stream goes on with a subscription that was created again under its name.",
        "delivery/sources.py",
        "    if uid not in (None, found.uid):\n",
        "    if uid is None and not found.uid:\n",
    ),
    Bug(
        "policy-of-an-expired-snapshot",
        "The policy of an expired snapshot is in force.",
        "tables/registry/iam_policies.py",
        'is_in_use(row) if collection == "subscriptions" else is_live(row, now)',
        "is_in_use(row) if collection == 'subscriptions' else True",
    ),
    Bug(
        "added-row-swapped-blindly",
        "A change of a new resource fails if somebody has changed it first.",
        "tables/registry/resource_table.py",
        "            with suppress(Conflict):\n"
        "                self._swap(added[1], columns, added[0])\n"
        "                return True\n",
        "            self._swap(added[1], columns, added[0])\n            return True\n",
    ),
    Bug(
        "compacted-at-each-row",
        "Each new resource joins all small files of the registry.",
        "tables/registry/resource_table.py",
        "if version % COMPACT_INTERVAL == 0:",
        "if version % COMPACT_INTERVAL != 1:",
    ),
    Bug(
        "void-announcements-count",
        "After a restore, a seek leaves out messages whose deletion was announced before it.",
        "tables/messages/commits.py",
        "            if each.discards_before is not None and not is_void:\n",
        "            if each.discards_before is not None:\n",
    ),
    Bug(
        "days-of-several-files",
        "The chart of a topic counts only the last file of each day.",
        "tables/messages/stored.py",
        "counted.get(each.publish_date, 0) + each.rows",
        "each.rows",
    ),
    Bug(
        "files-without-statistics-are-apart",
        "Messages of a file without statistics are not found.",
        "tables/messages/stored.py",
        "    if file.position_min is None or file.position_max is None:\n"
        "        return True\n"
        "    return file.position_min <= last",
        "    if file.position_min is None or file.position_max is None:\n"
        "        return False\n"
        "    return file.position_min <= last",
    ),
    Bug(
        "block-in-spite-of-others",
        "Messages of a key that two programs publish in turn are out of order.",
        "tables/messages/position_allocator.py",
        "                block.end = block.next\n            block.checked",
        "                pass\n            block.checked",
    ),
    Bug(
        "encoded-paths",
        "A file of a table with a blank in its path is not found.",
        "tables/lanes/direct/table_snapshots.py",
        'path=unquote(action["path"])',
        'path=action["path"]',
    ),
    Bug(
        "cancelled-is-written",
        "A write that was cancelled counts as written, and its messages are lost.",
        "tables/lanes/direct/targets.py",
        "commit_properties=_properties(Outcome.CANCELLED, key, write_id)",
        "commit_properties=_properties(Outcome.WRITTEN, key, write_id)",
    ),
    Bug(
        "ordering-paused-for-others",
        "After a failed batch messages without a key fail, too.",
        "publisher.py",
        '{queued.message.ordering_key for queued in batch} - {""}',
        "{queued.message.ordering_key for queued in batch}",
    ),
    Bug(
        "cancelled-messages-fill-the-queue",
        "Messages that were cancelled count for flow control for ever.",
        "publisher.py",
        "        self._release(cancelled)\n",
        "",
    ),
    Bug(
        "overtaken-messages-keep-room",
        "Messages that failed with their key count for flow control for ever.",
        "publisher.py",
        "                self._release(overtaking)\n",
        "",
    ),
    Bug(
        "flush-waits-for-latency",
        "flush waits for max_latency.",
        "publisher.py",
        "            given = self._flushed = self._next_number\n",
        "            given = self._next_number\n",
    ),
    Bug(
        "blocked-after-stop",
        "A publish that waits for room hangs after stop.",
        "publisher.py",
        "            self._work.notify()\n            self._room.notify_all()\n\n    # Flow",
        "            self._work.notify()\n\n    # Flow",
    ),
    Bug(
        "large-message-read-again",
        "A subscriber reads a message for which there is no room again and again.",
        "subscriber.py",
        "            unread.needs = size_of(received[0])  # dropped, and delivered again\n",
        "",
    ),
    Bug(
        "scrape-of-a-failure-without-rows",
        "A failed measurement removes the metrics from scrapes.",
        "exporter.py",
        "                before.rows, before.time, before.seconds, count, "
        "before.failures + 1, error\n",
        "                (), before.time, before.seconds, count, before.failures + 1, error\n",
    ),
    Bug(
        "up-after-a-failure",
        "pubsub_delta_up is 1 after a failure.",
        "exporter.py",
        "is_up = measurement.time is not None and measurement.error is None",
        "is_up = measurement.time is not None",
    ),
)
