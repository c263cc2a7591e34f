"""The grammar of filters, and the errors of texts that do not follow it."""

from __future__ import annotations

import re
from functools import lru_cache

from lark import Lark, Token, Transformer, UnexpectedCharacters, UnexpectedInput
from lark.exceptions import VisitError

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy.filter_terms import BLANKS, And, Equals, Filter, Has, HasPrefix, Not, Or

_GRAMMAR = r"""
    ?start: filter
    ?filter: term | conjunction | disjunction
    conjunction: term (_AND term)+
    disjunction: term (_OR term)+
    ?term: _positive | negation
    negation: (_NOT | _MINUS) _positive
    _positive: basic | "(" filter ")"
    ?basic: has | equals | differs | prefix
    has: _ATTRIBUTES ":" key
    equals: _ATTRIBUTES "." key "=" string
    differs: _ATTRIBUTES "." key "!=" string
    prefix: _HAS_PREFIX "(" _ATTRIBUTES "." key "," string ")"
    key: KEY | STRING
    string: STRING

    _AND.2: /AND(?![A-Za-z0-9_])/
    _OR.2: /OR(?![A-Za-z0-9_])/
    _NOT.2: /NOT(?![A-Za-z0-9_])/
    _MINUS: "-"
    _ATTRIBUTES.2: "attributes"
    _HAS_PREFIX.2: /hasPrefix(?![A-Za-z0-9_-])/
    KEY: /[A-Za-z0-9_-]+/
    STRING: /"(?:[^"\\]|\\.)*"/s
    %ignore /[ \t\r\n]+/
"""

_ESCAPE = re.compile(
    r"\\(?:(u[0-9A-Fa-f]{4})|(x[0-9A-Fa-f]{2})|([0-3][0-7]{2})|([\"\\n])|(.?))", re.S
)

_OTHER_FIELD = re.compile(r"(?:message\.)?(?:data|message_?id|publish_?time|ordering_?key)\b", re.I)

_DIGITS = {
    "u": ", with 4 hexadecimal digits",
    "x": ", with 2 hexadecimal digits",
    **dict.fromkeys("01234567", r", with 3 octal digits from \000 to \377"),
}
"""The missing part of an incomplete escape."""

_LONE_SURROGATE = re.compile(
    r"(?:(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F]|\\u[dD][89abAB](?!..\\u[dD][c-fC-F]))"
)

_NAMES = {
    "_AND": "AND", "_OR": "OR", "_NOT": "NOT", "_MINUS": "-", "_ATTRIBUTES": "attributes",
    "_HAS_PREFIX": "hasPrefix", "KEY": "a key", "STRING": 'a "string"', "LPAR": "(", "RPAR": ")",
    "COLON": ":", "DOT": ".", "EQUAL": "=", "__ANON_0": "!=", "COMMA": ",", "$END": "the end",
}  # fmt: skip


class _Build(Transformer[Token, "Filter"]):
    """Builds the filter from the parser's tree."""

    def has(self, found: list[str]) -> Filter:
        return Has(found[0])

    def equals(self, found: list[str]) -> Filter:
        return Equals(*found)

    def differs(self, found: list[str]) -> Filter:
        return Not(Equals(*found))

    def prefix(self, found: list[str]) -> Filter:
        return HasPrefix(*found)

    def negation(self, found: list[Filter]) -> Filter:
        return Not(found[0])

    def conjunction(self, found: list[Filter]) -> Filter:
        return And(tuple(found))

    def disjunction(self, found: list[Filter]) -> Filter:
        return Or(tuple(found))

    def key(self, found: list[Token]) -> str:
        return _unquoted(found[0]) if found[0].type == "STRING" else str(found[0])

    def string(self, found: list[Token]) -> str:
        return _unquoted(found[0])


class _BadEscape(Exception):
    """An escape that the grammar does not have, with its place in the text."""

    def __init__(self, place: int, escape: str) -> None:
        super().__init__(escape)
        self.place = place
        self.escape = escape


def _unquoted(token: Token) -> str:
    """Return the value of a quoted string."""
    place = (token.start_pos or 0) + 1

    def meaning(escape: re.Match[str]) -> str:
        unicode, hexadecimal, octal, plain, other = escape.groups()
        if other is not None:
            raise _BadEscape(place + escape.start(), escape[0])
        if plain is not None:
            return "\n" if plain == "n" else str(plain)
        return chr(int(octal, 8) if octal else int((unicode or hexadecimal)[1:], 16))

    text = _ESCAPE.sub(meaning, token[1:-1])
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        lone = _LONE_SURROGATE.search(token[1:-1])
        raise _BadEscape(place + (lone.start() if lone else 0), "a lone surrogate") from None


def parse(text: str) -> Filter:
    """Parse a filter that is not empty; InvalidArgument names the column of an error."""
    try:
        tree = _parser().parse(text)
        return _Build().transform(tree)
    except VisitError as error:
        if not isinstance(error.orig_exc, _BadEscape):
            raise
        escape = error.orig_exc
        raise _wrong(
            text,
            escape.place,
            f"{escape.escape} is not an escape; "
            r"\" \\ \n \uXXXX \xHH \OOO are accepted" + _DIGITS.get(escape.escape[1:], ""),
        ) from None
    except UnexpectedInput as error:
        raise _wrong(text, *_explain(text, error)) from None


@lru_cache(maxsize=1)
def _parser() -> Lark:
    return Lark(_GRAMMAR, parser="lalr", maybe_placeholders=False)


def _explain(text: str, error: UnexpectedInput) -> tuple[int, str]:
    """Return the column of an error, and its description."""
    token = getattr(error, "token", None)
    if isinstance(error, UnexpectedCharacters):
        place = error.pos_in_stream or 0
    else:
        place = len(text) if token is None or token.type == "$END" else token.start_pos or 0
    accepted = error.interactive_parser.accepts()  # type: ignore[no-untyped-call]
    wanted = " or ".join(sorted(_NAMES.get(name, name) for name in accepted))
    rest = text[place:]
    word = re.match(r"[A-Za-z]+", rest)
    if not rest.strip(BLANKS):
        return place, f"it ends where {wanted} should follow"
    if rest.startswith('"') and "STRING" in accepted:
        return place, "a string has no closing quote"
    if word and word[0] in ("AND", "OR") and {"_AND", "_OR"} & accepted:
        return place, "AND and OR cannot be mixed without parentheses"
    if word and word[0].upper() in ("AND", "OR", "NOT") and not word[0].isupper():
        return place, f"operators are upper case: {word[0].upper()}"
    hint = "; only attributes can be filtered" if _OTHER_FIELD.match(rest) else ""
    return place, f"{rest[:12]!r} stands where {wanted} should{hint}"


def _wrong(text: str, place: int, what: str) -> InvalidArgument:
    return InvalidArgument(f"filter: {text!r}, column {place + 1}: {what}")
