"""Seeded bugs of ``tables/target_rows.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug
from tests.mutations.groups import TABLE_WRITES

NEAREST = (
    "tests/lanes/test_table_refused.py",
    "tests/unit/test_target_rows.py",
    "tests/unit/test_arrow_types.py",
    "tests/unit/test_target_row_members.py",
    *TABLE_WRITES,
    "tests/lanes/test_table_partitions.py",
)

BUGS = (
    Bug(
        "keys-of-maps-are-not-compared",
        "A column that is a map of numbers takes messages whose schema has a map of texts.",
        " and same(one.key_type, other.key_type)",
        "",
    ),
    Bug(
        "unknown-members-are-dropped",
        "Members of JSON without a column are left out, whatever was asked for.",
        "elif not self._config.drop_unknown_fields:",
        "elif not self._config.use_table_schema:",
    ),
    Bug(
        "digits-of-a-decimal",
        "A number with many digits loses the last ones on its way to a column of decimals.",
        "                parse_float=Decimal,\n",
        "",
    ),
    Bug(
        "long-number-fits-no-table",
        "A message with a number of more than 4,300 digits is not written to a table.",
        "                parse_int=_whole_number,\n",
        "",
    ),
    Bug(
        "null-within-a-map",
        "A null within a map whose values are NOT NULL fails the write of all other rows.",
        "return any(_lacks_a_value(type_.item_field, each) for _, each in pairs)",
        "return any(_lacks_a_value(type_.item_field, each) for each, _ in pairs)",
    ),
    Bug(
        "member-named-as-metadata",
        "A member of JSON data that is named as metadata is dropped, and not refused.",
        "if name in self._columns.names and not (self._by_metadata and name in _METADATA):",
        "if name in self._columns.names:",
    ),
    Bug(
        "record-alike-in-one-field",
        "A record is taken to fit a column if one of its fields does.",
        "return fits and all(same(each.type",
        "return fits and any(same(each.type",
    ),
    Bug(
        "data-may-not-be-not-null",
        "A table whose column data is NOT NULL is refused.",
        'given |= set() if config.use_topic_schema else {"data"}',
        'given |= {"data"} if config.use_topic_schema else set()',
    ),
    Bug(
        "fields-behind-a-dropped-one-are-not-checked",
        "A field without a column hides those behind it that do not fit.",
        "            if name not in self._columns.names and config.drop_unknown_fields:\n"
        "                continue\n",
        "            if name not in self._columns.names and config.drop_unknown_fields:\n"
        "                break\n",
    ),
    Bug(
        "ordering-key-replaces-nothing",
        "The ordering key of a message is written to tables though it is empty.",
        "        if message.ordering_key:\n            attributes[ORDERING_KEY]",
        "        if message.ordering_key is not None:\n            attributes[ORDERING_KEY]",
    ),
    Bug(
        "widened-float-is-refused",
        "A float field does not fit a column of doubles.",
        "    pa.float32(): (pa.float64(),),\n",
        "",
    ),
    Bug(
        "unfit-rows-are-tried-again",
        "A batch with a message that fits no column, and an unfit value, fails as a whole.",
        "            if place in unfit:\n                continue\n",
        "",
    ),
    Bug(
        "fields-of-records-are-all-columns",
        "A record of a table must have all fields of the topic's, where some are to be dropped.",
        "fits = {*mine} <= {*theirs} if drops_unknown else mine == theirs",
        "fits = mine == theirs",
    ),
    Bug(
        "members-twice-in-tables",
        "Of a member that a message has twice, its table gets the last value.",
        "                object_pairs_hook=unique_members,\n",
        "",
    ),
    Bug(
        "field-takes-the-column-of-metadata",
        "Message ids are overwritten by a field of that name.",
        "                if name in self._fields:\n                    wrong",
        "                if name in self._fields and not config.use_topic_schema:\n"
        "                    wrong",
    ),
)
