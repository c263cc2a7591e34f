"""Seeded bugs of a sixth outsider: most were chosen without a look at the tests or at this list."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_A_SIXTH_OUTSIDER = (
    Bug(
        "sent-bytes-subtracted-twice",
        "The bytes of a sent message are subtracted twice from those that a server holds.",
        "server/assigner.py",
        "self.memory.add(-1, 0 if self.is_sent else -self.size)",
        "self.memory.add(-1, -self.size)",
    ),
    Bug(
        "a-refresh-believes-what-it-read-before",
        "A refresh of workers takes back a change that was applied while it read.",
        "server/subscription_workers.py",
        "        applied = self._applied\n        found = await self.subscriptions()\n",
        "        found = await self.subscriptions()\n        applied = self._applied\n",
    ),
    Bug(
        "a-failed-refresh-is-repeated-at-once",
        "A refresh of workers that fails is tried again without a pause.",
        "server/subscription_workers.py",
        '                logger.exception("%s: the subscriptions could not '
        'be read", self.name)\n'
        "            await asyncio.sleep(REFRESH_SECONDS)",
        '                logger.exception("%s: the subscriptions could not '
        'be read", self.name)\n'
        "            else:\n"
        "                await asyncio.sleep(REFRESH_SECONDS)",
    ),
    Bug(
        "one-misfit-fails-the-others",
        "A request that does not fit the schema fails the other requests of its append, too.",
        "server/publishing.py",
        "                _fail([request], error)",
        "                _fail(batch, error)",
    ),
    Bug(
        "a-poll-during-an-exchange-is-lost",
        "What is published during an exchange waits for the next poll.",
        "server/dispatcher.py",
        "self._poll_now = self._poll_now or found >= wanted",
        "self._poll_now = found >= wanted",
    ),
    Bug(
        "failures-of-exchanges-add-up",
        "Consumers get an error after some failed exchanges, though others succeeded in between.",
        "server/dispatcher.py",
        "        self.leaser.request_took(self._exchanged - now)\n        self._failures = 0\n",
        "        self.leaser.request_took(self._exchanged - now)\n",
    ),
    Bug(
        "a-stopping-hub-opens-dispatchers",
        "A server that stops opens dispatchers that nobody stops.",
        "server/hub.py",
        "        self._refuse_if_stopping()\n        dispatcher = Dispatcher(\n",
        "        dispatcher = Dispatcher(\n",
    ),
    Bug(
        "a-slow-request-is-forgotten",
        "Leases are as long as the last request needs, and not the slowest of late.",
        "server/leaser.py",
        "self._slowest_request = max(duration, self._slowest_request * 0.95)",
        "self._slowest_request = duration",
    ),
    Bug(
        "last-leases-in-whole-seconds",
        "At the end of a server a lease ends before the deadline that its consumer was given.",
        "policy/outstanding.py",
        "max(-((now - end) // _SECOND), 1)",
        "max((end - now) // _SECOND, 1)",
    ),
    Bug(
        "a-confirmed-ack-succeeds-again",
        "A stream remembers the acks that it has confirmed, so a repeated one succeeds.",
        "server/response_queue.py",
        '        self._confirmed(ids.get("ack_ids", ()))\n',
        "",
    ),
    Bug(
        "a-connection-remembers-its-first-response",
        "Another response on the same connection of push is compared with the first one.",
        "server/push_endpoint.py",
        'self._begun, self._head_left = b"", _MAX_HEAD_READ\n',
        "self._head_left = _MAX_HEAD_READ\n",
    ),
    Bug(
        "a-publish-during-a-table-write-is-lost",
        "A publish during a write to a table does not wake the writer.",
        "server/table_writing.py",
        "            if done.is_done and not self._ended.is_set():\n",
        "            if done.is_done and not self._ended.is_set():\n"
        "                self._woken.clear()\n",
    ),
    Bug(
        "a-full-server-starves-the-others",
        "A server that is full leases nothing to a subscription that has nothing yet.",
        "server/memory.py",
        "return bool(self.messages) and whole.messages >= whole._most_messages",
        "return whole.messages >= whole._most_messages",
    ),
    Bug(
        "flush-of-one-batch",
        "flush of a publisher returns after the first of several batches.",
        "publisher.py",
        "self._settled = self._queue[0].number if self._queue else self._next_number",
        "self._settled = self._next_number",
    ),
    Bug(
        "settled-future-ends-its-publisher",
        "A future that its program settles itself ends the thread of its publisher.",
        "publisher.py",
        "    except RuntimeError:\n        return not future.cancelled()\n",
        "    except LookupError:\n        return not future.cancelled()\n",
    ),
    Bug(
        "views-of-a-session-are-refused",
        "create_views of a store on a path asks for a schema, though temporary is not given.",
        "operations/views.py",
        "if temporary is False and own is None:",
        "if not temporary and own is None:",
    ),
    Bug(
        "publishes-counted-again",
        "Over time, a publish counts again after every later state of the subscription.",
        "operations/survey.py",
        "if publish.version > metrics.after_version and time is not None and time < end:",
        "if time is not None and time < end:",
    ),
    Bug(
        "now-twice-over-time",
        "Over time, a subscription that was used just now has two last moments.",
        "operations/survey.py",
        "    if moments[-1].time >= now:  # it was used just now\n        moments.pop()\n",
        "",
    ),
    Bug(
        "a-finished-micro-batch-is-no-activity",
        "The end of a micro-batch does not count as a use of its subscription.",
        "operations/pull.py",
        "        following = decide(state, found.terms)\n"
        "        following = replay.note_activity(state, following, "
        "found.subscription, now)\n",
        "        following = decide(state, found.terms)\n",
    ),
    Bug(
        "reach-of-the-first-span",
        "A snapshot expires by the oldest message of one span, though others reach back as far.",
        "operations/snapshot.py",
        "reaching = [s for s in captured.spans if s.publish_time_min <= first.publish_time_max]",
        "reaching = [first]",
    ),
    Bug(
        "maintain-by-an-old-clock",
        "maintain judges by the time before it wrote to tables, however long that took.",
        "operations/maintain.py",
        "    if duties.tables:\n        _write_tables(tables, clock, report)\n    now = clock()\n",
        "    now = clock()\n    if duties.tables:\n        _write_tables(tables, clock, report)\n",
    ),
    Bug(
        "metrics-measured-at-each-access",
        "Expensive metrics are measured again at each access.",
        "metrics.py",
        "found = self._values[name] = found()",
        "found = found()",
    ),
    Bug(
        "exporter-ends-at-a-failure",
        "The metrics exporter measures no more after the first failure.",
        "exporter.py",
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
        "a-lost-letter-is-a-stray-one",
        "A dead letter whose message is lost says that its publish time is wrong.",
        "delivery/dead_letters.py",
        "wrong = {**dict.fromkeys(missing, STRAY), **dict.fromkeys(lost, LOST)}",
        "wrong = {**dict.fromkeys(lost, LOST), **dict.fromkeys(missing, STRAY)}",
    ),
    Bug(
        "a-paused-endpoint-gets-messages",
        "An endpoint that has a pause gets messages all the same.",
        "server/assigner.py",
        "if not self.is_open or self.is_paused:",
        "if not self.is_open:",
    ),
    Bug(
        "two-pushes-of-a-key",
        "Two messages of an ordering key are pushed to an endpoint at once.",
        "server/assigner.py",
        "takes = not owner.keys_singly and owner.has_room(delivery.size)",
        "takes = owner.has_room(delivery.size)",
    ),
    Bug(
        "workers-start-during-the-end",
        "A server that stops starts workers of changed subscriptions.",
        "server/subscription_workers.py",
        "        self._is_stopping = True\n",
        "",
    ),
    Bug(
        "a-seek-overtakes-acks",
        "Acks from before a seek are written after it.",
        "server/dispatcher.py",
        "                if self.leaser.has_request:\n"
        "                    await self._exchange(0)\n"
        "                yield\n",
        "                yield\n",
    ),
    Bug(
        "keys-go-to-who-has-left",
        "The messages of an ordering key go to a consumer that has left.",
        "server/dispatcher.py",
        "        consumer.is_open = False\n",
        "",
    ),
    Bug(
        "a-dispatcher-with-an-id-of-its-own",
        "Ids of a later subscription fail beside one of the earlier one.",
        "server/hub.py",
        "if any(not each.startswith(found.leaser.uid) for each in ack_ids):",
        "if all(not each.startswith(found.leaser.uid) for each in ack_ids):",
    ),
    Bug(
        "a-server-pulls-from-a-table-subscription",
        "A pull from a table subscription by a server is not refused.",
        "server/hub.py",
        "if fields.push_config is not None or fields.table_config is not None:",
        "if fields.push_config is not None:",
    ),
    Bug(
        "empty-requests-get-no-response",
        "A stream of protocol version 1 gets no responses to its empty requests.",
        "server/streams.py",
        "if first.protocol_version >= KEEP_ALIVE and not request.ByteSize():",
        "if first.protocol_version > KEEP_ALIVE and not request.ByteSize():",
    ),
    Bug(
        "a-client-that-is-gone-gets-messages",
        "A client that disconnects is given messages all the same.",
        "server/streams.py",
        "            dispatcher.leave(consumer)\n            dispatcher.give_back(",
        "            dispatcher.give_back(",
    ),
    Bug(
        "a-pusher-of-a-predecessor-goes-on",
        "A subscription that was created again is pushed by the worker of the earlier one.",
        "server/pushing.py",
        "if running is not None and not running.is_over and is_same:",
        "if running is not None and not running.is_over:",
    ),
    Bug(
        "an-endpoint-without-a-path",
        "A push to an endpoint without a path and a query has an empty target.",
        "server/push_endpoint.py",
        'if "?" in url else parts.path or "/"',
        'if "?" in url else parts.path',
    ),
    Bug(
        "final-failures-crowded-out",
        "Ack ids to be tried again take the room of those that have failed for good.",
        "server/status.py",
        "self.named = _fitting({**lost, **failures})",
        "self.named = _fitting(failures)",
    ),
    Bug(
        "due-after-a-flush",
        "The first message after a flush does not wait for a batch.",
        "publisher.py",
        "self._queue[0].number < self._flushed",
        "self._queue[0].number <= self._flushed",
    ),
    Bug(
        "as-large-as-the-limit",
        "A message of exactly the byte limit of flow control is refused.",
        "publisher.py",
        "if size > self._limits.byte_limit:",
        "if size >= self._limits.byte_limit:",
    ),
    Bug(
        "unchanged-views-do-not-exist",
        "A report of create_views lists no view that was unchanged.",
        "operations/views.py",
        "return tuple(sorted((*self.created, *self.replaced, *self.unchanged)))",
        "return tuple(sorted((*self.created, *self.replaced)))",
    ),
    Bug(
        "a-publish-makes-the-backlog-young",
        "Over time, the oldest message is that of the last publish.",
        "operations/survey.py",
        "oldest_unacked_publish_time=time if oldest is None else min(oldest, time),",
        "oldest_unacked_publish_time=time,",
    ),
    Bug(
        "one-malformed-id-refuses-all",
        "One text that is no ack id refuses all ids beside it.",
        "operations/acknowledge.py",
        "if not any(parsed.values()):",
        "if not all(parsed.values()):",
    ),
    Bug(
        "forwardings-in-a-preview",
        "The preview of a seek counts messages that are being forwarded.",
        "operations/seek.py",
        "return union(span for span in state.unacked() if span.state is not State.FORWARDING)",
        "return union(state.unacked())",
    ),
    Bug(
        "a-failed-snapshot-keeps-its-name",
        "A snapshot that could not be created keeps its name until maintain.",
        "operations/snapshot.py",
        "            with suppress(Exception):  # ``maintain`` removes the remains\n"
        "                tables.registry.remove_snapshot(snapshot.uid)\n",
        "",
    ),
    Bug(
        "a-dry-run-optimizes",
        "A dry run of maintain joins files.",
        "operations/maintain.py",
        "if duties.optimize and not duties.dry_run:",
        "if duties.optimize:",
    ),
    Bug(
        "sparse-files-from-the-oldest",
        "A search in sparse positions finds the oldest messages first.",
        "operations/find.py",
        "        stored -= part\n    return found[::-1]",
        "        stored -= part\n    return found",
    ),
    Bug(
        "expiry-in-milliseconds",
        "The expire time of a snapshot is exported in milliseconds.",
        "metrics.py",
        "yield {}, to_micros(value) / 1_000_000",
        "yield {}, to_micros(value) / 1_000",
    ),
    Bug(
        "stray-letters-come-last",
        "Dead letters that are stored with another publish time are forwarded after the others.",
        "delivery/dead_letters.py",
        'rows = pa.concat_tables([rows, stray]).sort_by("position")',
        "rows = pa.concat_tables([rows, stray])",
    ),
    Bug(
        "a-stray-message-is-lost",
        "A message with another publish time than its commit's counts as missing, too.",
        "delivery/leases.py",
        "            missing -= positions_of(stray)\n        rows, reasons",
        "        rows, reasons",
    ),
    Bug(
        "announced-messages-come-back",
        "A seek brings back what retention has announced to delete where the log was cut.",
        "delivery/sources.py",
        "earliest = max(earliest, new.discards_before or earliest)",
        "earliest = min(earliest, new.discards_before or earliest)",
    ),
    Bug(
        "a-run-within-another",
        "Files that lie within an earlier one make the stored runs of a survey shorter.",
        "delivery/surveys.py",
        "joined[-1] = (joined[-1][0], max(joined[-1][1], last))",
        "joined[-1] = (joined[-1][0], last)",
    ),
)
