"""The tree of a filter, as ``policy.filter_grammar`` parses it and three evaluators read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

BLANKS = " \t\r\n"
"""The characters that may stand between terms."""


@dataclass(frozen=True)
class Has:
    """``attributes:key``: the message has the attribute, whatever its value."""

    key: str


@dataclass(frozen=True)
class Equals:
    """``attributes.key = "value"``: false if the attribute is missing; ``!=`` negates it."""

    key: str
    value: str


@dataclass(frozen=True)
class HasPrefix:
    """``hasPrefix(attributes.key, "value")``: false if the attribute is missing."""

    key: str
    value: str


@dataclass(frozen=True)
class Not:
    """The negation of another filter."""

    term: Filter


@dataclass(frozen=True)
class And:
    """All of some filters."""

    terms: tuple[Filter, ...]


@dataclass(frozen=True)
class Or:
    """At least one of some filters."""

    terms: tuple[Filter, ...]


Filter: TypeAlias = "Has | Equals | HasPrefix | Not | And | Or"
