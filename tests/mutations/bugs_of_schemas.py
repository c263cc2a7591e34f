"""Bugs of schemas, of their revisions, and of the messages that are held against them."""

from __future__ import annotations

from tests.mutations.bug import Bug

_REVISIONS = "policy/schemas/revisions.py"
_AVRO = "policy/schemas/avro.py"
_PROTOBUF = "policy/schemas/protobuf.py"
_FITTING = "policy/schemas/validation.py"
_OPERATIONS = "operations/schemas.py"

BUGS_OF_SCHEMAS = (
    Bug(
        "range-without-its-last",
        "The last revision of a topic's range is not accepted.",
        _REVISIONS,
        "revisions[begin : end + 1]",
        "revisions[begin : end or 1]",
    ),
    Bug(
        "deleted-bound-is-no-bound",
        "A bound that was deleted is forgotten with its revision, and bounds nothing any more.",
        _REVISIONS,
        "    return [emptied if each is gone else each for each in revisions]",
        "    return [each for each in revisions if each is not gone]",
    ),
    Bug(
        "deleted-ones-count",
        "Revisions that were deleted count among the 20 that a schema may have.",
        _REVISIONS,
        "    if len(living(revisions)) >= MOST_REVISIONS:",
        "    if len(revisions) >= MOST_REVISIONS:",
    ),
    Bug(
        "only-revision-deleted",
        "The only revision that is left can be deleted.",
        _REVISIONS,
        "    if len(living(revisions)) == 1:",
        "    if len(revisions) == 1:",
    ),
    Bug(
        "size-in-characters",
        "The size of a definition is counted in characters.",
        _REVISIONS,
        "        size = len(text.encode())",
        "        size = len(text)",
    ),
    Bug(
        "only-reads-what-was",
        "A new Avro revision need not be readable by those that know the earlier one.",
        _AVRO,
        "((one, other), (other, one))",
        "((one, other),)",
    ),
    Bug(
        "bytes-left-over",
        "Bytes after the end of an Avro message are accepted.",
        "policy/schemas/avro_binary.py",
        "        if end < len(data):",
        "        if end > len(data):",
    ),
    Bug(
        "fields-left-over",
        "Fields that the schema does not have are accepted in Avro's JSON.",
        "policy/schemas/avro_json.py",
        "            if name not in names:",
        "            if not names:",
    ),
    Bug(
        "levels-without-end",
        "Data of a type within itself is read however deep it is nested.",
        "policy/schemas/avro_binary.py",
        "            if level == MOST_LEVELS:",
        "            if level < 0:",
    ),
    Bug(
        "decimals-rounded",
        "A decimal of too many digits is rounded.",
        "policy/schemas/types.py",
        "signed=True)) >= 10**precision:",
        "signed=True)) > 100**precision:",
    ),
    Bug(
        "unknown-fields",
        "Field numbers that the schema does not have are accepted.",
        _PROTOBUF,
        "            if message.ByteSize() != size:",
        "            if message.ByteSize() > size:",
    ),
    Bug(
        "fields-change-their-names",
        "A field of Protocol Buffers may get another name.",
        _PROTOBUF,
        '    return f"{field.name} = {field.number} of type {label}{kind}"',
        '    return f"{field.number} of type {label}{kind}"',
    ),
    Bug(
        "repeated-fields-come",
        "Repeated fields may come and go.",
        _PROTOBUF,
        "            if lone.is_repeated or lone.is_required:",
        "            if lone.is_required:",
    ),
    Bug(
        "oldest-revision-first",
        "A message is told the oldest revision that it fits.",
        _FITTING,
        "        for revision in self.revisions:",
        "        for revision in reversed(self.revisions):",
    ),
    Bug(
        "read-by-the-newest",
        "A message is read by the newest revision and not by its own.",
        _FITTING,
        "codec_of(self.type, own), codec_of(self.type, self.newest)",
        "codec_of(self.type, self.newest), codec_of(self.type, self.newest)",
    ),
    Bug(
        "held-against-the-newest-alone",
        "A revision is held against the newest one only.",
        _OPERATIONS,
        "        for each in reversed(living(stored.revisions)):",
        "        for each in living(stored.revisions)[-1:]:",
    ),
    Bug(
        "checked-before-the-race",
        "A revision that came in between is not looked at.",
        _OPERATIONS,
        "        for each in reversed(living(stored.revisions)):",
        "        for each in reversed(living(schema.revisions)):",
    ),
    Bug(
        "schema-by-name",
        "A topic takes a schema that was created anew for its own.",
        "tables/registry/registry.py",
        '        return topic_of(row), self.schemas.of_uid(row["schema_uid"])',
        '        return topic_of(row), self.schemas.find(row["schema"])',
    ),
    Bug(
        "deleted-schema-untold",
        "A topic does not tell that its schema was deleted.",
        "tables/registry/schemas.py",
        "replace(settings, schema=DELETED_SCHEMA)",
        "replace(settings)",
    ),
    Bug(
        "misfit-fails-others",
        "A request that does not fit the schema fails those that share its commit.",
        "server/publishing.py",
        "                    if len(batch) == 1:\n",
        "                    if batch:\n",
    ),
    Bug(
        "repeated-and-refused",
        "A publish that has landed cannot be repeated once the schema has changed.",
        "operations/publish.py",
        "    return messages.history.published_as(publish_id) is not None\n",
        "    return False\n",
    ),
    Bug(
        "repeated-and-forgotten",
        "A publish that has landed cannot be repeated once the log and the schema have changed.",
        "operations/publish.py",
        "        return last == version\n",
        "        return False\n",
    ),
    Bug(
        "run-again-and-refused",
        "A micro-batch of the data source that has landed is refused once the schema has changed.",
        "datasource/writing.py",
        "        if has_landed(tables.messages(reserved.topic_uid), transaction):\n",
        "        if not reserved.topic_uid:\n",
    ),
    Bug(
        "written-again-and-refused",
        "A DataFrame that the data source has written is refused again once the schema is gone.",
        "datasource/writing.py",
        "    again = topic.schema_settings is not None and has_landed(messages, transaction)\n",
        "    again = False\n",
    ),
    Bug(
        "stored-bound-must-live",
        "A topic's range cannot be changed once the revision of its other bound is deleted.",
        "delivery/schemas.py",
        "    check_range(schema.revisions, named, stored if same else None)",
        "    check_range(schema.revisions, named, None)",
    ),
    Bug(
        "a-date-must-be-one-of-pythons",
        "A message in Avro's binary encoding is refused for a date that JSON may have.",
        _AVRO,
        "read = self._read(data, self._plain)",
        "read = self._read(data, self.schema)",
    ),
    Bug(
        "types-of-fields-by-their-place",
        "A field of a message may change to another message of the same name.",
        "policy/schemas/protobuf.py",
        "            yield one.message_type, other.message_type",
        "            yield from zip(new.nested_types, old.nested_types)",
    ),
    Bug(
        "definitions-that-only-compile",
        "A schema whose messages cannot be read is created, and each publish fails.",
        "policy/schemas/protobuf.py",
        "        ProtobufCodec(compiled)  # it",
        "        ProtobufCodec  # it",
    ),
    Bug(
        "columns-of-many-levels",
        "Messages that are nested too deeply for columns fail with a RecursionError.",
        "policy/schemas/protobuf.py",
        "        except RecursionError:\n            raise FailedPrecondition(",
        "        except KeyError:\n            raise FailedPrecondition(",
    ),
)
