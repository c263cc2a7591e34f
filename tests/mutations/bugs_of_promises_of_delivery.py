"""Seeded bugs of what a reader of the promises of delivery found, sentence by sentence."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_PROMISES_OF_DELIVERY = (
    Bug(
        "numbers-of-python-in-protocol-buffers",
        "Protocol Buffers in JSON may write an integer as Python does: 1_000.",
        "policy/schemas/protobuf_json.py",
        "    **dict.fromkeys(_INTEGERS, _integer),\n",
        "",
    ),
    Bug(
        "no-base64-as-fewer-bytes",
        "Text that is no base64 is taken for fewer bytes in Protocol Buffers.",
        "policy/schemas/protobuf_json.py",
        "isinstance(given, str) and is_base64(given)",
        "isinstance(given, str)",
    ),
    Bug(
        "floats-beyond-their-range-in-texts",
        "A text beyond the range of a float is infinity in Protocol Buffers.",
        "policy/schemas/protobuf_json.py",
        "    return float(given)\n",
        "    return given\n",
    ),
    Bug(
        "messages-within-messages-unchecked",
        "Only the outermost message of Protocol Buffers in JSON is looked at.",
        "policy/schemas/protobuf_json.py",
        "        return checked(given, field.message_type)\n",
        "        return given\n",
    ),
    Bug(
        "names-in-camel-case-unchecked",
        "A field that JSON names in camel case is not looked at.",
        "policy/schemas/protobuf_json.py",
        "{**of.fields_by_name, **{each.json_name: each for each in of.fields}}",
        "{**of.fields_by_name}",
    ),
    Bug(
        "numbers-of-python-in-tables",
        "A member of JSON is a number for a table as Python writes it: 1_000.",
        "tables/json_values.py",
        "    if isinstance(value, str) and not (is_number(value) or _NO_NUMBER.fullmatch(value)):\n"
        "        raise ValueError(value)\n",
        "",
    ),
    Bug(
        "dates-of-python-in-tables",
        "A DATE of a table may be written as a week: 2026-W10-3.",
        "tables/json_values.py",
        "    if not _DATE.fullmatch(text):\n        raise ValueError(text)\n",
        "",
    ),
    Bug(
        "zones-dropped-in-tables",
        "A column without a zone takes a time of a zone as another time of day.",
        "tables/json_values.py",
        "else _without_zone(text, name)",
        "else datetime.fromisoformat(text)",
    ),
    Bug(
        "policy-of-a-deleted-namesake",
        "A topic has the cached policy of an earlier one of its name, which was deleted elsewhere.",
        "server/authorization.py",
        '*(f"{PUBLISHER}/{verb}Topic" for verb in ("Create", "Delete")),',
        'f"{PUBLISHER}/DeleteTopic",',
    ),
    Bug(
        "policy-of-an-expired-namesake",
        "A snapshot has the cached policy of an expired one of its name.",
        "server/authorization.py",
        '*(f"{SUBSCRIBER}/{verb}Snapshot" for verb in ("Create", "Delete")),',
        'f"{SUBSCRIBER}/DeleteSnapshot",',
    ),
    Bug(
        "topic-of-a-foreign-snapshot-named",
        "Who may seek to a snapshot is told of which topic it is, though that may not be seen.",
        "operations/seek.py",
        'f"snapshot {name} is of another topic than subscription {source.subscription.name}; "',
        'f"snapshot {name} is of another topic than subscription {source.subscription.name}, "\n'
        '            f"{snapshot.topic}; "',
    ),
    Bug(
        "digits-of-any-script",
        "A text is a number with digits of any script, which JSON's other readers do not take.",
        "policy/json_texts.py",
        r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?",
        r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?",
    ),
    Bug(
        "base64-of-one-alphabet",
        "Bytes in JSON may not be in the base64 of URLs.",
        "policy/json_texts.py",
        "(?:[A-Za-z0-9+/_-]{4})*(?:[A-Za-z0-9+/_-]{2,3}={0,2})?",
        "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2,3}={0,2})?",
    ),
    Bug(
        "retention-beside-an-expiration",
        "Retention deletes the messages of a subscription that is used while it expires.",
        "tables/registry/registry.py",
        "[_source_of(row) for row in rows if",
        "[_source_of(row) for row in self._in_use() if",
    ),
    Bug(
        "hidden-whoever-is-in-use",
        "maintain writes to the registry for each subscription, idle or not.",
        "delivery/expiration.py",
        "expirations.begin(subscription.uid, now, idle)",
        "expirations.begin(subscription.uid, now, lambda _: True)",
    ),
    Bug(
        "dead-letter-topic-unprotected-when-put-back",
        "A dead-letter topic can be deleted while a subscription expires that names it.",
        "tables/registry/registry.py",
        'for row in rows if row["dead_letter_topic"] == topic.name]',
        'for row in self._in_use() if row["dead_letter_topic"] == topic.name]',
    ),
    Bug(
        "fractions-in-any-script",
        "The fraction of a second may be written in digits of any script.",
        "clock.py",
        "    re.ASCII,\n",
        "",
    ),
    Bug(
        "zones-of-sixty-minutes",
        "A time may be 60 minutes beyond an hour away from UTC.",
        "clock.py",
        r"[+-]\d\d:[0-5]\d)",
        r"[+-]\d\d:\d\d)",
    ),
    Bug(
        "numbers-of-python-in-forms",
        "A form takes a number as Python writes it: 1_0 seconds.",
        "console/subscription_form.py",
        'float(text) if is_number(text) else float("nan")',
        'float(text) if is_number(text.replace("_", "")) else float("nan")',
    ),
    Bug(
        "members-twice-in-tables",
        "Of a member that a message has twice, its table gets the last value.",
        "tables/target_rows.py",
        "                object_pairs_hook=unique_members,\n",
        "",
    ),
)
