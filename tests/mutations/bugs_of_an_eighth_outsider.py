"""Seeded bugs of an eighth outsider, chosen without a look at tests or list."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_AN_EIGHTH_OUTSIDER = (
    Bug(
        "unknown-names-beside-needed-ones",
        "A binding of the policy file with an unknown name is accepted.",
        "policy/access_files.py",
        "if missing or (accepted and unknown):",
        "if missing or (optional and unknown):",
    ),
    Bug(
        "mask-of-a-like-name",
        "A mask of push_config as a whole needs the permission to send its present token, too.",
        "policy/permissions.py",
        'path.startswith(f"{needed.within_mask}.")',
        "path.startswith(needed.within_mask)",
    ),
    Bug(
        "sure-data-beside-a-key",
        "Data that fits without its ordering key is not measured with it.",
        "policy/messages.py",
        "    MAX_MESSAGE_BYTES\n    - MAX_ORDERING_KEY_BYTES\n    - _SURE",
        "    MAX_MESSAGE_BYTES\n    - _SURE",
    ),
    Bug(
        "as-many-members-as-allowed",
        "A policy with exactly 1,500 members is refused.",
        "policy/iam.py",
        "    if members > MOST_MEMBERS:",
        "    if members >= MOST_MEMBERS:",
    ),
    Bug(
        "at-sign-in-a-path",
        "A push endpoint with @ in its path is refused.",
        "policy/push_configs.py",
        'if "@" in parts.netloc:',
        'if "@" in url:',
    ),
    Bug(
        "audience-with-line-breaks",
        "An audience with control characters is accepted.",
        "policy/push_configs.py",
        "    if not audience.isprintable():",
        "    if not audience.strip() == audience:",
    ),
    Bug(
        "request-sent-at-the-halving",
        "The failure of a push that was sent at the moment of a halving halves the window again.",
        "policy/push_window.py",
        "sent <= self.halved_at <= now:",
        "sent < self.halved_at <= now:",
    ),
    Bug(
        "json-of-messages-in-camel-case",
        "A recursive message is written with names in camelCase.",
        "policy/schemas/protobuf.py",
        "json_format.MessageToJson(value, indent=None, preserving_proto_field_name=True)",
        "json_format.MessageToJson(value, indent=None)",
    ),
    Bug(
        "renamed-enum-values-are-compatible",
        "A value of an enum with another name is compatible.",
        "policy/schemas/protobuf.py",
        "            _check_enums(one.enum_type, other.enum_type)",
        "            pass",
    ),
    Bug(
        "least-number-of-avro",
        "The least int and long of Avro are refused in JSON.",
        "policy/schemas/avro_json.py",
        "-_RANGES[kind] <= value <",
        "-_RANGES[kind] < value <",
    ),
    Bug(
        "range-of-one-revision",
        "Schema settings whose first and last revision are the same are refused.",
        "policy/schemas/revisions.py",
        "ids.index(first) > ids.index(last):",
        "ids.index(first) >= ids.index(last):",
    ),
    Bug(
        "lease-as-old-as-the-longest",
        "A lease exactly as old as the longest lease duration is extended once more.",
        "callbacks.py",
        "if now - each.leased >= duration]",
        "if now - each.leased > duration]",
    ),
    Bug(
        "year-9999-of-a-clock",
        "A clock that tells the first moment of 9999 is accepted.",
        "clock.py",
        "if not _CLOCK_FROM <= time < _CLOCK_UNTIL:",
        "if not _CLOCK_FROM <= time <= _CLOCK_UNTIL:",
    ),
    Bug(
        "detaching-is-no-update",
        "Detaching a subscription leaves its update_time.",
        "operations/administer.py",
        '{"detached": True, "update_time": now}',
        '{"detached": True}',
    ),
    Bug(
        "found-attempt-is-always-told",
        "A search shows delivery attempts without a dead-letter policy.",
        "operations/find.py",
        "span.delivery_attempt if self._is_counted else None",
        "span.delivery_attempt",
    ),
    Bug(
        "search-after-a-cleaned-log",
        "A search after a version that the log has forgotten finds less, without an error.",
        "operations/find.py",
        "        if not new.is_complete:\n"
        "            raise InvalidArgument(\n"
        '                f"after_version: {version}; the',
        "        if new.is_complete is None:\n"
        "            raise InvalidArgument(\n"
        '                f"after_version: {version}; the',
    ),
    Bug(
        "age-of-retained-is-that-of-the-backlog",
        "oldest_retained_acked_message_age is the age of the oldest unacknowledged message.",
        "operations/metrics.py",
        '"oldest_retained_acked_message_age": _oldest(measurement, messages, retained)',
        '"oldest_retained_acked_message_age": _oldest(measurement, messages, unacked)',
    ),
    Bug(
        "rollback-has-the-old-time",
        "A revision by rollback has the create time of the revision that it repeats.",
        "operations/schemas.py",
        "_with(stored, replace(wanted, create_time=now), tables)",
        "_with(stored, wanted, tables)",
    ),
    Bug(
        "reasons-of-a-table-that-is-away",
        "A dead letter tells that its table is gone as the reason why it did not fit.",
        "delivery/table_writes.py",
        "        if why.state is not TableState.SCHEMA_MISMATCH:\n            return {}\n",
        "",
    ),
    Bug(
        "problem-of-a-decision-is-lost",
        "A pull does not warn that exhausted messages have no topic, if others were forwarded.",
        "delivery/consuming.py",
        "dead_letters.forward(tables, source, now).problem or problem",
        "dead_letters.forward(tables, source, now).problem",
    ),
    Bug(
        "layout-is-checked-once",
        "After a table of another layout was refused, a row is added to it.",
        "tables/registry/resource_table.py",
        "            self._last = (None, [])  # so that an insert checks again\n",
        "",
    ),
    Bug(
        "expires-now-stays",
        "maintain leaves a snapshot that expires at this moment.",
        "tables/registry/predicates.py",
        "def may_be_removed(row: Row, now: datetime) -> bool:\n"
        '    """Return whether a snapshot has expired, or its creation has taken too long."""\n'
        '    if row["announced"] is None:\n'
        '        return bool(row["expire_time"] <= now)',
        "def may_be_removed(row: Row, now: datetime) -> bool:\n"
        '    """Return whether a snapshot has expired, or its creation has taken too long."""\n'
        '    if row["announced"] is None:\n'
        '        return bool(row["expire_time"] < now)',
    ),
    Bug(
        "columns-with-defaults-are-written",
        "A target table whose columns have defaults is accepted.",
        "tables/lanes/direct/targets.py",
        'delta\\.|CURRENT_DEFAULT"',
        'delta\\."',
    ),
    Bug(
        "longer-file-is-there",
        "A file that is longer than its task wrote is taken for the same.",
        "tables/lanes/direct/files.py",
        "        if found != file.size:",
        "        if found < file.size:",
    ),
    Bug(
        "empty-settings-of-a-storage",
        "A setting of the storage with an empty value overrides the environment.",
        "tables/lanes/direct/credentials.py",
        "for key, value in hadoop.items() if value}",
        "for key, value in hadoop.items()}",
    ),
    Bug(
        "missing-bucket-is-no-refusal",
        "A bucket that does not exist is not told as a refusal of the storage.",
        "tables/lanes/direct/errors.py",
        "((?:400|401|403|404) ",
        "((?:400|401|403) ",
    ),
    Bug(
        "unreadable-directory-is-no-table",
        "A table whose directory this process may not read counts as missing.",
        "tables/lanes/direct/errors.py",
        'if "Permission denied" not in text and "os error 13" not in text:\n            return',
        'if "Permission denied" not in text or "os error 13" not in text:\n            return',
    ),
    Bug(
        "topic-of-a-catalog-has-little-patience",
        "A writer waits five minutes only for the lock of a topic in a catalog.",
        "tables/lanes/locks.py",
        'name.startswith("messages")',
        'name.startswith("messages-")',
    ),
    Bug(
        "beginning-of-a-long-lock-name",
        "Tables whose long paths begin alike share a lock.",
        "tables/lanes/locks.py",
        ")[-200:]",
        ")[:200]",
    ),
    Bug(
        "s3n-is-not-s3",
        "A root with s3n:// has no check of its writers.",
        "tables/lanes/s3_writers.py",
        'SCHEMES = ("s3:", "s3a:", "s3n:")',
        'SCHEMES = ("s3:", "s3a:")',
    ),
    Bug(
        "commit-of-another-block-is-ours",
        "A Conflict of an idempotent publish that another process has landed counts as this one's.",
        "tables/messages/messages.py",
        "return commit is not None and commit.first_position == first",
        "return commit is not None",
    ),
    Bug(
        "ordering-key-replaces-nothing",
        "The ordering key of a message is written to tables though it is empty.",
        "tables/target_rows.py",
        "        if message.ordering_key:\n            attributes[ORDERING_KEY]",
        "        if message.ordering_key is not None:\n            attributes[ORDERING_KEY]",
    ),
    Bug(
        "widened-float-is-refused",
        "A float field does not fit a column of doubles.",
        "tables/target_rows.py",
        "    pa.float32(): (pa.float64(),),\n",
        "",
    ),
    Bug(
        "unfit-rows-are-tried-again",
        "A batch with a message that fits no column, and an unfit value, fails as a whole.",
        "tables/target_rows.py",
        "            if place in unfit:\n                continue\n",
        "",
    ),
    Bug(
        "dates-of-times-without-zone",
        "A time without a zone is refused for a column without one.",
        "tables/json_values.py",
        "read_time(text, name) if type_.tz else _without_zone(text, name)",
        "read_time(text, name)",
    ),
    Bug(
        "record-with-fields-of-another",
        "A JSON object with an unknown member in a struct ends the write.",
        "tables/json_values.py",
        "if unknown and not drops_unknown:",
        "if len(unknown) > 1 and not drops_unknown:",
    ),
)
