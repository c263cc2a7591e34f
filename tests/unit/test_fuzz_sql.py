"""Every f-string that makes SQL, and why nobody's text gets into it unquoted.

Names, filters, attributes and ack ids are compared as Spark columns and literals, never written
into SQL. What is written there is listed here, part by part.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pubsub_delta.clock import start_of_day
from pubsub_delta.tables import schemas
from pubsub_delta.tables.ack_state import tables as ack_state_tables
from pubsub_delta.tables.lanes.direct import conditions
from pubsub_delta.tables.lanes.protocol import Match, Merge
from pubsub_delta.tables.lanes.spark.sql import columns as columns_in_sql
from pubsub_delta.tables.messages import position_allocator
from pubsub_delta.tables.messages.messages import _too_old
from pubsub_delta.tables.registry import predicates, resource_table
from pubsub_delta.tables.schemas import TableSchema
from tests.unit.test_architecture import LIBRARY, tree_of

SPOKEN = re.compile(
    r"\b(SELECT|FROM|MERGE|UPDATE|SET|DELETE|INSERT|CREATE|DESCRIBE|OPTIMIZE|VACUUM|DROP|VERSION"
    r"|LIMIT|BETWEEN|IS NULL|PARTITIONED|TBLPROPERTIES|AND old|DATE ?'|IN \(|coalesce\(|aggregate\("
    r"|map_keys\(|map_values\(|get\(|starts_?with\(|(CAST|(arrow_)?cast)\(|MAP<|ARRAY<|STRUCT<)"
    r"|new\.|old\.|timestamp_micros\(|publish_(date|time) [<>=]|position [<>=]"
)
"""What tells an f-string of SQL from one of a message."""
SPEAKING = {"sql": 0, "_run": 0, "expr": 0, "selectExpr": 0}
"""Methods that take SQL, and at which place."""
COMPOSED = {
    "statement",  # of SparkLane._run, whose callers are looked at here
    "text",  # of figures: constants
    "test",  # of bitmaps: f-strings, below
    "query",  # of views: f-strings, below
    "_MESSAGE['text']",  # of views: a constant
    "sql_day(publish_time)",  # of an f-string, below
    "' AND '.join(tests) or 'true'",  # of f-strings
    "' AND '.join(sure)",
    "' + '.join((f'coalesce({part}, 0)' for part in parts))",
}
"""What else than a literal or an f-string is handed over."""
CONDITIONS = {"_SAME_ETAG", "taken"}
"""What else than a literal is the condition of a MERGE: constants, see below."""

IDENTIFIERS = {"table", "source", "target", "schema", "table.rpartition('.')[0]"}
"""What Layout has quoted, anywhere under ``tables``: test_fuzz_roots.py tries to break that."""
OURS = "written in the library, and holds nothing that is passed in"
NUMBER = "a whole number"
QUOTED = "a name in its backticks"
NO_SQL = "of a grammar of Lark, which has words of SQL"
LITERAL = "a literal, which test_a_text_stays_within_its_literal tries to break"

PARTS: dict[str, dict[str, str]] = {
    "tables/lanes/direct/conditions": {
        "', '.join(map(_literal, value))": LITERAL,
        "moment": NUMBER,
        "name": "checked to be the name of a column",
        "value.isoformat()": NUMBER,
    },
    "tables/lanes/direct/merging": {"name": OURS},
    "tables/lanes/protocol": {"column": OURS, "new": OURS, "operator": OURS},
    "tables/lanes/spark/bitmaps": {"first": NUMBER, "last": NUMBER},
    "tables/lanes/spark/columns": {
        "UNROLLED_ATTRIBUTES": OURS,
        "ack_ids.END_OF_POSITIONS": OURS,
        "distinct": OURS,
        "earlier": NUMBER,
        "key": OURS,
        "most_data": OURS,
        "part": OURS,
        "place": OURS,
        "place + 1": OURS,
        "rules.MAX_KEY_BYTES": OURS,
        "rules.MAX_ORDERING_KEY_BYTES": OURS,
        "rules.MAX_VALUE_BYTES": OURS,
        "rules.RESERVED_PREFIX": OURS,
        "same_key": OURS,
        "sql_day(earliest)": OURS,
        "sql_day(latest)": OURS,
        "sql_instant(earliest)": OURS,
        "sql_instant(latest)": OURS,
        "time.astimezone(UTC).date().isoformat()": NUMBER,
        "to_micros(time)": NUMBER,
    },
    "tables/lanes/spark/frames": {"version": NUMBER},
    "tables/lanes/spark/stored": {"version": NUMBER},
    "tables/lanes/spark/lane": {
        "' '.join(clauses)": OURS,
        "', '.join(names)": OURS,
        "bound": OURS,
        "changes": OURS,
        "each": OURS,
        "how": OURS,
        "limit": NUMBER,
        "merge.on_in_sql()": OURS,
        "sql.columns(schema)": OURS,
        "sql.condition(where)": LITERAL,
        "values": OURS,
        "version": NUMBER,
    },
    "tables/lanes/spark/publishing": {"name": OURS},
    "tables/lanes/spark/sql": {
        "', '.join(map(literal, values))": LITERAL,
        "column": OURS,
        "names": OURS,
        "to_micros(value)": NUMBER,
        "pairs": OURS,
        "value.encode().hex()": "hexadecimal digits",
        "value.isoformat()": NUMBER,
    },
    "tables/lanes/spark/types": {
        "', '.join((f'{quoted(each.name)}: {ddl(each.type)}' for each in type_))": OURS,
        "ddl(type_.item_type)": OURS,
        "ddl(type_.key_type)": OURS,
        "ddl(type_.value_type)": OURS,
    },
    "tables/lanes/spark/typed_sql": {
        "' '.join(errors)": OURS,
        "', '.join(told)": OURS,
        "', '.join(types)": "quoted names of Avro, which are letters, digits and _, and OURS",
        "SCHEMA_ERROR": OURS,
        "_error(typing)": OURS,
        "_with_attributes(messages)": OURS,
        "added": OURS,
        "cast": OURS,
        "error": OURS,
        "fields": QUOTED,
        "found": OURS,
        "how": OURS,
        "id_": LITERAL,
        "inner.type": QUOTED,
        "literal(f' of {typing.schema} is not there any more')": LITERAL,
        "least": NUMBER,
        "literal(type_)": LITERAL,
        "messages": "what topic_query writes",
        "most": NUMBER,
        "name": QUOTED,
        "named": OURS,
        "own_columns": OURS,
        "parsed": LITERAL,
        "read": OURS,
        "resolved_": OURS,
        "rows": OURS,
        "there": LITERAL,
        "told": OURS,
        "v": OURS,
        "value": OURS,
        "values": OURS,
        "variable": OURS,
    },
    "tables/lanes/spark/views": {
        "_LIKE_A_MESSAGE": OURS,
        "attempt": NUMBER,
        "columns": OURS,
        "failing": LITERAL,
        "first": NUMBER,
        "how": OURS,
        "is_live": OURS,
        "last": NUMBER,
        "listed": "our columns, and a mark of hashes and full names, which hold no quote",
        "literal(subject.uid)": LITERAL,
        "messages": QUOTED,
        "problem": LITERAL,
        "query": "what topic_query and backlog_query write",
        "self._identifier(name)": QUOTED,
        "subject.registry": QUOTED,
        "sql_instant(now)": NUMBER,
        "select": "what the queries of views begin with",
        "state": LITERAL,
        "there": OURS,
        "wanted": NUMBER,
    },
    "cli/grammar/syntax": {"_QUOTED": NO_SQL, "_WORDS": NO_SQL},
}
"""Every part of an f-string of SQL, by module, and why it may stand there."""


def spoken(module: str) -> Iterator[ast.JoinedStr]:
    """Return the f-strings of a module that make SQL."""
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.JoinedStr):
            own = (each.value for each in node.values if isinstance(each, ast.Constant))
            if SPOKEN.search("".join(map(str, own))):
                yield node


def parts(module: str) -> set[tuple[str, bool]]:
    """Return the parts of a module's SQL, and whether each is formatted as a whole number."""
    return {
        (ast.unparse(each.value), each.format_spec is not None)
        for node in spoken(module)
        for each in node.values
        if isinstance(each, ast.FormattedValue)
    }


