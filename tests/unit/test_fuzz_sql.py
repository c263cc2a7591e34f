"""Every f-string that makes SQL, and why nobody's text gets into it unquoted.

Names, filters, attributes and ack ids are compared as Spark columns and literals, never written
into SQL. What is written there is listed here, part by part.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pubsub_delta.policy.ack_state import State
from pubsub_delta.tables import schemas
from pubsub_delta.tables.ack_state_tables import _FIGURES
from pubsub_delta.tables.commits import _properties, plain
from pubsub_delta.tables.messages import _too_old
from pubsub_delta.tables.registry import _TAKEN_SNAPSHOT, _TAKEN_TOPIC
from pubsub_delta.tables.schemas import TableSchema
from tests.unit.test_architecture import LIBRARY, tree_of

SPOKEN = re.compile(
    r"\b(SELECT|FROM|MERGE|UPDATE|SET|DELETE|INSERT|CREATE|DESCRIBE|OPTIMIZE|VACUUM|VERSION|LIMIT|BETWEEN"
    r"|IS NULL|GENERATED|PARTITIONED|AND old|DATE'|uid IN|coalesce\(|aggregate\(|map_keys\(|get\()"
    r"|new\.|old\.|timestamp_micros\(|publish_(date|time) [<>=]|position [<>=]"
)
"""What tells an f-string of SQL from one of a message."""
SPEAKING = {
    "sql": 0,
    "_run": 0,
    "expr": 0,
    "selectExpr": 0,
    "delete_where": 1,
    "merge": 2,
    "update": 2,
}
"""Methods that take SQL, and at which place."""
COMPOSED = {
    "sql",  # of Commits._run, whose callers are looked at here
    "text",  # one of _FIGURES, which are constants
    "leap",  # an f-string of a constant
    "_MARK_DELETED",  # so is this
    "clauses",  # of registry._add: an f-string, below
    "_too_old(time, exact=exact)",
    "test",  # of bitmaps._within: an f-string, below
    "' AND '.join(tests) or 'true'",  # of f-strings
    "' + '.join((f'coalesce({part}, 0)' for part in parts))",
    "' AND '.join(sure)",
    "' UNION ALL '.join(parts)",  # of f-strings
}
"""What else than a literal or an f-string is handed over."""

IDENTIFIERS = {"table", "self._table", "self._layout.schema"}
"""What Layout has quoted, anywhere under ``tables``: test_fuzz_roots.py tries to break that."""
OURS = "written in the library, and holds nothing that is passed in"
NUMBER = "a whole number"
CHECKED = "checked to be 32 hexadecimal digits"

PARTS: dict[str, dict[str, str]] = {
    "tables/ack_state_tables": {
        "columns": OURS,
        "condition": OURS,
        "version": NUMBER,
    },
    "tables/bitmaps": {"first": NUMBER, "last": NUMBER},
    "tables/columns": {
        "UNROLLED_ATTRIBUTES": OURS,
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
    "tables/commits": {
        "', '.join(schema.columns.names)": OURS,
        "', '.join(schema.partitioned_by)": OURS,
        "named": CHECKED,
        "_properties(schema)": OURS,
        "clauses": OURS,
        "columns": OURS,
        "partitioned if schema.partitioned_by else ''": OURS,
        "rule": OURS,
        "text": OURS,
        "change": OURS,
        "number": NUMBER,
        "OVERWRITES": OURS,
        "plain(mark)": CHECKED,
        "wanted": OURS,
    },
    "tables/history": {"bound": NUMBER, "limit": NUMBER},
    "tables/messages": {
        "columns": OURS,
        "sql_day(time)": OURS,
        "sql_instant(time)": OURS,
        "version": NUMBER,
    },
    "tables/past": {"truncation.first + 1": NUMBER, "truncation.seconds": NUMBER},
    "tables/registry": {
        "', '.join((f'new.{name}' for name in columns.names))": OURS,
        "_NOT_DELETED": OURS,
        "_TAKEN": OURS,
        "also": OURS,
        "assignments": OURS,
        "condition": OURS,
        "name": OURS,
        "names": OURS,
        "taken": OURS,
    },
    "tables/removed_files": {"told": "names that are ours, and values of letters and digits"},
    "tables/seen": {
        "_SEEN": OURS,
        "column.name": OURS,
        "plain(self.mark)": CHECKED,
    },
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


@pytest.mark.parametrize(("name", "part"), [("history", "limit"), ("messages", "version")])
def test_what_a_caller_gives_as_a_number_is_written_as_one(name: str, part: str) -> None:
    written = parts(f"pubsub_delta/tables/{name}.py")
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


@pytest.mark.parametrize("module", LIBRARY)
def test_a_column_that_a_caller_names_is_quoted(module: str) -> None:
    """``F.col`` reads dots and backticks in a name; nothing else of it is SQL."""
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "F.col":
            for part in ast.walk(node.args[0]):
                if isinstance(part, ast.FormattedValue):
                    assert ast.unparse(part.value).endswith(".replace('`', '``')")


def test_what_is_composed_is_written_in_the_library() -> None:
    texts = [*_FIGURES.values(), _TAKEN_TOPIC, _TAKEN_SNAPSHOT]
    assert all(re.fullmatch(r"[\w\s.,()<>='+\-]+", text) for text in texts)
    assert {quoted for text in texts for quoted in re.findall("'(.*?)'", text)} <= set(State)


TABLES = [each for each in vars(schemas).values() if isinstance(each, TableSchema)]


@pytest.mark.parametrize("schema", TABLES, ids=lambda schema: str(schema.columns.names[:2]))
def test_columns_and_properties_need_no_quotes(schema: TableSchema) -> None:
    assert all(re.fullmatch("[a-z_]+", name) for name in schema.columns.names)
    assert set(schema.partitioned_by) | schema.generated.keys() <= set(schema.columns.names)
    wanted = ", ".join(f"'{key}' = '{value}'" for key, value in schema.properties.items())
    assert _properties(schema) == wanted
    words = [word for pair in schema.properties.items() for word in pair]
    assert all(re.fullmatch(r"[\w., ]+", word) for word in words)


@given(st.text("0123456789abcdef' OR1=-\n", max_size=34))
@example("0" * 32 + "' OR '1'='1")
@example("a" * 32 + "\n")
@example("A" * 32)
def test_a_row_is_deleted_by_a_uid_and_nothing_else(uid: str) -> None:
    if re.fullmatch("[0-9a-f]{32}", uid):
        assert plain(uid) == uid
    else:
        with pytest.raises(ValueError, match="not a uid"):
            plain(uid)


zones = st.integers(-14 * 60, 14 * 60).map(lambda m: timezone(timedelta(minutes=m)))


@given(
    st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=zones),
    st.booleans(),
)
def test_what_is_too_old_is_told_in_numbers(time: datetime, exact: bool) -> None:
    day = r"DATE'\d{4}-\d\d-\d\d'"
    form = rf"publish_date <= {day} AND publish_time < timestamp_micros\(-?\d+\)"
    assert re.fullmatch(form if exact else f"publish_date < {day}", _too_old(time, exact=exact))
