"""Bugs at lines that were drawn by chance, which no test near them had noticed."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_A_FOURTEENTH_OUTSIDER = (
    Bug(
        "version-of-who-made-java",
        "The doctor tells the version of a vendor's package as that of Java.",
        "cli/checks.py",
        'line.startswith("JAVA_VERSION=")',
        '"VERSION=" in line',
    ),
    Bug(
        "labels-in-any-order",
        "Labels and attributes are printed as they were given, or by chance, with a server.",
        "cli/rest.py",
        "return dict(sorted(pairs.items()))",
        "return dict(pairs)",
    ),
    Bug(
        "late-answers-counted-as-done",
        "A page counts the messages whose lease was over among those that it acknowledged.",
        "console/pulling.py",
        """parts = [f"{counts['success']:,} {""",
        """parts = [f"{sum(counts.values()):,} {""",
    ),
    Bug(
        "estimates-of-every-metric",
        "Every metric is said to have an estimate beside it, by OTLP.",
        "exporter.py",
        "for m in METRICS if m.may_be_estimate]",
        "for m in METRICS]",
    ),
    Bug(
        "records-by-the-second",
        "The time of a record in JSON has no fraction of a second.",
        "server/logs.py",
        "from_micros(int(record.created * 1_000_000))",
        "from_micros(int(record.created) * 1_000_000)",
    ),
    Bug(
        "one-connection-on-windows",
        "Where files have no limit, or one that is high enough as it is, one connection is taken.",
        "server/multiplexer.py",
        "limit\n        return most\n",
        "limit\n        return 1\n",
    ),
    Bug(
        "keys-of-labels-in-lower-case",
        "A mask that names a label changes the one whose key is the same in lower case.",
        "server/update_masks.py",
        "keys = {path: _key_of(path) for",
        "keys = {path: _key_of(path.lower()) for",
    ),
    Bug(
        "backoff-of-zero-is-the-default",
        "A backoff of zero seconds is taken for one that the request leaves out.",
        "server/wire.py",
        "if policy.HasField(name)\n    }\n    return RetryPolicy",
        "if seconds_of(getattr(policy, name))\n    }\n    return RetryPolicy",
    ),
    Bug(
        "table-that-cannot-be-opened-is-to-be-created",
        "Of a table that this process cannot open it is told that it is not there, or a raw error.",
        "tables/lanes/direct/targets.py",
        "        if not reaches(path):\n",
        "        if False:\n",
    ),
    Bug(
        "refused-though-it-is-gone",
        "The deletion of a topic that somebody else has deleted is refused, not told as NotFound.",
        "tables/registry/registry.py",
        "            if not is_living(row):\n                return False\n            check()\n"
        "            return True\n\n        return self._topics.change(uid",
        "            check()\n            return is_living(row)\n\n"
        "        return self._topics.change(uid",
    ),
    Bug(
        "subscription-by-name-without-its-topic",
        "A subscription that is looked up does not show the retention of its topic.",
        "tables/registry/registry.py",
        "return next(iter(self._with_topics(named)), None)",
        "return next(map(subscription_of, named), None)",
    ),
    Bug(
        "missing-among-the-acknowledged",
        "An ack of a whole batch acknowledges the messages whose loss its reader was told of.",
        "delivery/leases.py",
        "            check(lost)\n            self.set_aside.positions |= lost\n",
        "            check(lost)\n",
    ),
    Bug(
        "no-backoff-is-no-policy",
        "A retry policy without any backoff is read back as none.",
        "tables/registry/rows.py",
        '    if row["minimum_backoff_micros"] is not None:',
        '    if row["minimum_backoff_micros"]:',
    ),
    Bug(
        "option-of-zero-seconds-is-left-out",
        "A retry delay of zero that an option asks for is the default.",
        "cli/subscriptions.py",
        "for name, value in backoff.items() if value is not None}",
        "for name, value in backoff.items() if value}",
    ),
    Bug(
        "updated-without-the-state-of-its-table",
        "An update returns the subscription without the state of its table.",
        "operations/administer.py",
        "    return table_writes.with_state(tables, changed)\n",
        "    return changed\n",
    ),
    Bug(
        "update-of-nothing-without-the-state-of-its-table",
        "An update of no fields returns the subscription without the state of its table.",
        "operations/administer.py",
        "    if not changes:\n        return table_writes.with_state(tables, before)",
        "    if not changes:\n        return before",
    ),
    Bug(
        "created-without-the-retention-of-its-topic",
        "A creation returns the subscription without the retention of its topic.",
        "operations/administer.py",
        "replace(subscription, topic_message_retention_duration=topic.message_retention_duration),",
        "subscription,",
    ),
    Bug(
        "severities-by-twos",
        "A record of a warning says that it is information.",
        "server/logs.py",
        '"severity": record.levelname,',
        '"severity": logging.getLevelName(record.levelno // 20 * 20),',
    ),
    Bug(
        "records-of-one-logger",
        "Every record has the name of the library's logger.",
        "server/logs.py",
        '"logger": record.name,',
        '"logger": "pubsub_delta",',
    ),
    Bug(
        "late-acks-fail-a-command",
        "A command fails whose acks came late, though they have counted.",
        "cli/delivery.py",
        'fail_on_ack_ids(app, "ack", result.invalid)',
        'fail_on_ack_ids(app, "ack", [*result.expired, *result.invalid])',
    ),
    Bug(
        "empty-labels-are-removed",
        "A mask that names a label takes an empty value for none.",
        "server/update_masks.py",
        "        if key in given:\n            labels[key] = given[key]",
        "        if given.get(key):\n            labels[key] = given[key]",
    ),
    Bug(
        "ttl-of-zero-is-for-ever",
        "A ttl of zero is not refused: the subscription never expires.",
        "server/wire.py",
        'ExpirationPolicy(seconds_of(policy.ttl) if policy.HasField("ttl") else None)',
        "ExpirationPolicy(seconds_of(policy.ttl) or None)",
    ),
)
