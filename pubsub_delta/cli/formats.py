"""Parses ``--format``: a kind, its attributes, and columns in gcloud's projections.

    kind [attributes] (columns) :(settings of columns)
    column: key.transform(arguments):label=HEADING:sort=1:align=right

The default format of a command is parsed first. Its settings and aliases of keys hold in the format
that is given, too (``gcloud topic projections``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pubsub_delta.cli.grammar.context import Context
from pubsub_delta.errors import InvalidArgument, Unimplemented

if TYPE_CHECKING:
    from lark import Tree

    from pubsub_delta.cli.grammar.calls import Calls
    from pubsub_delta.cli.grammar.keys import Key

WHOLE = ("config", "default", "disable", "flattened", "json", "list", "none", "text", "yaml")
"""Kinds that print whole records, if they have no columns."""
TABULAR = ("csv", "get", "table", "value")
MULTI = "multi"
"""The kind whose columns each have a format."""
KINDS = (*WHOLE, *TABULAR, MULTI)
_ABSENT = ("diff", "object")
_ALIGNMENTS = ("left", "center", "right")
_SWITCHES = ("optional", "reverse")
_NARROWEST_WRAPPED = 10


@dataclass(frozen=True)
class Column:
    """A column: a key, its transforms, its heading and how it is printed.

    Args:
        key: the key of the value; the empty key is the whole record.
        label: the heading.
        calls: the transforms.
        level: the projection of the transforms; those of the last one hold in JSON and YAML, too.
        order: the place of the column among the sort keys.
        wrap: the smallest width at which words are wrapped; 0 for never.
        nested: the format of the value, which is printed under the row.
        hidden: whether the column is a sort key only.
    """

    key: Key
    label: str | None = None
    calls: Calls | None = None
    level: int = 0
    order: int | None = None
    reverse: bool | None = None
    align: str | None = None
    optional: bool | None = None
    width: int | None = None
    wrap: int | None = None
    nested: Format | None = None
    hidden: bool = False

    @property
    def heading(self) -> str:
        """The heading, "" if there is none."""
        return self.label or ""

    def of(self, record: Any) -> Any:
        """Return the value in a record, or None if there is none."""
        value = self.raw(record)
        return value if self.calls is None else self.calls.of(value, "format")

    def raw(self, record: Any) -> Any:
        """Return the value in a record, without its transforms."""
        from pubsub_delta.cli.grammar.keys import value_at

        return value_at(record, self.key) if self.key else record


@dataclass(frozen=True)
class Format:
    """A parsed format. ``aliases``: names that stand for keys."""

    kind: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[Column, ...] = ()
    aliases: Mapping[str, Key] = field(default_factory=dict)

    @property
    def fields(self) -> tuple[Column, ...]:
        """The columns that are printed."""
        return tuple(each for each in self.columns if not each.hidden)


def parse_format(text: str, context: Context | None = None, usual: str = "") -> Format:
    """Parse a format after the default one; InvalidArgument names the place of an error.

    A table, CSV or values without columns have the columns of the default format.

    >>> [each.heading for each in parse_format("csv(name, message.messageId:label=ID)").fields]
    ['NAME', 'ID']
    >>> [str(each.key) for each in parse_format("value", usual="table[box](ackId)").fields]
    ["('ackId',)"]
    """
    kind = text.strip()
    if kind in WHOLE or (kind == "" and usual in WHOLE):
        return Format(kind or usual)
    reader = _Reader(context or Context())
    if usual:
        reader.read(usual)
    before, attributes, usual_kind = reader.columns, reader.attributes, reader.kind
    if kind:
        reader.read(text)
    if reader.kind in TABULAR and not reader.columns:
        reader.columns = before
        if reader.kind == usual_kind:
            reader.attributes = {**attributes, **reader.attributes}
    return reader.format()


class _Reader:
    """Parses several formats, one after the other."""

    def __init__(self, context: Context) -> None:
        self.kind = ""
        self.attributes: dict[str, str] = {}
        self.columns: list[Column] = []
        self._context = context
        self._level = 0
        self._by_key: dict[Key, Column] = {}
        self._aliases: dict[str, Column] = {}
        self._headings: set[str] = set()
        self._text = ""

    def read(self, text: str) -> None:
        from pubsub_delta.cli.grammar.syntax import parse

        self._text = text
        bare = False  # a kind without columns so far
        for clause in parse("projection", text, "format").children:
            name = clause.data
            if name == "kind":
                self._begin(str(clause.children[0]))
                bare = True
            elif name == "attributes":
                self._set(clause)
            elif name == "fields":
                bare = False
                self._defaults()
                for each in clause.children:
                    self._add(self._column(each), shown=True)
            else:
                for each in clause.children[0].children:
                    self._add(self._column(each), shown=False)
        if bare:
            self._defaults()

    def format(self) -> Format:
        if not self.kind:
            raise self._syntax_error(f"no kind is named; {', '.join(KINDS)} are accepted")
        shown = [each for each in self.columns if not each.hidden]
        if self.kind == MULTI and not (shown and all(each.nested for each in shown)):
            raise self._syntax_error(
                "each column of multi needs a format: multi(labels:format=json)"
            )
        aliases = {name: column.key for name, column in self._aliases.items() if name}
        columns = tuple(
            each if each.level == self._level or each.calls is None else replace(each, level=-1)
            for each in self.columns
        )
        return Format(self.kind, self.attributes, columns, aliases)

    def _begin(self, kind: str) -> None:
        if kind in _ABSENT:
            raise Unimplemented(
                f"format: {kind!r} of gcloud is not implemented; {', '.join(KINDS)} are accepted"
            )
        if kind not in KINDS:
            raise InvalidArgument(
                f"format: {kind!r} is not a format; "
                f"{', '.join(KINDS)} is accepted, perhaps with columns: value(name, topic)"
            )
        if self.kind:
            self.attributes = {}
        self.kind = kind

    def _defaults(self) -> None:
        self.columns = []
        self._level += 1

    def _set(self, clause: Any) -> None:
        from pubsub_delta.cli.grammar.syntax import unquoted

        for each in clause.children:
            name = str(each.children[0])
            value = unquoted(str(each.children[1])) if len(each.children) > 1 else ""
            opposite = name[3:] if name.startswith("no-") else f"no-{name}"
            self.attributes.pop(opposite, None)
            self.attributes[name] = value.replace("\\n", "\n").replace("\\t", "\t")

    def _column(self, tree: Tree[Any]) -> Column | None:
        """Return the column of a tree; None if its if() is false."""
        from pubsub_delta.cli.grammar.keys import key_of

        place, *settings = tree.children
        calls, base = None, None
        key: Key = ()
        if place.data == "key":
            key = key_of(str(place.children[0]))
        elif place.data == "transformed":
            key, calls, wanted = self._calls(place.children[-1])
            if not wanted:
                return None
        if key and isinstance(key[0], str) and key[0] in self._aliases:
            base = self._aliases[key[0]]
            key = base.key + key[1:]
            if base.calls is not None:
                calls = base.calls if calls is None else base.calls.then(calls)
        column = Column(key, base.label if base else None, calls, self._level)
        for each in settings:
            column = self._with_setting(column, each)
        if column.label is None and not key and calls is not None:
            column = replace(column, label=self._snake((calls.calls[-1].name, *calls.first[1:])))
        return column

    def _calls(self, tree: Any) -> tuple[Key, Calls | None, bool]:
        """Return a key, its transforms, and whether the condition of if() holds."""
        from pubsub_delta.cli.grammar.calls import calls_of, conditions
        from pubsub_delta.cli.grammar.syntax import TOO_DEEP

        try:
            key, calls = calls_of(tree, self._context)
            wanted = calls.condition is None or conditions(
                self._context.options, calls.condition, self._context
            )
        except InvalidArgument as error:
            raise self._syntax_error(str(error)) from None
        except RecursionError:
            raise self._syntax_error(TOO_DEEP) from None
        return key, calls if calls.calls else None, wanted

    def _with_setting(self, column: Column, tree: Any) -> Column:
        from pubsub_delta.cli.grammar.syntax import small_number, unquoted

        name = str(tree.children[0])
        value = unquoted(str(tree.children[1])) if len(tree.children) > 1 else ""
        number = small_number(value)
        switch = name.removeprefix("no-")
        if switch in _SWITCHES and not value:
            given: dict[str, Any] = {switch: name == switch}
        elif name == "label":
            given = {"label": value}
        elif name == "align" and value in _ALIGNMENTS:
            given = {"align": value}
        elif name in ("sort", "width") and number is not None:
            given = {"order" if name == "sort" else name: number}
        elif name == "alias" and value:
            self._aliases[value] = column
            given = {}
        elif name == "wrap" and (not value or number is not None):
            given = {"wrap": _NARROWEST_WRAPPED if number is None else number}
        elif name == "no-wrap" and not value:
            given = {"wrap": 0}
        elif name == "format" and value:
            given = {"nested": parse_format(value, self._context)}
        else:
            raise self._syntax_error(
                f":{name}{'=' * bool(value)}{value} is not accepted of a column; label=HEADING, "
                "sort=1, reverse, align=left|center|right, optional, width=N, wrap, "
                "format=FORMAT and alias=NAME are accepted"
            )
        return replace(column, **given)

    def _add(self, new: Column | None, *, shown: bool) -> None:
        if new is None:
            return
        key = new.key
        known = self._by_key.get(key)
        merged = new if known is None else _merged(known, new)
        if merged.label is None:
            merged = replace(merged, label=self._snake(key))
        if shown:
            merged = replace(merged, hidden=False)
            twice = any(each.key == key and not each.hidden for each in self.columns)
            self.columns = [*self.columns, merged]
        else:
            twice = False
            merged = replace(merged, hidden=known is None and bool(new.order))
            self.columns = [_merged(e, new) if e.key == key else e for e in self.columns]
            if merged.hidden:
                self.columns = [*self.columns, merged]
        if not twice and (key or merged.calls):
            self._by_key[key] = merged
        assert merged.label is not None
        self._aliases[merged.label] = merged

    def _snake(self, key: Key) -> str:
        """Return a unique heading: the last name of the key, and more if another column has it."""
        from pubsub_delta.cli.grammar.keys import snake_case

        label = ""
        for part in reversed(key):
            if isinstance(part, str):
                label = f"{snake_case(part)}_{label}" if label else snake_case(part)
                if label not in self._headings:
                    self._headings.add(label)
                    break
        return label

    def _syntax_error(self, why: str) -> InvalidArgument:
        from pubsub_delta.cli.grammar.syntax import syntax_error

        return syntax_error("format", self._text, why, "projection")


def _merged(known: Column, new: Column) -> Column:
    """Return a column with the settings of another one."""
    column_format = {
        name: value
        for name in ("label", "order", "reverse", "align", "optional", "width", "wrap", "nested")
        if (value := getattr(new, name)) is not None
    }
    if new.calls is not None:
        column_format.update(calls=new.calls, level=new.level)
    return replace(known, **column_format)


def sorted_by(form: Format, keys: Sequence[tuple[Key, bool]]) -> Format:
    """Return a format with sort keys, each with whether it is reversed."""
    columns = list(form.columns)
    for order, (key, reverse) in enumerate(keys, start=1):
        at = next((n for n, each in enumerate(columns) if each.key == key), None)
        if at is None:
            columns.append(Column(key, "", order=order, reverse=reverse, hidden=True))
        else:
            columns[at] = replace(columns[at], order=order, reverse=reverse)
    return replace(form, columns=tuple(columns))


def projected(record: Any, columns: Sequence[Column]) -> Any:
    """Return a record with the keys of the columns only.

    >>> projected({"a": {"b": 1, "c": 2}, "d": 3}, parse_format("json(a.b, e)").columns)
    {'a': {'b': 1}}
    """
    if not columns:
        return record
    tree: dict[Any, Any] = {}
    for each in columns:
        if not each.key:
            return each.of(record) if each.level >= 0 else record
        place = tree
        for part in each.key[:-1]:
            place = place.setdefault(part, {})
            if isinstance(place, Column):  # the whole value is in another column
                break
        else:
            place.setdefault(each.key[-1], each)
    return _picked(record, tree)


def _picked(value: Any, node: Any) -> Any:
    if isinstance(node, Column):
        return value if node.calls is None or node.level < 0 else node.calls.of(value, "format")
    if isinstance(value, Mapping) and value:
        kept = {}
        for name, each in value.items():
            if name in node:
                inner = _picked(each, node[name])
                if inner is not None or isinstance(node[name], Column):
                    kept[name] = inner
        return kept or None
    if isinstance(value, list):
        found = [_picked(e, node.get(n, node.get(None, {}))) for n, e in enumerate(value)]
        while found and found[-1] is None:
            found.pop()
        return found or None
    return value if value == {} else None
