"""Writes records as YAML documents, as settings, or with one line for each value."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from pubsub_delta.cli.formats import Format
from pubsub_delta.cli.grammar.transforms import float_text, text_of
from pubsub_delta.cli.terminal import escaped

_WIDTH = 80
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$|0o[0-7]+$")
_OF_NO_VARIABLE = re.compile(r"\W", re.ASCII)
_ENTITIES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}


def yaml_text(value: Any, null: str | None = None) -> str:
    """Write a value as YAML with sorted keys. ``null``: the text for None.

    Text that YAML would read as another type is quoted; text of several lines is a block.

    >>> print(yaml_text({"name": "t", "ids": ["7"], "policy": {}, "ttl": "60s"}), end="")
    ids:
    - '7'
    name: t
    policy: {}
    ttl: 60s
    """
    import yaml

    plain = _plain(value, null)
    text = yaml.dump(
        plain,
        Dumper=_dumper(),
        default_flow_style=False,
        allow_unicode=True,
        sort_keys=True,
        width=_WIDTH,
    )
    # Control characters are in double quotes only, where these escapes are valid.
    return escaped(text.removesuffix("...\n"), _in_quotes)


def document_start(text: str, value: Any, kind: str) -> str:
    """Return one of several documents with its ``---`` line; a scalar is indented."""
    bare = kind not in ("flattened", "text") and not isinstance(value, (Mapping, list))
    return "---\n" + ("  " if bare else "") + text


def flattened(value: Any, form: Format) -> str:
    """Write a value as lines of key and text; a column has its label as key."""
    from pubsub_delta.cli.grammar.keys import key_name

    labels = {key_name(each.key): each.heading.lower() for each in form.columns}
    lines = [(labels.get(name) or name, text) for name, text in _leaves(value, "")]
    separator = form.attributes.get("separator", ": ")
    width = 0 if "no-pad" in form.attributes else max((len(name) for name, _ in lines), default=0)
    return "".join(f"{name}{separator}{' ' * (width - len(name))}{text}\n" for name, text in lines)


def config(value: Any, given: Mapping[str, str]) -> str:
    """Write a mapping as sections of settings, or as shell commands; other values as nothing."""
    if not isinstance(value, Mapping):
        return ""
    if "export" in given or "unset" in given:
        pairs = _variables(value, "")
        if "export" in given:
            return "".join(f"export {k}={shlex.quote(text_of(v))}\n" for k, v in pairs)
        return "".join(f"unset {name}\n" for name, _ in pairs)
    return _section(value, ())


def _section(value: Mapping[Any, Any], path: tuple[str, ...]) -> str:
    top, inner = "", ""
    for name, each in sorted(value.items()):
        if isinstance(each, list):
            each = dict(enumerate(each))
        if isinstance(each, Mapping):
            inner += _section(each, (*path, str(name)))
        else:
            top += f"{name} (unset)\n" if each is None else f"{name} = {text_of(each)}\n"
    named = path and (top or (inner and not inner.startswith("[")))
    return (f"[{'.'.join(path)}]\n" if named else "") + top + inner


def _variables(value: Mapping[Any, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """Yield the values of a mapping, each with a name that a shell reads as nothing else."""
    for name, each in sorted(value.items()):
        if isinstance(each, list):
            each = {f"I{number}": item for number, item in enumerate(each)}
        if isinstance(each, Mapping):
            yield from _variables(each, f"{prefix}{name}_")
        else:
            yield _OF_NO_VARIABLE.sub("_", f"{prefix}{name}"), "" if each is None else each


def _leaves(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for key, each in sorted(value.items()):
            yield from _leaves(each, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list) and value:
        for number, each in enumerate(value):
            yield from _leaves(each, f"{name}[{number}]")
    else:
        text = float_text(value) if isinstance(value, float) else text_of(value)
        outer = text[:1].isspace() or text[-1:].isspace()
        quoted = "".join(_ENTITIES.get(each, each) for each in text)
        yield name, f'"{quoted}"' if outer or "\n" in text else text


def _plain(value: Any, null: str | None) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(each, null) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each, null) for each in value]
    if value is None:
        return null
    return text_of(value) if isinstance(value, bytes) else value


def _in_quotes(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


@cache
def _dumper() -> Any:
    """Return a YAML dumper with blocks for several lines, and quotes for control characters."""
    import yaml

    dumper: Any = type("Dumper", (yaml.SafeDumper,), {"ignore_aliases": lambda _, __: True})

    def text(to: Any, value: str) -> Any:
        style = None
        if not value.replace("\n", "").isprintable():
            style = '"'
        elif "\n" in value:
            style = "|"
        return to.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    def number(to: Any, value: float) -> Any:
        return to.represent_scalar("tag:yaml.org,2002:float", float_text(value))

    # Text that only YAML 1.2 reads as a number is quoted, too.
    dumper.add_implicit_resolver("tag:yaml.org,2002:float", _NUMBER, list("+-.0123456789"))
    dumper.add_representer(str, text)
    dumper.add_representer(float, number)
    return dumper
