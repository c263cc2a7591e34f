"""Seeded bugs that somebody chose who had not looked at the others: by kinds of carelessness."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_OUTSIDERS = (
    # Units on the wire
    Bug(
        "wire-duration-in-microseconds",
        "The fraction of a duration is sent in microseconds, and is read as nanoseconds.",
        "server/wire.py",
        "nanos=rest // timedelta(microseconds=1) * 1000)",
        "nanos=rest // timedelta(microseconds=1))",
    ),
    Bug(
        "wire-expire-time-in-microseconds",
        "The fraction of an expire_time is sent in microseconds.",
        "server/wire.py",
        "return Timestamp(seconds=seconds, nanos=micros * 1000)",
        "return Timestamp(seconds=seconds, nanos=micros)",
    ),
    Bug(
        "wire-publish-time-in-microseconds",
        "The fraction of a publish time is sent in microseconds.",
        "server/wire.py",
        "    message.publish_time.nanos = rest * 1000\n",
        "    message.publish_time.nanos = rest\n",
    ),
    Bug(
        "wire-duration-read-in-microseconds",
        "The nanoseconds of a duration are read as microseconds.",
        "server/wire.py",
        "Fraction(duration.nanos, 10**9)",
        "Fraction(duration.nanos, 10**6)",
    ),
    Bug(
        "wire-time-without-nanoseconds",
        "Of the time of a seek only the seconds count.",
        "server/wire.py",
        "from_nanos(timestamp.seconds * 10**9 + timestamp.nanos, until=until)",
        "from_nanos(timestamp.seconds * 10**9, until=until)",
    ),
    Bug(
        "wire-attempts-by-default",
        "A dead-letter policy without a number of attempts permits 100.",
        "server/wire.py",
        "policy.max_delivery_attempts or 5)",
        "policy.max_delivery_attempts or 100)",
    ),
    # Ranges over many positions
    Bug(
        "positions-within-keep-the-last",
        "The positions of a range keep the largest of the set, too.",
        "policy/positions.py",
        "        bitmap.remove_range(max(last, -1) + 1, self.max + 1)\n",
        "        bitmap.remove_range(max(last, -1) + 1, self.max)\n",
    ),
    Bug(
        "positions-bits-skip-a-bitmap",
        "Of more than a thousand bitmaps every 1024th is lost.",
        "policy/positions.py",
        "            chosen = numbers[start : start + _BITMAPS_AT_A_TIME]\n",
        "            chosen = numbers[start : start + _BITMAPS_AT_A_TIME - 1]\n",
    ),
    Bug(
        "positions-scattered-hold-everything",
        "A set of many runs holds whatever it is asked for.",
        "policy/positions.py",
        "        asked = Positions.from_array(positions) & self\n",
        "        asked = Positions.from_array(positions)\n",
    ),
    # The order of two writes
    Bug(
        "topic-row-before-its-table",
        "A topic exists before its table does.",
        "operations/administer.py",
        "    tables.messages(topic.uid).create()\n"
        '    _must_be_free(tables.registry.add_topic(topic, schema_uid), "topic", topic.name)\n',
        '    _must_be_free(tables.registry.add_topic(topic, schema_uid), "topic", topic.name)\n'
        "    tables.messages(topic.uid).create()\n",
    ),
    Bug(
        "subscription-row-before-its-ack-state",
        "A subscription exists before its ack state does.",
        "operations/administer.py",
        "    tables.ack_states.create(subscription.uid, AckState(after_version=tail))\n"
        "    added = tables.registry.add_subscription(subscription, topic.uid)\n",
        "    added = tables.registry.add_subscription(subscription, topic.uid)\n"
        "    tables.ack_states.create(subscription.uid, AckState(after_version=tail))\n",
    ),
    Bug(
        "snapshot-row-before-its-table",
        "The row of a snapshot goes before its table, which nobody finds after a crash.",
        "tables/registry/registry.py",
        "        self._snapshot_tables.drop(uid)\n        self._snapshots.remove(uid)\n",
        "        self._snapshots.remove(uid)\n        self._snapshot_tables.drop(uid)\n",
    ),
    # The smallest of several
    Bug(
        "log-cleaned-by-the-newest-snapshot",
        "Of several snapshots of a topic the newest decides which commits may go.",
        "delivery/discard.py",
        "    if not old or min(held, default=old[0].version) < old[0].version:\n",
        "    if not old or max(held, default=old[0].version) < old[0].version:\n",
    ),
    Bug(
        "snapshot-needs-no-late-publish",
        "What a slow publisher commits after a snapshot is deleted if it holds other messages.",
        "policy/retention.py",
        "    return min([*times, *([following] if following is not None else [])], default=None)\n",
        "    return min(times, default=following)\n",
    ),
    Bug(
        "snapshot-expires-by-the-oldest-publish",
        "A snapshot expires by a message that its source has acknowledged.",
        "operations/snapshot.py",
        "    if first.publish_time_min == first.publish_time_max:\n",
        "    if first.publish_time_min <= first.publish_time_max:\n",
    ),
    # Failed keys
    Bug(
        "callbacks-of-what-returned",
        "After a nack the later messages of its key are called, though the store has them again.",
        "callbacks.py",
        "            elif self._outstanding.nack(call, call):\n"
        "                self._waiting[call.key] = _outstanding(self._waiting[call.key])\n",
        "            else:\n                self._outstanding.nack(call, call)\n",
    ),
    Bug(
        "callbacks-key-stuck-behind-what-is-lost",
        "A key whose next message was lost before it was called is never called again.",
        "callbacks.py",
        "            if call.stage in (_Stage.READY, _Stage.RETURNED):\n",
        "            if call.stage is _Stage.RETURNED:\n",
    ),
    Bug(
        "publisher-counts-what-failed",
        "The bytes of messages that failed with their key count as queued for ever.",
        "publisher.py",
        "                self._queued_bytes -= sum(queued.size for queued in overtaking)\n",
        "",
    ),
    Bug(
        "nack-returns-the-earlier-ones",
        "A nack ends the lease of the earlier messages of its key, too.",
        "policy/outstanding.py",
        "followers = [each for each in of_key if each.position > delivery.position]",
        "followers = [each for each in of_key if each.position != delivery.position]",
    ),
    Bug(
        "callbacks-end-with-one-try",
        "What callbacks have acknowledged is lost if the last request loses a race.",
        "subscriber.py",
        "        for _ in range(_LAST_REQUESTS - 1):\n",
        "        for _ in range(0):\n",
    ),
    Bug(
        "stream-deadline-stays",
        "A stream keeps the ack deadline of its first request, whatever a later one says.",
        "server/streams.py",
        "                    self._consumer.ack_deadline_seconds = _stream_ack_deadline(\n",
        "                    _ = _stream_ack_deadline(\n",
    ),
    Bug(
        "pull-of-a-predecessor",
        "A new pull is given what the server has leased of a deleted subscription of that name.",
        "server/hub.py",
        "        if running is not None:\n            await self._refresh(running)\n",
        "        if running is not None and not running.leaser.waiting:\n"
        "            await self._refresh(running)\n",
    ),
    # Push
    Bug(
        "push-forgets-failures-at-once",
        "One success among failures makes the next pause the shortest.",
        "policy/push_window.py",
        "failures=max(self.failures - 1, 0))",
        "failures=0)",
    ),
    # Access
    Bug(
        "seek-without-the-snapshot",
        "Whoever may consume a subscription may seek to a snapshot that is not permitted to him.",
        "policy/permissions.py",
        '(*_CONSUME, _also("snapshots.seek", "snapshot"))',
        "_CONSUME",
    ),
    Bug(
        "service-accounts-of-a-domain",
        "A service account has what is granted to the people of its domain.",
        "policy/access.py",
        'if kind == "user" and "@" in name:',
        'if "@" in name:',
    ),
    # Paging
    Bug(
        "page-of-another-listing",
        "A page token of another listing shows other pages, or none.",
        "policy/paging.py",
        "if page_token and collection not in after:",
        "if page_token and not after:",
    ),
    Bug(
        "page-repeats-an-item",
        "A page begins with the last item of the page before.",
        "policy/paging.py",
        "if item[0] > int(after)]",
        "if item[0] >= int(after)]",
    ),
    # Console
    Bug(
        "console-hours-of-half-a-day",
        "A form shows a retention of 18 hours as one of 6.",
        "console/forms.py",
        "minutes // 60 % 24",
        "minutes // 60 % 12",
    ),
    Bug(
        "console-local-times",
        "A form shows a time as it is on some machine, and reads it as UTC.",
        "console/forms.py",
        "    in_utc = time.astimezone(UTC)\n",
        "    in_utc = time\n",
    ),
    Bug(
        "console-days-rounded",
        "A form shows a ttl of 1234 days as one of 1230.",
        "console/subscription_form.py",
        'values["expiration_days"] = f"{_seconds(ttl) / 86_400:.10g}"',
        'values["expiration_days"] = f"{_seconds(ttl) / 86_400:.3g}"',
    ),
    # Command line
    Bug(
        "follow-beyond-its-limit",
        "pull --follow --limit takes more than its limit with its last batch.",
        "cli/pull.py",
        "min(BATCH_SIZE, limit - acked)",
        "min(BATCH_SIZE, limit)",
    ),
    Bug(
        "pull-hides-invalid-ids",
        "pull --auto-ack says SUCCESS of an ack id that was invalid.",
        "cli/pull.py",
        "    return {*result.invalid, *late}.difference(counted)\n",
        "    return set(late).difference(counted)\n",
    ),
    Bug(
        "labels-removed-before-they-are-set",
        "A label that one command removes and sets stays, which gcloud removes.",
        "cli/arguments.py",
        "    changed = {**({} if clear else now), **update}\n"
        "    return {key: value for key, value in changed.items() if key not in set(remove)}\n",
        "    kept = {} if clear else {key: now[key] for key in now if key not in set(remove)}\n"
        "    return {**kept, **update}\n",
    ),
    Bug(
        "deleted-and-an-error",
        "A snapshot is deleted, and an error says that it was not, where its table cannot be.",
        "operations/snapshot.py",
        "    with suppress(Exception):  # the snapshot is deleted, and an error would deny it\n"
        "        tables.registry.remove_hidden_snapshot(stored.uid)\n",
        "    tables.registry.remove_hidden_snapshot(stored.uid)\n",
    ),
)
