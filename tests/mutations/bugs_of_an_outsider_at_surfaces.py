"""Bugs that an outsider chose without a look at the list: of server, pages, commands, clients."""

from __future__ import annotations

from tests.mutations.bug import Bug

OF_SERVER = (
    Bug(
        "more-seconds-than-ids",
        "A stream with more deadlines than ack ids fails with INTERNAL.",
        "server/streams.py",
        "if len(request.modify_deadline_ack_ids) != len(request.modify_deadline_seconds):",
        "if len(request.modify_deadline_ack_ids) > len(request.modify_deadline_seconds):",
    ),
    Bug(
        "snapshot-before-its-acks",
        "A snapshot holds messages whose acknowledgement the server has accepted before.",
        "server/subscriber_service.py",
        "        made = await self._between_exchanges(\n"
        "            subscription, partial(create, name, subscription, labels=labels)\n"
        "        )\n",
        "        made = await self._do(partial(create, name, subscription, labels=labels))\n",
    ),
    Bug(
        "append-of-any-bytes",
        "All requests that wait are one append, however many bytes they have.",
        "server/publishing.py",
        "if batch and (count > MOST_MESSAGES or size > MOST_BYTES):",
        "if batch and count > MOST_MESSAGES:",
    ),
    Bug(
        "unsent-for-ever",
        "A stream that was sent its messages counts their bytes as unsent, and gets no more.",
        "server/response_queue.py",
        "        self._sending.clear()\n        self._consumer.unsent = self._bytes\n",
        "        self._sending.clear()\n",
    ),
    Bug(
        "pushed-messages-kept-at-the-end",
        "A server that stops gives none of the messages back whose push was not answered.",
        "server/pushing.py",
        "        unanswered = [each.received.ack_id for each in self._requests.values()]\n"
        "        await asyncio.gather(*self._cancelled(), return_exceptions=True)\n",
        "        await asyncio.gather(*self._cancelled(), return_exceptions=True)\n"
        "        unanswered = [each.received.ack_id for each in self._requests.values()]\n",
    ),
    Bug(
        "header-of-two-lines",
        "The value of an attribute adds headers to a push request.",
        "server/push_requests.py",
        "_NAME.fullmatch(each[0]) and _VALUE.fullmatch(each[1])]",
        "_NAME.fullmatch(each[0]) and _VALUE.match(each[1])]",
    ),
    Bug(
        "token-outlives-its-validity",
        "Push requests carry tokens that have expired.",
        "server/push_tokens.py",
        "REUSED = timedelta(minutes=30)",
        "REUSED = timedelta(minutes=90)",
    ),
    Bug(
        "span-ends-before-its-deadline",
        "The span of a delivery whose deadline was moved ends as expired.",
        "server/otel.py",
        "            for _, each in held:\n"
        "                each.until = now + timedelta(seconds=seconds)\n",
        "",
    ),
    Bug(
        "mask-of-etag-replaces-bindings",
        "A change of a policy whose mask names no bindings replaces them.",
        "server/iam_service.py",
        'set_it = partial(iam.set_policy, with_bindings="bindings" in named)',
        "set_it = partial(iam.set_policy, with_bindings=True)",
    ),
    Bug(
        "forwarder-of-the-topic",
        "The service agent of the dead-letter topic's project needs the permissions to forward.",
        "server/authorization.py",
        'forwarder = policy.forwarder(subscription.name.split("/")[1])\n'
        "        topic = subscription.dead_letter_policy.dead_letter_topic\n",
        "topic = subscription.dead_letter_policy.dead_letter_topic\n"
        '        forwarder = policy.forwarder(topic.split("/")[1])\n',
    ),
    Bug(
        "token-at-its-last-instant",
        "A static token is still accepted at the instant from which it is not valid.",
        "server/authentication.py",
        "is_valid = each.expires is None or now < each.expires",
        "is_valid = each.expires is None or now <= each.expires",
    ),
    Bug(
        "pages-of-the-same-site",
        "Web pages of a sibling domain reach a server without a token.",
        "server/rest/gateway.py",
        'if "origin" in headers or site not in ("none", "same-origin"):',
        'if "origin" in headers or site not in ("none", "same-origin", "same-site"):',
    ),
    Bug(
        "part-of-what-is-selected-whole",
        "A field that is selected whole and in part is returned in part.",
        "server/rest/selection.py",
        "    if not one or not other:\n        return {}\n    both",
        "    both",
    ),
    Bug(
        "writer-wakes-for-another-topic",
        "A publish wakes no table writer, which looks for messages up to its longest pause later.",
        "server/table_writing.py",
        "if writer.topic == topic:",
        "if writer.topic != topic:",
    ),
)
OF_CONSOLE = (
    Bug(
        "ids-of-another-batch",
        "A form acknowledges messages that the batch of its page does not have.",
        "console/pulling.py",
        '[each for each in form.multi.get("ack_id", []) if each in known]',
        'form.multi.get("ack_id", [])',
    ),
    Bug(
        "first-day-twice",
        "The chart of days counts its first day among the earlier ones, too.",
        "console/charts.py",
        "sum(n for day, n in by.items() if day < first)",
        "sum(n for day, n in by.items() if day <= first)",
    ),
    Bug(
        "restores-without-retained",
        "The page of a seek says that acknowledged messages cannot return, though the topic has "
        "them.",
        "console/replay.py",
        "return subscription.retain_acked_messages or kept is not None",
        "return subscription.retain_acked_messages and kept is not None",
    ),
    Bug(
        "foreign-topic-does-not-exist",
        "The overview says that a dead-letter topic of another project does not exist.",
        "console/overview.py",
        'if letters not in names and letters.split("/")[1:2] == [console.project]:',
        "if letters not in names:",
    ),
)
OF_CLI = (
    Bug(
        "file-waits-for-more",
        "pull --wait --output waits for more messages after the last one, and never ends.",
        "cli/pull.py",
        "        puller = replace(puller, wait=timedelta(0))\n",
        "",
    ),
    Bug(
        "home-of-a-token",
        "--endpoint-token-file=~/token is not found.",
        "cli/settings.py",
        'for key in ("root", "tables_root", "endpoint_tls", "endpoint_token_file"):',
        'for key in ("root", "tables_root", "endpoint_tls"):',
    ),
    Bug(
        "commit-without-a-zero",
        "The history of a topic shows no version 0, and no publish of no messages.",
        "cli/rest.py",
        "return {key: value for key, value in record.items() if value is not None}",
        "return {key: value for key, value in record.items() if value}",
    ),
    Bug(
        "acks-since-the-start",
        "watch shows the mean rate since a sample long ago: of each two the first is kept.",
        "cli/watch.py",
        "        last = sample(app.store.metrics(name), time, last)\n",
        "        last = sample(app.store.metrics(name), time, first)\n",
    ),
)
OF_JOBS = (
    Bug(
        "old-metrics-look-new",
        "After a failed measurement the exporter gives the earlier metrics the age of the failure.",
        "exporter.py",
        "replace(before, measurements=count, failures=failures, error=error)",
        "replace(before, uptime=start, measurements=count, failures=failures, error=error)",
    ),
    Bug(
        "files-of-two-formats",
        "A job reads files without a format in their names as those beside them.",
        "jobs/file_formats.py",
        "if len(known) > 1 or (asked is None and known and None in formats.values()):",
        "if len(known) > 1:",
    ),
    Bug(
        "null-is-an-empty-text",
        "The batch of rows without a value has the idempotency id of those with an empty one.",
        "jobs/idempotency_ids.py",
        "if value is not None:",
        "if value:",
    ),
)
OF_CLIENTS = (
    Bug(
        "blocked-until-the-latency",
        "A publish that waits for room waits for max_latency, though a commit would make room.",
        "publisher.py",
        "        self._blocked.append(place)\n        self._work.notify()",
        "        self._blocked.append(place)\n        self._progress.notify()",
    ),
    Bug(
        "deadline-after-the-end",
        "Who moves a deadline after the end of the StreamingPull waits for ever.",
        "callbacks.py",
        "            elif future is not None:\n                future.set_exception(self._ended)\n",
        "",
    ),
    Bug(
        "outcome-that-came-before",
        "Who asks for the outcome of an ack after it has come waits for ever.",
        "callbacks.py",
        "                call.future = _started()\n"
        "                _set(call.future, call.outcome)\n",
        "                call.future = _started()\n",
    ),
    Bug(
        "shortest-extension-for-all",
        "The subscriber extends leases by ten seconds, whatever the ack deadline.",
        "subscriber.py",
        "timedelta(seconds=min(max(seconds, least), most))",
        "timedelta(seconds=max(min(seconds, least), least))",
    ),
)
BUGS_OF_AN_OUTSIDER_AT_SURFACES = (
    *OF_SERVER,
    *OF_CONSOLE,
    *OF_CLI,
    *OF_JOBS,
    *OF_CLIENTS,
)