@pytest.mark.parametrize("module", LIBRARY)
def test_every_part_of_every_statement_is_known(module: str) -> None:
    told = PARTS.get(module.removeprefix("pubsub_delta/").removesuffix(".py"), {})
    quoted = IDENTIFIERS if "/tables/" in module else set()
    found = {part for part, _ in parts(module)} - quoted
    assert found == told.keys(), "PARTS says why a part may stand in SQL"


@pytest.mark.parametrize(
    ("name", "part"),
    [("lane", "limit"), ("lane", "version"), ("frames", "version"), ("bitmaps", "first")],
)
def test_what_a_caller_gives_as_a_number_is_written_as_one(name: str, part: str) -> None:
    written = parts(f"pubsub_delta/tables/lanes/spark/{name}.py")
    assert (part, True) in written
    assert (part, False) not in written


@pytest.mark.parametrize("module", LIBRARY)
def test_statements_are_written_where_they_are_run(module: str) -> None:
    for node in ast.walk(tree_of(module)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        place = SPEAKING.get(node.func.attr, len(node.args))
        for sql in node.args[place : place + 1]:
            spelled = isinstance(sql, (ast.Constant, ast.JoinedStr))
            assert spelled or ast.unparse(sql) in COMPOSED, f"{module}: {ast.unparse(sql)}"


def test_a_column_is_created_though_its_name_is_a_word_that_a_session_reserves() -> None:
    """``spark.sql.ansi.enforceReservedKeywords``: such a word is a name in quotes alone."""
    written = columns_in_sql(schemas.SUBSCRIPTIONS)
    assert "`filter` STRING" in written
    assert all(f"`{each}` " in written for each in schemas.SUBSCRIPTIONS.columns.names)


@pytest.mark.parametrize("module", LIBRARY)
def test_a_column_that_a_caller_names_is_quoted(module: str) -> None:
    """``F.col`` reads dots and backticks in a name; nothing else of it is SQL."""
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "F.col":
            for part in ast.walk(node.args[0]):
                if isinstance(part, ast.FormattedValue):
                    assert ast.unparse(part.value).endswith(".replace('`', '``')")


@pytest.mark.parametrize("module", LIBRARY)
def test_the_condition_of_a_merge_is_a_constant(module: str) -> None:
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Merge":
            given = [*node.args[:1], *(each.value for each in node.keywords if each.arg == "on")]
            for on in given:
                assert is_literal(on) or ast.unparse(on) in CONDITIONS
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("s.add"):
            assert len(node.args) != 2 or ast.unparse(node.args[1]).startswith("TAKEN")


def is_literal(on: ast.expr) -> bool:
    """Tell whether an expression is a list of constants, such as ``[("name", "=", "name")]``."""
    try:
        ast.literal_eval(on)
    except ValueError:
        return False
    return True


def test_conditions_compare_columns_and_nothing_else() -> None:
    merges = [each for each in vars(position_allocator).values() if isinstance(each, Merge)]
    merges += [each for each in vars(ack_state_tables).values() if isinstance(each, Merge)]
    written: list[Sequence[Match]] = [merge.on for merge in merges]
    written += [resource_table._SAME_ETAG, predicates.TAKEN_TOPIC, predicates.TAKEN_SNAPSHOT]
    assert len(written) == 5
    for on in written:
        for part in Merge(on).on_in_sql().split(" AND "):
            assert re.fullmatch(r"old\.[a-z_]+ ([=<>] new\.[a-z_]+|IS NULL)", part)


TABLES = [each for each in vars(schemas).values() if isinstance(each, TableSchema)]


@pytest.mark.parametrize("schema", TABLES, ids=lambda schema: str(schema.columns.names[:2]))
def test_columns_and_properties_need_no_quotes(schema: TableSchema) -> None:
    assert all(re.fullmatch("[a-z_]+", name) for name in schema.columns.names)
    assert set(schema.partitioned_by) <= set(schema.columns.names)
    words = [word for pair in schema.properties.items() for word in pair]
    assert all(re.fullmatch(r"[\w., ]+", word) for word in words)


@given(st.text())
@example("it's")
@example("'' OR ''='")
@example("\\' OR 1=1 --")
@example("\ud7ff\n`${x}")
def test_a_text_stays_within_its_literal(text: str) -> None:
    """DataFusion knows one escape in a text, the doubled quote, and takes all else as it is."""
    literal = conditions._literal(text)
    assert re.fullmatch("'(?:[^']|'')*'", literal)
    assert literal[1:-1].replace("''", "'") == text


@given(st.text(max_size=20))
@example("uid = 'x' OR uid")
def test_only_a_column_is_compared(name: str) -> None:
    if re.fullmatch(r"[a-z_][A-Za-z0-9_]*", name):
        assert conditions.in_sql([(name, "=", 1)]) == f"{name} = 1"
    else:
        with pytest.raises(ValueError, match="not a column"):
            conditions.in_sql([(name, "=", 1)])


zones = st.integers(-14 * 60, 14 * 60).map(lambda m: timezone(timedelta(minutes=m)))


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=zones), st.booleans())
def test_what_is_too_old_is_told_as_times_and_in_numbers(time: datetime, whole_days: bool) -> None:
    time = start_of_day(time) if whole_days else time
    where = _too_old(time)
    exact = time != start_of_day(time)
    assert [(name, type(value)) for name, _, value in where] == [
        ("publish_date", date),
        *([("publish_time", datetime)] if exact else []),
    ]
    day = r"publish_date <=? DATE '\d{4}-\d\d-\d\d'"
    moment = r"arrow_cast\('[\d:.TZ-]+', 'Timestamp\(Microsecond, Some\(\"UTC\"\)\)'\)"
    form = rf"{day} AND publish_time < {moment}" if exact else day
    assert re.fullmatch(form, str(conditions.in_sql(where)))
