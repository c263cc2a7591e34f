"""Bugs at lines that were drawn at random once more, and one of what reading them has mended."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_A_TWELFTH_OUTSIDER = (
    Bug(
        "java-home-without-java",
        "The doctor finds no Java where JAVA_HOME is a directory that is gone.",
        "cli/checks.py",
        'if home and Path(home, "bin/java").exists():',
        "if home:",
    ),
    Bug(
        "not-matching-what-is-nested",
        "A filter that excludes a pattern finds what has no text at all.",
        "cli/grammar/matching.py",
        "            return False\n        found = pattern",
        '            return operator == "!~"\n        found = pattern',
    ),
    Bug(
        "a-list-is-a-record",
        "A list within a JSON array is taken for a record.",
        "cli/records.py",
        'isinstance(found, dict) else "it is',
        'isinstance(found, (dict, list)) else "it is',
    ),
    Bug(
        "a-snapshots-error-stays",
        "After one error of a snapshot, other errors of a seek stand at the snapshot's field.",
        "console/replay.py",
        "fields = dict(_ERROR_FIELDS)",
        "fields = _ERROR_FIELDS",
    ),
    Bug(
        "reserved-keys-among-others",
        "The check by column accepts a reserved key of a message with other attributes.",
        "datasource/validation.py",
        "ignore_case=True)).as_py():\n        return False",
        "ignore_case=True)).as_py():\n        return len(values) > 1",
    ),
    Bug(
        "states-without-messages",
        "The survey of a subscription tells states that no message has.",
        "delivery/surveys.py",
        "return [each for each in found if each.message_count]",
        "return found",
    ),
    Bug(
        "last-lease-ends-too-soon",
        "The last lease of a message ends up to a second before its client's deadline.",
        "policy/outstanding.py",
        "by_end.setdefault(delivery.deadline, [])",
        "by_end.setdefault(delivery.deadline and delivery.deadline.replace(microsecond=0), [])",
    ),
    Bug(
        "permissions-of-another-field",
        "The error of a permission check names a field that the request has not.",
        "server/iam_service.py",
        'resource_name(request.resource, "resource")\n        has =',
        'resource_name(request.resource, "name")\n        has =',
    ),
    Bug(
        "one-lease-of-a-response-is-traced",
        "Of the traced messages of a response only the first has a span.",
        "server/otel.py",
        "        for delivery in deliveries:\n            received",
        "        for delivery in list(deliveries)[:1]:\n            received",
    ),
    Bug(
        "environment-before-what-is-given",
        "A session has the storage settings of the environment, whatever its caller gives.",
        "session.py",
        "{**storage_settings(environment), **ours, **given}",
        "{**ours, **given, **storage_settings(environment)}",
    ),
    Bug(
        "push-config-without-an-endpoint",
        "A push config with a token and no endpoint makes a pull subscription without a word.",
        "server/wire.py",
        '    if "push_config" in names:\n        check_push',
        "    if False:\n        check_push",
    ),
    Bug(
        "table-config-without-a-table",
        "A table config without a table makes a pull subscription without a word.",
        "server/wire.py",
        "and said is not None and not config.table:",
        "and said is None and not config.table:",
    ),
    Bug(
        "endpoint-is-modified-away",
        "A push config without its endpoint, given to ModifyPushConfig, ends the pushes.",
        "server/subscriber_service.py",
        "        wire.check_push_endpoint(request.push_config)\n",
        "",
    ),
    Bug(
        "address-with-too-many-colons",
        "A server takes ::1:8085 for an address, and prints one that nobody can read.",
        "server/security.py",
        "|[^:\\[\\]/]*",
        "|[^\\[\\]/]*",
    ),
    Bug(
        "group-commit-of-a-day",
        "Requests wait for others to share their commit as long as anybody says.",
        "cli/serve.py",
        '"group-commit", timedelta(0), _LONGEST_GATHER)',
        '"group-commit", timedelta(0), timedelta(days=9))',
    ),
    Bug(
        "resumed-key-of-any-type",
        "To resume a list of ordering keys is a TypeError.",
        "publisher.py",
        "        if not isinstance(ordering_key, str):\n",
        "        if ordering_key is None:\n",
    ),
    Bug(
        "callbacks-of-a-table-subscription",
        "A StreamingPull of a table subscription begins, and ends with its first look.",
        "methods/streams.py",
        "    if found.table_config is not None:\n        raise cannot_pull(found)\n",
        "",
    ),
    Bug(
        "first-column-alone-is-forgotten",
        "Links of a list that shows its first column alone show the usual columns.",
        "console/lists.py",
        "        names = [each.name for each in self.columns]\n",
        "        names = [each.name for each in self.columns[1:]]\n",
    ),
)
