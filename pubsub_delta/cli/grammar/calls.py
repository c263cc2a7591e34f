"""Chains of transform calls: ``name.basename().split(-).map().upper()``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pubsub_delta.cli.grammar.context import Context
from pubsub_delta.cli.grammar.keys import Key, key_of
from pubsub_delta.cli.grammar.syntax import small_number, unquoted
from pubsub_delta.cli.grammar.transforms import FUNCTIONS, Function, bound, text_of
from pubsub_delta.errors import InvalidArgument, Unimplemented

if TYPE_CHECKING:
    from lark import Tree

UNIMPLEMENTED = ("collection", "enum", "resolution", "synthesize")
"""Transforms of gcloud that are not implemented; Pub/Sub has no use for them."""
_SHORT = 40
_WRONG = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, re.error)
OF_TIMES = ("date", "duration", "iso")
_MARKS = ("always", "if", "map")
TRANSFORMS = tuple(sorted({*FUNCTIONS, *OF_TIMES, *_MARKS, "filter", "format"}))

_CALL = re.compile(r"(?:(?P<key>.*)\.)?(?P<stars>\**)(?P<name>[^.*]+)\(", re.DOTALL)


@dataclass(frozen=True)
class Call:
    """One transform. ``depth``: the depth of nested lists whose items it is applied to."""

    name: str
    run: Callable[[Any], Any]
    depth: int = 0

    def of(self, value: Any) -> Any:
        """Apply the transform; InvalidArgument if its arguments do not fit the value."""
        try:
            if self.depth and isinstance(value, list):
                items = value
                for _ in range(self.depth - 1):
                    items = [each for item in items for each in item]
                return [self.run(each) for each in items]
            return self.run(value) if value or not self.depth else value
        except _WRONG as error:
            raise InvalidArgument(
                f"{self.name}(): {error}: its arguments are not accepted with {_short(value)}"
            ) from None


def _short(value: Any) -> str:
    text = text_of(value)
    return repr(text if len(text) <= _SHORT else f"{text[:_SHORT]}…")


@dataclass(frozen=True)
class Calls:
    """A chain of transforms. ``first``: the parts of a heading. ``condition``: that of if()."""

    calls: tuple[Call, ...] = ()
    first: tuple[str, ...] = ()
    condition: str | None = None

    def of(self, value: Any, field: str) -> Any:
        """Apply the transforms in order; an error names the field."""
        try:
            for each in self.calls:
                value = each.of(value)
        except InvalidArgument as error:
            raise InvalidArgument(f"{field}: {error}") from None
        return value

    def then(self, more: Calls) -> Calls:
        """Return the chain with more transforms at its end."""
        return Calls(
            self.calls + more.calls,
            self.first or more.first,
            more.condition or self.condition,
        )


def calls_of(tree: Tree[Any], context: Context) -> tuple[Key, Calls]:
    """Return the key and the chain of a tree; InvalidArgument for an unknown transform."""
    calls: list[Call] = []
    first: tuple[str, ...] = ()
    depth, condition, key = 0, None, ""
    for number, (token, arguments) in enumerate(_pairs(tree)):
        match = _CALL.fullmatch(token)
        assert match is not None
        if number == 0:
            key, first = match["key"] or "", (match["name"], *arguments)
        depth += len(match["stars"])
        if match["name"] == "map":
            given = small_number(arguments[0]) if arguments else None
            depth = 1 if given is None else given
        elif match["name"] == "always":
            continue  # concerns default formats, which have no transforms here
        elif match["name"] == "if":
            condition = ",".join(arguments)
        else:
            calls.append(Call(match["name"], _run(match["name"], arguments, context), depth))
            depth = 0
    return key_of(key), Calls(tuple(calls), first, condition)


def _pairs(tree: Tree[Any]) -> Iterator[tuple[str, list[str]]]:
    children = iter(tree.children)
    for token in children:
        yield str(token), [_argument(each) for each in next(children).children]


def _argument(tree: Any) -> str:
    text = "".join(each if isinstance(each, str) else _nested(each) for each in tree.children)
    return unquoted(text.rstrip())


def _nested(tree: Any) -> str:
    inner = (str(each) if isinstance(each, str) else _nested(each) for each in tree.children)
    return f"({''.join(inner)})"


def _run(name: str, arguments: list[str], context: Context) -> Callable[[Any], Any]:
    function = _function(name, context)
    plain, by_name = bound(name, function, arguments)
    return lambda value: function(value, *plain, **by_name)


def _function(name: str, context: Context) -> Function:
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    if name in OF_TIMES:
        from pubsub_delta.cli.grammar.time_transforms import functions_of

        return functions_of(context)[name]
    if name == "filter":
        return _filtering(context)
    if name == "format":
        return _formatting(context)
    if name in UNIMPLEMENTED:
        raise Unimplemented(
            f"transform: {name}() of gcloud is not implemented; {', '.join(TRANSFORMS)} are "
            "accepted"
        )
    raise InvalidArgument(
        f"{name}(): there is no such transform; {', '.join(TRANSFORMS)} are accepted"
    )


def _filtering(context: Context) -> Function:
    from pubsub_delta.cli.grammar.filters import parse_filter  # which reads calls, too

    def filtered(value: Any, expression: str) -> Any:
        matches = parse_filter(expression, context).matches
        if isinstance(value, list):
            return [each for each in value if matches(each)]
        return value if not value or matches(value) else ""

    return filtered


def _formatting(context: Context) -> Function:
    from pubsub_delta.cli.formats import parse_format  # which reads calls, too

    def formatted(value: Any, fmt: str, *keys: str) -> str:
        if keys:
            columns = parse_format(f"value({','.join(keys)})", context).columns
            found = [each.of(value) for each in columns]
        else:
            found = value if isinstance(value, list) else ["" if value is None else value]
        return fmt.format(*found)

    return formatted


def conditions(options: Mapping[str, Any], expression: str, context: Context) -> bool:
    """Evaluate the condition of if() on the options of a command: ``NOT auto_ack``."""
    from pubsub_delta.cli.grammar.filters import parse_filter

    return parse_filter(expression, context, names=dict(options)).matches(dict(options))
