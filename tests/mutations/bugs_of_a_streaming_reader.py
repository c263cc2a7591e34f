"""Bugs of what a reader of the pages on streams, callbacks, tables and views has found."""

from __future__ import annotations

from tests.mutations.bug import Bug

_TYPED_SQL = "tables/lanes/spark/typed_sql.py"
_TOLD = (
    "tests/delta/test_typed_views.py::"
    "test_a_value_that_sql_does_not_read_is_told_and_leaves_the_other_messages"
)

BUGS_OF_A_STREAMING_READER = (
    Bug(
        "unrun-result-is-none",
        "A function that returns a coroutine has processed its messages, for a query.",
        "policy/arguments.py",
        "        if isinstance(found, _UNFINISHED):\n",
        "        if False:\n",
    ),
    Bug(
        "callback-as-it-is-given",
        "What a callback returns is not looked at: a message stays outstanding without a word.",
        "subscriber.py",
        '        callback = check_function(callback, "callback", "a message")\n',
        '        check_function(callback, "callback", "a message")\n',
    ),
    Bug(
        "flow-control-of-another-kind",
        "A publisher takes the flow control of a subscriber, and each of its publishes fails.",
        "publisher.py",
        '        check_settings(flow_control, PublishFlowControl, "flow_control")\n',
        "",
    ),
    Bug(
        "flow-control-of-google",
        "A subscriber takes the flow control of Google's client, and ends in an error of Python.",
        "subscriber.py",
        '        check_settings(flow_control, FlowControl, "flow_control")\n',
        "",
    ),
    Bug(
        "null-in-the-path-of-a-table",
        "The path of a table may have a NUL, which ends in an error of Python.",
        "policy/table_configs.py",
        ' or "\\0" in table:',
        ":",
    ),
    Bug(
        "value-that-does-not-fit-is-null",
        "A time that is too late is null in a view of a topic with a schema, without a word.",
        _TYPED_SQL,
        'lambda v: f"CASE WHEN NOT {fits(v)} THEN {literal(why)} END",',
        "lambda _: None,",
        needs_spark=(_TOLD,),
    ),
    Bug(
        "unread-json-is-null",
        "A view shows a message that SQL's reader of JSON does not read without a word, as nulls.",
        _TYPED_SQL,
        "IS NOT NULL THEN 'SQL reads no such JSON'",
        "IS NOT NULL THEN NULL",
        needs_spark=(_TOLD,),
    ),
    Bug(
        "errors-within-arrays-are-forgotten",
        "A value of an array that has no date is null in a view, and nobody is told.",
        _TYPED_SQL,
        "lambda v: _first_error(v, variable, inner),",
        "lambda _: None,",
        needs_spark=(_TOLD,),
    ),
    Bug(
        "backlog-as-of-then-is-that-of-now",
        "A read of a backlog as of a version or a time shows the one of now.",
        "datasource/options.py",
        '            if name in _OF_A_TOPIC and self.get("backlog") is not None:\n',
        "            if False:\n",
    ),
    Bug(
        "column-twice-in-a-schema",
        "A schema with a column twice ends in an error of the JVM.",
        "datasource/source.py",
        "if schema.names.count(field.name) > 1:",
        "if False:",
    ),
    Bug(
        "column-not-null-in-a-schema",
        "A schema with NOT NULL ends in an error of Spark's Python worker.",
        "datasource/source.py",
        "if accepted[field.name].nullable and not field.nullable:",
        "if False:",
    ),
    Bug(
        "members-of-records-do-not-fit",
        "A member of a record without a field is refused, where such members are to be dropped.",
        "tables/json_values.py",
        "if unknown and not drops_unknown:",
        "if unknown:",
    ),
    Bug(
        "fields-of-records-are-all-columns",
        "A record of a table must have all fields of the topic's, where some are to be dropped.",
        "tables/target_rows.py",
        "fits = {*mine} <= {*theirs} if drops_unknown else mine == theirs",
        "fits = mine == theirs",
    ),
    Bug(
        "exit-hangs-its-query",
        "A query whose function calls sys.exit waits for ever.",
        "streaming.py",
        "            if isinstance(error, Exception):\n                raise\n",
        "            raise\n",
    ),
    Bug(
        "schema-of-views-is-told-as-a-root",
        "The error of a schema of views that is none names the root of the store.",
        "operations/views.py",
        'layout_of(schema, "schema")',
        "layout_of(schema)",
    ),
)
