"""Bugs that an outsider chose without a look at the list: some in every part below the surfaces."""

from __future__ import annotations

from tests.mutations.bug import Bug

OF_POLICY = (
    Bug(
        "lease-shorter-than-its-client-has-it",
        "A lease ends up to ten seconds before the deadline that a client has for its message.",
        "policy/outstanding.py",
        "deadline = -((now - end) // _STEP) * _STEP",
        "deadline = ((end - now) // _STEP) * _STEP",
    ),
    Bug(
        "held-acks-never-fail",
        "Who acknowledges during a seek of a subscription that is gone waits for ever.",
        "policy/ack_buffer.py",
        "dropped = self._sent or _Pending(), self._next, self._held_back",
        "dropped = self._sent or _Pending(), self._next",
    ),
    Bug(
        "update-of-a-used-one",
        "An update of a subscription that was pulled from once is no activity.",
        "policy/retention.py",
        "since = max(subscription.update_time, active_time or subscription.update_time)",
        "since = active_time or subscription.update_time",
    ),
    Bug(
        "filter-of-the-source-decides",
        "A filtered subscription that seeks to a snapshot of an unfiltered one gets everything.",
        "policy/replay.py",
        "if spans and captured.filter != terms.subscription.filter:",
        "if spans and captured.filter and captured.filter != terms.subscription.filter:",
    ),
    Bug(
        "given-back-write-has-failed",
        "Messages of a write to a table that was cancelled stay leased to that write for ever.",
        "policy/table_writes.py",
        "with_spans(state, (s.released() if s in spans else s for s in state.spans))",
        "with_spans(state, (s for s in state.spans))",
    ),
)
OF_DELIVERY = (
    Bug(
        "room-for-a-thousand-at-a-time",
        "Beyond a thousand messages a consumer loads more bytes than its flow control allows.",
        "delivery/leases.py",
        "left, room = left - part, room - (sizes[-1] if sizes else 0)",
        "left = left - part",
    ),
    Bug(
        "rest-of-a-slice-stays-leased",
        "Messages beyond the bytes of a slice wait for the end of its lease.",
        "delivery/table_subscriptions.py",
        "            following = delivery.give_back(following, {held: rest}, terms, now)\n",
        "",
    ),
    Bug(
        "given-back-counts-as-written",
        "Messages whose write was cancelled count as written.",
        "delivery/table_writes.py",
        "elif done is not table_writes.given_back:",
        "else:",
    ),
    Bug(
        "reason-shortened-in-characters",
        "The reason of a dead letter, in another script, is longer than a value may be.",
        "delivery/dead_letters.py",
        'return text.encode()[:size].decode(errors="ignore")',
        "return text[:size]",
    ),
    Bug(
        "overlapping-files-count-twice",
        "Where files overlap, the chart counts a message once for each file.",
        "delivery/surveys.py",
        "        held |= rest  # where files overlap, a message counts once\n",
        "",
    ),
    Bug(
        "key-is-held-from-its-last-unreadable",
        "Of a key with two unreadable messages, those between them are delivered out of order.",
        "delivery/unreadable.py",
        "self._first_unreadable[keys[place]] = min(first, positions[place])",
        "self._first_unreadable[keys[place]] = max(first, positions[place])",
    ),
)
OF_OPERATIONS = (
    Bug(
        "topic-label-without-its-project",
        "The metrics of a subscription to another project's topic name a topic of its own project.",
        "operations/metrics.py",
        'return {"topic": name.id if name.project == project else str(name)}',
        'return {"topic": name.id}',
    ),
    Bug(
        "new-messages-of-any-state",
        "A search for new messages in some states finds new ones in all states.",
        "operations/find.py",
        "held = added if held is None else held & added",
        "held = added",
    ),
    Bug(
        "oldest-of-one-span",
        "A snapshot lives too long if its oldest message is in the second of two spans.",
        "operations/snapshot.py",
        "if s.publish_time_min <= first.publish_time_max]",
        "if s.publish_time_min <= first.publish_time_min]",
    ),
    Bug(
        "remains-of-a-crash-stay",
        "What a crashed creation of a snapshot has left stays for ever.",
        "operations/maintain.py",
        "for snapshot in (*registry.expired_snapshots(now), *registry.abandoned_snapshots(now)):",
        "for snapshot in registry.expired_snapshots(now):",
    ),
    Bug(
        "every-lease-counts-as-ended",
        "A preview counts the leases of messages that the seek acknowledges twice.",
        "operations/seek.py",
        "leases_ended=len(before.positions(State.LEASED) & becoming),",
        "leases_ended=len(before.positions(State.LEASED)),",
    ),
    Bug(
        "version-beyond-delta",
        "An idempotency id whose version Delta cannot store is accepted.",
        "operations/publish.py",
        "type(version) is int and 0 <= version < 2**63",
        "type(version) is int and 0 <= version <= 2**63",
    ),
    Bug(
        "newest-version-refused",
        "The newest version of a topic cannot be read.",
        "operations/read.py",
        "not isinstance(given, bool) and 0 <= given <= newest",
        "not isinstance(given, bool) and 0 <= given < newest",
    ),
    Bug(
        "peek-beyond-its-bytes",
        "A peek returns whole messages, however large.",
        "operations/survey.py",
        "data=data[:max_bytes],",
        "data=data,",
    ),
)
OF_METHODS = (
    Bug(
        "names-measured-once",
        "An exporter of names that an iterator gives exports nothing after the first measurement.",
        "methods/metrics.py",
        "wanted = names if names is None else measuring.listed(names)",
        "wanted = names",
    ),
    Bug(
        "type-without-a-definition",
        "A type beside a schema is ignored, where either of the two is accepted.",
        "methods/schemas.py",
        "given = type is not None or definition is not None",
        "given = type is not None and definition is not None",
    ),
    Bug(
        "publisher-of-a-predecessor",
        "A publisher goes on with a deleted topic after its name was given to another one.",
        "methods/streams.py",
        "    self._tables.topic(name)\n\n"
        "    def commit(batch: Sequence[Message]) -> Sequence[str]:\n"
        "        found, now = self._tables.topic(name), self._clock.now()\n",
        "    found = self._tables.topic(name)\n\n"
        "    def commit(batch: Sequence[Message]) -> Sequence[str]:\n"
        "        now = self._clock.now()\n",
    ),
)
OF_TABLES = (
    Bug(
        "one-too-many-to-delete",
        "A run of retention counts the messages of its bound, too, which it does not delete.",
        "tables/messages/stored.py",
        "return self._counted(Window(None, None, time - _MICROSECOND))[0]",
        "return self._counted(Window(None, None, time))[0]",
    ),
    Bug(
        "rate-over-a-log-that-is-gone",
        "The rate of publishes counts the time of commits that the log no longer has.",
        "tables/messages/commits.py",
        "return number, time if commits[-1].version == 0 else max(time, first)",
        "return number, time",
    ),
    Bug(
        "as-of-without-its-instant",
        "A topic as of the publish time of a message lacks that message.",
        "tables/messages/commits.py",
        "if c.publish_time is not None and c.publish_time > time]",
        "if c.publish_time is not None and c.publish_time >= time]",
    ),
    Bug(
        "removed-snapshot-finished",
        "A snapshot that was removed while it was created becomes visible without its table.",
        "tables/registry/registry.py",
        "return self._snapshots.change_added(uid, columns, is_announced)",
        "return self._snapshots.change_added(uid, columns, lambda _: True)",
    ),
    Bug(
        "write-repeated-after-a-crash",
        "Rows that have landed before a crash are written to the table a second time.",
        "tables/lanes/direct/targets.py",
        "if landed is None or landed < number:",
        "if landed is None or landed <= number:",
    ),
    Bug(
        "digits-of-a-decimal",
        "A number with many digits loses the last ones on its way to a column of decimals.",
        "tables/target_rows.py",
        "                parse_float=Decimal,\n",
        "",
    ),
    Bug(
        "published-to-the-detached",
        "A publish to a deleted topic succeeds though all its subscriptions are detached.",
        "tables/store.py",
        "return any(not each.detached for each, _ in self.registry.holders(topic_uid))",
        "return any(self.registry.holders(topic_uid))",
    ),
    Bug(
        "may-have-landed-has-not",
        "A change whose response was lost, and that nobody can see yet, is decided again.",
        "tables/ack_state/states.py",
        "if now.revision <= expected:",
        "if now.revision < expected:",
    ),
    Bug(
        "statistics-taken-at-their-word",
        "A count includes messages of the millisecond in which it ends.",
        "tables/lanes/direct/scans.py",
        "return starts and (window.latest is None or last + _CUT_OFF <= window.latest)",
        "return starts and (window.latest is None or last <= window.latest)",
    ),
    Bug(
        "whole-number-of-eight-bytes",
        "A number that is one too large for its column fails the rows beside it.",
        "tables/json_values.py",
        "if not -limit <= number < limit or int(number) != number:",
        "if not -limit <= number <= limit or int(number) != number:",
    ),
    Bug(
        "decimals-of-28-digits",
        "A number of more than 28 digits does not fit into a column of 38.",
        "tables/json_values.py",
        ", context=Context(type_.precision))",
        ")",
    ),
    Bug(
        "number-becomes-infinity",
        "A number that is too large for its column becomes infinity.",
        "tables/json_values.py",
        "if math.isinf(pa.scalar(found, type_).as_py()) and Decimal(str(value)).is_finite():",
        "if math.isinf(pa.scalar(found, type_).as_py()) and value is None:",
    ),
    Bug(
        "default-of-28-digits",
        "The default value of a field loses its digits after the 28th.",
        "policy/schemas/avro_defaults.py",
        """return Decimal(f"{unscaled}E{-schema.get('scale', 0)}")""",
        "return Decimal(unscaled).scaleb(-schema.get('scale', 0))",
    ),
)
OF_STREAMING = (
    Bug(
        "lease-extended-at-its-end",
        "The lease of a micro-batch is extended when it has ended.",
        "micro_batch_lease.py",
        "return self._deadline / 3",
        "return float(self._deadline)",
    ),
    Bug(
        "stopped-query-has-failed",
        "The messages of a query that is stopped fail, and those of a failed one do not.",
        "micro_batch_lease.py",
        "self._enter(_Phase.STOPPED if stopped else _Phase.FAILED)",
        "self._enter(_Phase.FAILED if stopped else _Phase.STOPPED)",
    ),
)
OF_DATASOURCE = (
    Bug(
        "ids-of-either-filter",
        "A query for messages with one id and another finds both.",
        "datasource/batch_reader.py",
        "self.ids = ids if self.ids is None else self.ids & ids",
        "self.ids = ids if self.ids is None else self.ids | ids",
    ),
    Bug(
        "one-partition-too-many",
        "The last partition of a DataFrame has the positions of the next publish.",
        "datasource/writing.py",
        "if partition >= PARTITIONS:",
        "if partition > PARTITIONS:",
    ),
)
OF_SCHEMAS = (
    Bug(
        "fields-of-another-schema",
        "Messages that were published under another schema are read by the topic's new one.",
        "policy/schemas/validation.py",
        "        if name != self.schema:\n"
        '            raise SchemaMismatch(f"it was published under {name}")\n',
        "",
    ),
    Bug(
        "reason-of-the-oldest",
        "A refused message is told why it does not fit the oldest revision, under the newest's id.",
        "policy/schemas/validation.py",
        "reason = reason or why",
        "reason = why",
    ),
)

BUGS_OF_AN_OUTSIDER = (
    *OF_POLICY,
    *OF_DELIVERY,
    *OF_OPERATIONS,
    *OF_METHODS,
    *OF_TABLES,
    *OF_STREAMING,
    *OF_DATASOURCE,
    *OF_SCHEMAS,
)
