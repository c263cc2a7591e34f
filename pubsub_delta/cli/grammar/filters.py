"""Parses and evaluates filters (``gcloud topic filters``).

    term   := key operator operand | key.transform() operator operand | word
    filter := term, NOT term, -term, (filter), filter AND filter, filter OR filter, filter filter

AND binds more tightly than OR, and both more than adjacent terms, which must all hold. AND and OR
in one level need parentheses. A single word is searched in all values of a record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pubsub_delta.cli.grammar.calls import Calls, calls_of
from pubsub_delta.cli.grammar.context import Context
from pubsub_delta.cli.grammar.keys import Key, key_name, key_of, resolve_alias, value_at
from pubsub_delta.cli.grammar.matching import OPERATORS, Matches, matcher
from pubsub_delta.cli.grammar.syntax import TOO_DEEP, parse, syntax_error, unquoted
from pubsub_delta.errors import InvalidArgument

if TYPE_CHECKING:
    from lark import Tree

_LOGICAL = ("AND", "OR", "NOT")


@dataclass(frozen=True)
class Filter:
    """A parsed filter. ``keys``: the keys in its terms."""

    matches: Matches
    keys: frozenset[Key] = frozenset()

    def absent(self, records: Iterator[Any] | list[Any]) -> list[str]:
        """Return the names of keys that no record has; they may be misspelled."""
        missing = set(self.keys)
        for record in records:
            missing = {key for key in missing if value_at(record, key) is None}
        return sorted(map(key_name, missing))


def parse_filter(
    text: str,
    context: Context,
    *,
    aliases: Mapping[str, Key] | None = None,
    names: Mapping[str, Any] | None = None,
) -> Filter:
    """Parse a filter; InvalidArgument names the place of an error.

    Args:
        text: the filter; an empty one matches everything.
        context: the time and the zone.
        aliases: names that stand for keys, such as labels of a table.
        names: values by name, for a single word; without them all values are searched.

    >>> matches = parse_filter("name:my* AND NOT labels.env=(prod test)", Context()).matches
    >>> matches({"name": "my-topic"}), matches({"name": "my-topic", "labels": {"env": "test"}})
    (True, False)
    """
    reader = _Reader(text, context, aliases or {}, names)
    tree = parse("filter", text, "filter")
    if not tree.children:
        return Filter(lambda _: True)
    try:
        test = reader.test(tree.children[0])
    except RecursionError:
        raise syntax_error("filter", text, TOO_DEEP, "filter") from None
    return Filter(test, frozenset(reader.keys))


@dataclass
class _Reader:
    text: str
    context: Context
    aliases: Mapping[str, Key]
    names: Mapping[str, Any] | None
    keys: set[Key] = field(default_factory=set)

    def test(self, tree: Any) -> Matches:
        """Return the predicate of a subtree."""
        return getattr(self, f"_{tree.data}")(tree)  # type: ignore[no-any-return]

    def _group(self, tree: Tree[Any]) -> Matches:
        either = any(len(each.children) > 1 for each in tree.children)
        inner = [part for each in tree.children for part in each.children]
        if either and any(len(each.children) > 1 for each in inner):
            raise self._syntax_error("AND and OR at one level; parentheses say which goes first")
        return _all([self.test(each) for each in tree.children])

    def _disjunction(self, tree: Tree[Any]) -> Matches:
        tests = [self.test(each) for each in tree.children]
        return tests[0] if len(tests) == 1 else lambda record: any(t(record) for t in tests)

    def _conjunction(self, tree: Tree[Any]) -> Matches:
        return _all([self.test(each) for each in tree.children])

    def _factor(self, tree: Tree[Any]) -> Matches:
        return self.test(tree.children[0])

    def _negated(self, tree: Tree[Any]) -> Matches:
        inner = self.test(tree.children[-1])
        return lambda record: not inner(record)

    def _called(self, tree: Tree[Any]) -> Matches:
        key, calls = self._calls(tree.children[0])
        if key:
            raise self._syntax_error(
                f"an operator is expected after {key_name(key)}.{calls.first[0]}()"
            )
        return lambda record: bool(calls.of(record, "filter"))

    def _anywhere(self, tree: Tree[Any]) -> Matches:
        word = str(tree.children[0])
        if word in _LOGICAL:
            raise self._syntax_error(f"a term is expected in place of {word}")
        names, word = self.names, unquoted(word)
        if names is not None:
            return lambda _: bool(names.get(word))
        wanted = word.lower()
        return lambda record: _found(record, wanted)

    def _comparison(self, tree: Tree[Any]) -> Matches:
        left, operator, right = tree.children
        if operator not in OPERATORS:
            accepted = ", ".join(OPERATORS)
            raise self._syntax_error(
                f"{str(operator)!r} is not an operator; {accepted} are accepted"
            )
        key, calls = self._left(left.children[0])
        words = [str(each) for each in right.children]
        list_all = right.data == "operands"
        if list_all and operator not in (":", "="):
            raise self._syntax_error(f"a list does not go with {operator}; : and = take one")
        if not list_all and words[0] in _LOGICAL:
            raise self._syntax_error(f"an operand is expected in place of {words[0]}")
        operands = [unquoted(each) for each in words if each != "," and each not in _LOGICAL]
        try:
            tests = [
                matcher(str(operator), each, self.context, times=calls is None) for each in operands
            ]
        except ValueError as error:
            raise self._syntax_error(str(error)) from None
        self.keys.add(key)
        return _of_value(key, calls, tests)

    def _left(self, part: Any) -> tuple[Key, Calls | None]:
        if not isinstance(part, str):
            key, calls = self._calls(part)
            return resolve_alias(key, self.aliases), calls
        if part in _LOGICAL:
            raise self._syntax_error(f"a term is expected in place of {part}")
        return resolve_alias(() if part == "." else key_of(str(part)), self.aliases), None

    def _calls(self, tree: Any) -> tuple[Key, Calls]:
        try:
            return calls_of(tree, self.context)
        except InvalidArgument as error:
            raise self._syntax_error(str(error)) from None

    def _syntax_error(self, why: str) -> Exception:
        return syntax_error("filter", self.text, why, "filter")


def _all(tests: list[Matches]) -> Matches:
    return tests[0] if len(tests) == 1 else lambda record: all(test(record) for test in tests)


def _of_value(key: Key, calls: Calls | None, tests: list[Matches]) -> Callable[[Any], bool]:
    def test(record: Any) -> bool:
        value = value_at(record, key)
        if calls is not None:
            value = calls.of(value, "filter")
        items = value if isinstance(value, list) and value else [value]
        return any(each(item) for item in items for each in tests)

    return test


def _found(value: Any, word: str) -> bool:
    """Return whether a value, or a nested value, contains a word in any case."""
    if isinstance(value, Mapping):
        return any(_found(each, word) for each in value.values())
    if isinstance(value, (list, tuple)):
        return any(_found(each, word) for each in value)
    return bool(value) and word in str(value).lower()
