"""The transforms of projections and filters (``gcloud topic projections``).

As in gcloud, a value that a transform cannot handle gives its ``undefined``, not an error.
"""

from __future__ import annotations

import base64
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from pubsub_delta.cli.grammar.context import uri_of
from pubsub_delta.cli.grammar.keys import argument_key, value_at
from pubsub_delta.errors import InvalidArgument

Function = Callable[..., Any]


def text_of(value: Any) -> str:
    r"""Return a value as text; bytes are decoded as UTF-8.

    >>> text_of(True), text_of(b"sp\xc3\xa4t"), text_of(b"\xff")
    ('True', 'spät', '\\xff')
    """
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, Mapping):
        return str(_in_order(value))
    return value if isinstance(value, str) else str(value)


def _in_order(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    return {key: _in_order(each) for key, each in sorted(value.items())}


def is_true(argument: object) -> bool:
    """Return an argument as a boolean; ``false``, ``0`` and "" are False."""
    if not isinstance(argument, str):
        return bool(argument)
    try:
        return bool(float(argument))
    except ValueError:
        return argument.lower() not in ("", "false")


def _items(value: Any) -> Any:
    return () if value is None or isinstance(value, (bool, int, float)) else value


def _basename(value: Any, undefined: str = "") -> Any:
    if not value:
        return undefined
    if isinstance(value, list):
        return [_basename(each) for each in value]
    text = text_of(value)
    cut = text.rfind("/") if "/" in text else text.rfind("\\")
    return text[cut + 1 :] if cut >= 0 else text


def _color(value: Any, **colors: str) -> str:  # noqa: ARG001
    return text_of(value)  # as gcloud prints it without colors


def _count(value: Any) -> dict[Any, int]:
    found: dict[Any, int] = {}
    for each in _items(value):
        found[each] = found.get(each, 0) + 1
    return found


def _decode(value: Any, encoding: str, undefined: str = "") -> Any:
    if value is None:
        return undefined
    try:
        if encoding == "base64":
            padded = text_of(value).translate(str.maketrans("-_", "+/"))
            return base64.b64decode(padded)
        if isinstance(value, bytes):
            # Bytes that cannot be decoded become escapes.
            return value.decode(encoding, "backslashreplace")
    except (LookupError, ValueError):
        pass
    return undefined


def _encode(value: Any, encoding: str, undefined: str = "") -> Any:
    if value is None:
        return undefined
    raw = value if isinstance(value, bytes) else text_of(value).encode()
    if encoding == "base64":
        return base64.b64encode(raw).decode()
    try:
        return raw.decode(encoding)
    except (LookupError, ValueError):
        return undefined


def _error(value: Any, message: str | None = None) -> Any:
    raise InvalidArgument(message if message is not None else text_of(value))


def _extract(value: Any, *keys: str) -> list[Any]:
    return [found for each in keys if (found := value_at(value, argument_key(each)))]


def _firstof(value: Any, *keys: str) -> Any:
    found = (value_at(value, argument_key(each)) for each in keys)
    return next((each for each in found if each is not None), "")


def _flatten(value: Any, show: str = "", undefined: str = "", separator: str = ",") -> Any:
    def flat(each: Any) -> Any:
        return _flatten(each, show, undefined, separator)

    if isinstance(value, Mapping):
        return _list({key: flat(each) for key, each in value.items()}, show, undefined, separator)
    if isinstance(value, list) and value:
        nested = isinstance(value[0], (Mapping, list))
        return separator.join(text_of(flat(each) if nested else each) for each in value)
    return value or undefined


def float_text(value: Any, precision: str | int = 6, spec: str = "", undefined: str = "") -> str:
    """Write a float as gcloud does.

    >>> float_text("0.25"), float_text(1234567.0), float_text("x")
    ('0.25', '1234567.0', '')
    """
    try:
        number = float(value)
        text = f"{number:.{int(precision)}{spec}}"
    except (TypeError, ValueError):
        return undefined
    exponent = re.search(r"e\+(\d+)", text)
    return f"{number:.1f}" if exponent and int(exponent[1]) < 9 and not spec else text


def _group(value: Any, *keys: str) -> str:
    paths = [argument_key(each) for each in keys]
    groups = []
    for item in _items(value):
        first, *others = [value_at(item, each) for each in paths] if paths else [item]
        rest = ", ".join("" if each is None else text_of(each) for each in others)
        groups.append(f"[{'' if first is None else text_of(first)}{': ' + rest if others else ''}]")
    return " ".join(groups) or "[]"


def _join(value: Any, sep: str = "/", undefined: str = "") -> str:
    return sep.join(text_of(each) for each in _items(value)) or undefined


def _len(value: Any) -> int:
    return len(value) if hasattr(value, "__len__") else 0


def _list(value: Any, show: str = "", undefined: str = "", separator: str = ",") -> Any:
    if isinstance(value, Mapping):
        pairs = sorted(value.items())
        if show in ("keys", "values"):
            return separator.join(text_of(pair[show == "values"]) for pair in pairs)
        return separator.join(f"{key}={text_of(each)}" for key, each in pairs)
    if isinstance(value, list):
        return separator.join(map(text_of, value))
    return value or undefined


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _upper(value: Any) -> Any:
    return value.upper() if isinstance(value, str) else value


def _notnull(value: Any) -> list[Any]:
    return [each for each in _items(value) if each is not None]


def _regex(value: Any, expression: str, does_match: str | None = None, nomatch: str = "") -> Any:
    matches = isinstance(value, str) and bool(expression) and re.match(expression, value)
    return (does_match or value) if value and matches else nomatch


def _scope(value: Any, *names: str) -> str:
    if not value:
        return ""
    text = unquote(text_of(value))
    for name in names or ("regions", "zones"):
        if f"/{name}/" in text:
            return text.split(f"/{name}/")[-1]
    return text.split("/")[-1] if text.startswith("https://") else text


def _segment(value: Any, index: str | int = -1, undefined: str = "") -> str:
    segments = unquote(text_of(value)).split("/") if value else []
    try:
        return segments[int(index)] or undefined
    except IndexError:
        return undefined


_BINARY = {unit: float(2 ** (10 * (at + 1))) for at, unit in enumerate("KMGTP")}


def _size(
    value: Any,
    zero: str | None = "0",
    precision: str | int = 1,
    units_in: str = "",
    units_out: str = "",
    min: str | float = 0,
) -> str:
    if not value and zero is not None:
        return zero
    least = float(min)
    try:
        size = float(value)
    except (TypeError, ValueError):
        size = 0
    prefix, size = ("< ", least) if size < least else ("", size)
    size *= _unit(units_in)
    if units_out[:1].upper() in _BINARY and units_out:
        return f"{size / _unit(units_out):.{int(precision)}f}"
    units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"]
    while size >= 1024 and len(units) > 1:
        size /= 1024
        units.pop(0)
    return f"{prefix}{size:.{0 if size == int(size) else int(precision)}f} {units[0]}"


def _unit(name: str) -> float:
    try:
        return float(name) or 1.0
    except ValueError:
        return _BINARY.get(name[:1].upper(), 1.0)


def _slice(value: Any, op: str = ":", undefined: str = "") -> Any:
    try:
        bounds = [int(each) if each.strip() else None for each in op.split(":")]
        if len(bounds) == 1:
            assert bounds[0] is not None
            bounds.append(bounds[0] + 1 or None)
        return list(value[slice(*bounds)]) or undefined
    except (AssertionError, KeyError, TypeError, ValueError):
        return undefined


def _sort(value: Any, attr: str = "") -> list[Any]:
    key = argument_key(attr) if attr else ()
    found = [(value_at(each, key), each) for each in _items(value)]
    try:
        return [each for _, each in sorted(found, key=lambda pair: pair[0])]
    except TypeError:  # values of several types are compared as text
        return [each for _, each in sorted(found, key=lambda pair: text_of(pair[0]))]


def _split(value: Any, sep: str = "/", undefined: str = "") -> Any:
    return value.split(sep) if isinstance(value, str) and value and sep else undefined


def _sub(
    value: Any, pattern: str, replacement: str, count: str | int = 0, ignorecase: str | bool = True
) -> Any:
    if not isinstance(value, str):
        return value
    flags = re.MULTILINE | re.DOTALL | (re.IGNORECASE if is_true(ignorecase) else 0)
    return re.sub(pattern, replacement, value, count=int(count), flags=flags)


def _trailoff(value: Any, character_limit: str, undefined: str = "") -> Any:
    limit = int(character_limit)
    if limit <= 3 or not isinstance(value, str):
        return undefined
    return value if len(value) < limit else value[: limit - 3] + "..."


def _uri(value: Any, undefined: str = ".") -> str:
    return uri_of(value) or undefined


def _yesno(value: Any, yes: str | None = None, no: str = "No") -> Any:
    if not value:
        return no
    return value if yes is None else yes


FUNCTIONS: Mapping[str, Function] = {
    "basename": _basename,
    "color": _color,
    "count": _count,
    "decode": _decode,
    "encode": _encode,
    "error": _error,
    "extract": _extract,
    "fatal": _error,
    "firstof": _firstof,
    "flatten": _flatten,
    "float": float_text,
    "group": _group,
    "join": _join,
    "len": _len,
    "list": _list,
    "lower": _lower,
    "notnull": _notnull,
    "regex": _regex,
    "scope": _scope,
    "segment": _segment,
    "size": _size,
    "slice": _slice,
    "sort": _sort,
    "split": _split,
    "sub": _sub,
    "trailoff": _trailoff,
    "upper": _upper,
    "uri": _uri,
    "yesno": _yesno,
}
"""Transforms that need only the value; ``calls`` has the others."""


def bound(
    name: str, function: Function, arguments: Sequence[str]
) -> tuple[list[str], dict[str, str]]:
    """Return the positional and the named arguments of a call; InvalidArgument if they are wrong.

    A function without defaults has no named arguments, so its arguments may contain ``=``.
    """
    parameters = list(inspect.signature(function).parameters.values())[1:]
    named = {each.name for each in parameters if each.default is not each.empty}
    any_name = any(each.kind is each.VAR_KEYWORD for each in parameters)
    plain: list[str] = []
    by_name: dict[str, str] = {}
    for each in arguments:
        word, equals, value = each.partition("=")
        if equals and (any_name or (named and word in {each.name for each in parameters})):
            by_name[word] = value
        else:
            plain.append(each)
    try:
        inspect.signature(function).bind(None, *plain, **by_name)
    except TypeError:
        known = ", ".join(
            f"{p.name}={p.default}"
            if p.name in named
            else f"{'…' * (p.kind is p.VAR_POSITIONAL)}{p.name}"
            for p in parameters
        )
        raise InvalidArgument(
            f"{name}({', '.join(arguments)}): these arguments are not accepted; {name}({known}) "
            "is accepted"
        ) from None
    return plain, by_name
