"""Mutants: small changes of a module that a program makes, one at a time.

Each is a ``Bug``, so it is tried out as the seeded ones are. Nothing is changed that cannot matter
to a run: annotations, docstrings, the texts of errors, and what is for type checkers alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

from tests.mutations.bug import LIBRARY, REPOSITORY, Bug

Change: TypeAlias = "tuple[int, int, str]"
"""Where a replaced text begins and ends in the source, in bytes, and what replaces it."""

_COMPARISONS = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
_OPERATORS = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "+",
    ast.Div: "*",
    ast.FloorDiv: "*",
    ast.Mod: "*",
    ast.BitOr: "&",
    ast.BitAnd: "|",
    ast.LShift: ">>",
    ast.RShift: "<<",
}
_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list"}
_ARGUMENTS_LEFT = ("compare", "daemon", "help", "init", "kw_only", "name", "repr", "stacklevel")
"""Named arguments that change nothing of what is done, or are for people."""
_MEANT_FOR_PEOPLE = ("__repr__", "__str__")


def mutants(file: str) -> list[Bug]:
    """Return all mutants of a file under ``pubsub_delta/``, from its first line to its last."""
    return mutants_of((REPOSITORY / LIBRARY / file).read_text(encoding="utf-8"), file)


def mutants_of(text: str, file: str) -> list[Bug]:
    """Return all mutants of the source of a file.

    >>> source = "def f(a: int = 2) -> int:\\n    return a if a < 9 else -a\\n"
    >>> print(*(each.says for each in mutants_of(source, "f.py")), sep="\\n")
    f.py:1: '2' becomes '3'.
    f.py:2: 'a if a < 9 else -a' becomes '-a if a < 9 else a'.
    f.py:2: '<' becomes '<='.
    f.py:2: '9' becomes '10'.
    f.py:2: '-a' becomes 'a'.
    """
    source = text.encode()
    found = []
    for start, end, replacement in sorted(set(_Mutator(source).changes(ast.parse(text)))):
        replaced = source[start:end].decode()
        changed = (
            source[:start] + _as_long(replacement, replaced).encode() + source[end:]
        ).decode()
        line = source.count(b"\n", 0, start) + 1
        before, after = (" ".join(each.split()) for each in (replaced, replacement))
        place = start - source.rfind(b"\n", 0, start) - 1
        name = f"{Path(file).stem}-{line}-{place}-{end - start}-{_word(replacement)}"
        says = f"{file}:{line}: {before!r} becomes {after!r}."
        found.append(Bug(name, says, text, changed, file=file))
    return found


def _as_long(replacement: str, replaced: str) -> str:
    """Return a text with as many lines as another has: what follows stays where it is."""
    missing = "\n" * (replaced.count("\n") - replacement.count("\n"))
    end = len(replacement) - replacement.endswith((")", "]", "}"))
    return replacement[:end] + missing + replacement[end:]


def _word(replacement: str) -> str:
    return re.sub(r"\W+", "_", replacement)[:20] or "".join(f"{ord(c):x}" for c in replacement)


class _Mutator:
    """Finds the changes of a source."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._lines = [0]
        for line in source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def changes(self, node: ast.AST) -> Iterator[Change]:
        """Return the changes of a node and of what stands in it."""
        yield from self._changes_of(node)
        for inner in self._inner(node):
            yield from self.changes(inner)

    def _inner(self, node: ast.AST) -> Iterator[ast.AST]:
        """Return the nodes within a node that matter to a run."""
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                if node.name not in _MEANT_FOR_PEOPLE:
                    yield from (*node.args.defaults, *filter(None, node.args.kw_defaults))
                    yield from node.body
            case ast.ClassDef():
                yield from node.body
            case ast.AnnAssign():
                if node.value is not None and "TypeAlias" not in ast.dump(node.annotation):
                    yield node.value
            case ast.keyword(arg="init" | "repr" | "compare" | "kw_only"):
                return  # of a field of a dataclass
            case ast.Raise() | ast.Assert() | ast.JoinedStr() | ast.Import() | ast.ImportFrom():
                return
            case ast.If() if "TYPE_CHECKING" in ast.dump(node.test):
                return
            case ast.Expr(value=ast.Constant()):
                return
            case ast.Call(func=ast.Name(id="TypeVar" | "cast" | "isinstance")):
                return
            case _:
                yield from ast.iter_child_nodes(node)

    def _changes_of(self, node: ast.AST) -> Iterator[Change]:
        yield from self._statements(node)
        yield from self._parts(node)
        yield from self._texts(node)
        match node:
            case ast.Compare():
                operands = [node.left, *node.comparators]
                for before, operator, after in zip(operands, node.ops, operands[1:], strict=False):
                    yield from self._between(before, after, _COMPARISONS[type(operator)])
            case ast.BoolOp():
                other = "or" if isinstance(node.op, ast.And) else "and"
                for before, after in zip(node.values, node.values[1:], strict=False):
                    yield from self._between(before, after, other)
            case ast.BinOp() if type(node.op) in _OPERATORS and not _is_text(node):
                yield from self._between(node.left, node.right, _OPERATORS[type(node.op)])
            case ast.AugAssign() if type(node.op) in _OPERATORS:
                other = f"{_OPERATORS[type(node.op)]}="
                yield from self._between(node.target, node.value, other)
            case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=ast.expr() as operand) if (
                not isinstance(operand, ast.YieldFrom)
            ):
                yield (*self._span(node), self._text(operand))
            case ast.IfExp():
                parts = self._text(node.orelse), self._text(node.test), self._text(node.body)
                yield (*self._span(node), "{} if {} else {}".format(*parts))
            case ast.If(test=ast.Name() | ast.Attribute() | ast.Call() | ast.Compare()):
                yield (*self._span(node.test), f"not ({self._text(node.test)})")
            case ast.Constant(value=bool() as truth):
                yield (*self._span(node), str(not truth))
            case ast.Constant(value=int() | float() as number):
                yield (*self._span(node), repr(number + 1))
            case ast.Call(func=ast.Name(id=name), keywords=[]) if name in _CALLS:
                yield (*self._span(node.func), _CALLS[name])
            case ast.Continue():
                yield (*self._span(node), "break")
            case ast.Break():
                yield (*self._span(node), "continue")

    def _statements(self, node: ast.AST) -> Iterator[Change]:
        """Leave a statement out, or swap a call with the next."""
        if _acts(node) or isinstance(node, ast.Delete):
            yield (*self._span(node), "pass")
        body = getattr(node, "body", None)
        for one, next_ in pairwise(body if isinstance(body, list) else []):
            if (
                isinstance(one, ast.Expr)
                and isinstance(next_, ast.Expr)
                and _acts(one)
                and _acts(next_)
            ):
                between = self._source[self._span(one)[1] : self._span(next_)[0]].decode()
                swapped = f"{self._text(next_)}{between}{self._text(one)}"
                yield self._span(one)[0], self._span(next_)[1], swapped

    def _parts(self, node: ast.AST) -> Iterator[Change]:
        """Leave an argument with a name out, or an element; swap two arguments."""
        match node:
            case ast.Call(args=args, keywords=named):
                start, end = self._span(node.func)[1], self._span(node)[1]
                for left_out in named:
                    if left_out.arg and left_out.arg not in _ARGUMENTS_LEFT:
                        others = [*args, *(each for each in named if each is not left_out)]
                        yield start, end, f"({', '.join(map(self._text, others))})"
                match args:
                    case [ast.Name() | ast.Attribute(), ast.Name() | ast.Attribute(), *_]:
                        one, two = args[:2]
                        swapped = f"{self._text(two)}, {self._text(one)}"
                        yield self._span(one)[0], self._span(two)[1], swapped
            case ast.List(elts=[_, _, *_]) | ast.Tuple(elts=[_, _, *_]) | ast.Set(elts=[_, _, *_]):
                brackets = {ast.List: "[{}]", ast.Tuple: "({},)", ast.Set: "{{{}}}"}[type(node)]
                for element in node.elts if not _is_target(node) else []:
                    kept = [self._text(each) for each in node.elts if each is not element]
                    yield (*self._span(node), brackets.format(", ".join(kept)))

    def _texts(self, node: ast.AST) -> Iterator[Change]:
        """Change a name that something is found or compared by."""
        match node:
            case ast.Compare():
                places = [node.left, *node.comparators]
            case ast.Dict():
                places = [each for each in node.keys if each is not None]
            case ast.Subscript():
                places = [node.slice]
            case _:
                places = []
        for place in places:
            if isinstance(place, ast.Constant) and isinstance(place.value, str):
                yield (*self._span(place), repr(f"{place.value}_"))

    def _between(self, before: ast.expr, after: ast.expr, other: str) -> Iterator[Change]:
        """Replace the operator that stands between two operands."""
        start, end = self._span(before)[1], self._span(after)[0]
        gap = self._source[start:end].decode()
        found = re.search(r"not\s+in|is\s+not|[a-z]+|[^\s()#]+", gap)
        if found is not None and "#" not in gap:
            yield start + found.start(), start + found.end(), other

    def _span(self, node: ast.AST) -> tuple[int, int]:
        assert isinstance(node, (ast.expr, ast.stmt, ast.keyword))
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self._lines[node.lineno - 1] + node.col_offset
        return start, self._lines[node.end_lineno - 1] + node.end_col_offset

    def _text(self, node: ast.AST) -> str:
        start, end = self._span(node)
        return self._source[start:end].decode()


def _acts(node: ast.AST) -> bool:
    """Tell whether a statement does something and gives nothing a name."""
    match node:
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.AugAssign():
            return True
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            return True
    return False


def _is_target(node: ast.List | ast.Tuple | ast.Set) -> bool:
    return not isinstance(getattr(node, "ctx", ast.Load()), ast.Load)


def _is_text(node: ast.BinOp) -> bool:
    """Tell whether an operator joins or formats text."""
    parts = (node.left, node.right)
    return any(isinstance(each, ast.JoinedStr) or _is_string(each) for each in parts)


def _is_string(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))
