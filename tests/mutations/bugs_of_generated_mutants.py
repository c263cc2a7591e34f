"""Bugs that generated mutants of the seeds 43 to 45 were, and that no near test had noticed."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_GENERATED_MUTANTS = (
    Bug(
        "a-google-account-is-not-translated",
        "The direct lane does not get the key file of a service account of Google.",
        "tables/lanes/direct/credentials.py",
        'return {} if found is None else {"google_service_account": found}',
        "return {}",
    ),
    Bug(
        "a-tenant-is-a-whole-address",
        "The direct lane gets the address of Azure's tokens, and not the tenant in it.",
        "tables/lanes/direct/credentials.py",
        "options[name] = tenant[1] if tenant else value",
        "options[name] = value",
    ),
    Bug(
        "few-messages-are-read-by-spark",
        "Few messages are read by Spark, and many by this process.",
        "tables/lanes/choice.py",
        "many = count >= MANY_MESSAGES and self.has_spark",
        "many = count < MANY_MESSAGES or self.has_spark",
    ),
    Bug(
        "the-setting-of-another-scheme-is-told",
        "Who may not write on S3 is told a setting whose name has the bucket in it.",
        "tables/lanes/s3_writers.py",
        """    scheme = location.partition(":")[0]
    return (
""",
        """    scheme = location.partition("://")[2]
    return (
""",
    ),
    Bug(
        "a-file-of-a-caller-is-blamed-on-a-table",
        "A file that is no table's is told as damage of the table that was being read.",
        "tables/lanes/storage_errors.py",
        "    return table if path is None else None\n",
        "    return table\n",
    ),
    Bug(
        "maps-of-spark-keep-their-types",
        "Rows from Spark keep large texts and local times where they are in a map.",
        "tables/lanes/spark/types.py",
        "return pa.map_(_normal(type_.key_type), _normal(type_.item_type))",
        "return type_",
    ),
    Bug(
        "positions-are-given-again-behind-maintenance",
        "The last publish in the log does not count if maintenance has committed since.",
        "tables/messages/commits.py",
        "if any(each.adds_messages for each in commits) or commits[-1].version == 0:",
        "if commits[0].adds_messages or commits[-1].version == 0:",
    ),
    Bug(
        "the-logs-of-a-publish-are-read-in-turn",
        "A process forgets the topics that it has used, so it reads their logs one by one.",
        "tables/store.py",
        "        self._topic_uids[str(name)] = uid\n",
        "        self._topic_uids.pop(str(name), None)\n",
    ),
    Bug(
        "data-may-not-be-not-null",
        "A table whose column data is NOT NULL is refused.",
        "tables/target_rows.py",
        'given |= set() if config.use_topic_schema else {"data"}',
        'given |= {"data"} if config.use_topic_schema else set()',
    ),
    Bug(
        "the-last-revision-is-not-stored",
        "The registry does not store the last revision of a topic's schema settings.",
        "tables/registry/rows.py",
        'for bound in ("first_revision_id", "last_revision_id"):',
        'for bound in ("first_revision_id",):',
    ),
    Bug(
        "a-token-loses-its-audience",
        "The registry stores the service account of a push, and not the audience of its token.",
        "tables/registry/rows.py",
        'row["push_audience"] = token and token.audience',
        'row["push_audience"] = token and ""',
    ),
    Bug(
        "nothing-is-found-without-statistics",
        "A search of a topic finds nothing if the log has no statistics of a file.",
        "operations/find.py",
        "            if positions is not None and not positions:\n",
        "            if not positions:\n",
    ),
    Bug(
        "a-file-without-times-is-not-searched",
        "A search between times leaves out files whose times the log does not have.",
        "operations/find.py",
        "return time is not None and other is not None and time < other",
        "return time is None or other is None or time < other",
    ),
    Bug(
        "a-survey-ends-at-a-file-without-times",
        "A survey leaves out all files after one whose times the log does not have.",
        "delivery/surveys.py",
        "        if first is None or last is None:\n            continue\n",
        "        if first is None or last is None:\n            break\n",
    ),
    Bug(
        "the-past-has-no-delivery-attempts",
        "The delivery attempts of a subscription over time are all 0.",
        "operations/survey.py",
        "delivery_attempt=metrics.delivery_attempt or 0,",
        "delivery_attempt=0,",
    ),
    Bug(
        "connections-end-after-ten-seconds",
        "A connection ends ten seconds after it was made, whatever its client has sent.",
        "server/multiplexer.py",
        "        assert self._timeout is not None\n        self._timeout.cancel()\n        if not",
        "        assert self._timeout is not None\n        if not",
    ),
    Bug(
        "every-connection-counts-as-one-file",
        "A server admits three times as many connections as its limit of open files allows.",
        "server/multiplexer.py",
        "(soft - _OTHER_FILES) // _FILES_OF_A_CONNECTION)",
        "(soft - _OTHER_FILES))",
    ),
    Bug(
        "a-fault-of-the-server-is-not-logged",
        "An error that is not the library's own is an answer to a client, and in no log.",
        "server/status.py",
        "    if not isinstance(error, PubSubError):\n",
        "    if isinstance(error, OSError):\n",
    ),
    Bug(
        "what-was-sent-does-not-count",
        "A server leases no more messages at a time, however many its clients take.",
        "server/dispatcher.py",
        "                self._sent += len(deliveries)\n",
        "",
    ),
    Bug(
        "each-ack-is-a-commit",
        "Acknowledgements are written as they come, and not gathered.",
        "server/dispatcher.py",
        "if self.leaser.acks and not self._stopping:",
        "if self.leaser.acks and self._stopping:",
    ),
    Bug(
        "bare-data-has-no-type",
        "A push of bare data with metadata tells no type of its body.",
        "server/push_requests.py",
        'if not any(name.lower() == "content-type" for name, _ in metadata):',
        "if not metadata:",
    ),
    Bug(
        "without-access-control-nothing-is-forwarded",
        "A server without access control forwards no dead letters.",
        "server/authorization.py",
        "return (lambda _: True) if access is None else access.may_forward",
        "return (lambda _: False) if access is None else access.may_forward",
    ),
    Bug(
        "cancelled-streams-are-not-counted",
        "A stream that its client cancels is in no count of requests.",
        "server/interceptors.py",
        """                yield response
        except asyncio.CancelledError:
            counters.requests[name, "CANCELLED"] += 1
""",
        """                yield response
        except asyncio.CancelledError:
""",
    ),
    Bug(
        "what-is-on-is-shown-as-off",
        "The page of a subscription tells that ordering is off where it is on.",
        "console/subscriptions.py",
        'return "On" if is_on else "Off"',
        'return "Off" if is_on else "On"',
    ),
    Bug(
        "what-never-expires-is-shown-to-expire",
        "The page of a subscription cannot be shown if it never expires.",
        "console/subscriptions.py",
        '("Expires", "Never" if ttl is None else f"After',
        '("Expires", "Never" if ttl is not None else f"After',
    ),
    Bug(
        "a-chart-goes-back-to-the-whole",
        "A chart of an ack state that is drawn anew shows all of its axis.",
        "console/ack_state_chart.py",
        "        return self.start is not None\n",
        "        return False\n",
    ),
    Bug(
        "a-changed-topic-is-not-printed",
        "topics update --format=json prints nothing.",
        "cli/topics.py",
        '    app.print_status(f"Updated topic [{name}].")\n'
        "    app.show_changed([topic_record(changed)])\n",
        '    app.print_status(f"Updated topic [{name}].")\n',
    ),
    Bug(
        "a-publish-time-of-a-server-is-rounded-up",
        "A publish time with nanoseconds is shown as a later one.",
        "cli/endpoint/resources.py",
        "publish_time=wire.time_of(message.publish_time, until=True),",
        "publish_time=wire.time_of(message.publish_time),",
    ),
    Bug(
        "flatten-takes-keys-of-the-first-level",
        "--flatten writes the items of a nested list beside it.",
        "cli/grammar/selection.py",
        "holder, last = value_at(one, end[:-1]), end[-1]",
        "holder, last = one, end[-1]",
    ),
    Bug(
        "a-null-among-keys-is-taken-over",
        "The data source takes over a comparison with several keys of which one is NULL.",
        "datasource/batch_reader.py",
        "return values if all(isinstance(each, str) for each in values) else None",
        "return values if any(isinstance(each, str) for each in values) else None",
    ),
    Bug(
        "an-exporter-measures-all-the-time",
        "The metrics of a store are measured again as soon as they were measured.",
        "exporter.py",
        "            self._stopped.wait(self._interval.total_seconds())\n",
        "            self._stopped.wait(0.001)\n",
    ),
    Bug(
        "a-time-in-any-column-is-a-publish-time",
        "The data source takes a comparison of another column with a time for one of publish time.",
        "datasource/batch_reader.py",
        'if path[0] == "publish_time" and isinstance(value, datetime):',
        "if isinstance(value, datetime):",
    ),
    Bug(
        "a-planned-micro-batch-goes-on-under-another-subscription",
        "A planned micro-batch is run though its subscription was created anew.",
        "datasource/consumer.py",
        "            return []\n        self._check(end)\n",
        "            return []\n",
    ),
    Bug(
        "late-acks-of-a-job-are-not-told",
        "A job does not count messages that were acknowledged after their lease.",
        "jobs/consume.py",
        '                    totals.counts["acked too late"] += '
        "len(outcome.expired) + len(outcome.invalid)\n",
        "",
    ),
    Bug(
        "files-of-other-positions-are-opened",
        "New messages are read if the file of others has a gap.",
        "tables/messages/stored.py",
        "return file.position_min <= last and file.position_max >= first",
        "return file.position_min <= last or file.position_max >= first",
    ),
    Bug(
        "its-own-commits-are-read-again",
        "A process reads each commit that it has made, to see that it is whole.",
        "tables/lanes/direct/open_tables.py",
        "            if opened.version() == handle.checked + 1:\n"
        "                handle.checked += 1  # a commit of this process, which has just "
        "written it\n",
        "",
    ),
    Bug(
        "commits-of-others-are-read-again",
        "A process reads the commits of others again at each look.",
        "tables/lanes/direct/open_tables.py",
        "            raise lost_commit(table, version)\n    handle.checked = version\n",
        "            raise lost_commit(table, version)\n",
    ),
    Bug(
        "flatten-writes-a-name-as-it-was-given",
        "--flatten=message_ids[] writes the items beside the list messageIds, which stays.",
        "cli/grammar/selection.py",
        "holder[spelled(last, holder) if isinstance(holder, dict) else last] = item",
        "holder[last] = item",
    ),
    Bug(
        "half-of-a-key-of-azure-is-set",
        "A session gets a key of Azure though the environment names no account.",
        "session.py",
        "    if account and key:\n",
        "    if account or key:\n",
    ),
    Bug(
        "the-second-try-tells-why",
        "A storage that cannot be reached is told by what the second of several tries had met.",
        "tables/lanes/direct/errors.py",
        'lines = text.split("HTTP error")[-1].splitlines()',
        'lines = text.split("HTTP error", 1)[-1].splitlines()',
    ),
    Bug(
        "a-null-keeps-repeated-keys",
        "Where one message has no attributes, keys that others repeat are not made distinct.",
        "tables/lanes/direct/scans.py",
        'if name == "data" and column.null_count:',
        'if name == "data" or column.null_count:',
    ),
    Bug(
        "the-bytes-of-a-small-backlog-are-estimated",
        "The bytes of a small backlog are estimated, and those of a large one are read.",
        "tables/messages/sizes.py",
        "if self._exact or (read_if_quick and self._is_quick):",
        "if self._exact or not (read_if_quick and self._is_quick):",
    ),
    Bug(
        "fields-behind-a-dropped-one-are-not-checked",
        "A field without a column hides those behind it that do not fit.",
        "tables/target_rows.py",
        "            if name not in self._columns.names and config.drop_unknown_fields:\n"
        "                continue\n",
        "            if name not in self._columns.names and config.drop_unknown_fields:\n"
        "                break\n",
    ),
    Bug(
        "a-topic-without-retention-retains-one",
        "A topic that retains nothing is said to retain a message.",
        "operations/metrics.py",
        "if covered is not None else (0, None)",
        "if covered is not None else (1, None)",
    ),
    Bug(
        "no-box-does-not-undo-box",
        "table[box,no-box] draws a box.",
        "cli/formats.py",
        "            self.attributes.pop(opposite, None)\n",
        "",
    ),
    Bug(
        "only-who-pushes-filters-reads-a-topic",
        "The data source reads no topic unless it may take over filters.",
        "datasource/batch_reader.py",
        "        self._columns = columns\n        self._filters = PushedFilters()\n",
        "        self._columns = columns\n"
        "        if options.pushes_filters:\n"
        "            self._filters = PushedFilters()\n",
    ),
    Bug(
        "a-client-of-http-that-was-reset-is-not-noticed",
        "A call of HTTP goes on though the connection of its client was reset.",
        "server/multiplexer.py",
        "        super().connection_lost(_)\n        self._multiplexer.closed(self._counted)\n",
        "        self._multiplexer.closed(self._counted)\n",
    ),
    Bug(
        "connections-to-an-old-endpoint-are-kept",
        "A server keeps its connections to an endpoint after the last push to it.",
        "server/pushing.py",
        "exc_info=task.exception())\n        self._close_if_done()\n",
        "exc_info=task.exception())\n",
    ),
    Bug(
        "the-last-port-is-refused",
        "The port 65535 is refused.",
        "server/security.py",
        "or int(port) > 65535 or",
        "or int(port) >= 65535 or",
    ),
    Bug(
        "a-write-of-others-passes-for-ours",
        "Messages pass for written to a table where another write has taken their number.",
        "tables/lanes/direct/targets.py",
        "(is_last and last == _identity(metadata))",
        "(is_last or last == _identity(metadata))",
    ),
    Bug(
        "the-first-message-is-passed-over",
        "The first message of a topic is not read if its file has no statistics.",
        "tables/lanes/direct/scans.py",
        "return 0 if first is None else first,",
        "return 1 if first is None else first,",
    ),
    Bug(
        "a-client-that-has-ended-is-given-more",
        "A client that has said its last request, and reads no more, is given messages.",
        "server/streams.py",
        "        self._dispatcher.leave(self._consumer)\n        self._queue.end(error)\n",
        "        self._queue.end(error)\n",
    ),
)
