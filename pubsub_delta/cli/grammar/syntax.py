"""The lark grammars of filters, projections and keys; a parser is built at its first use.

A name needs quotes if it has blanks or reserved characters. Quotes may begin anywhere in a word,
and are removed: ``name:'my topic'``, ``"pr"od``.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from pubsub_delta.errors import InvalidArgument

if TYPE_CHECKING:
    from lark import Lark, Tree

_QUOTED = r"""\\.|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'"""
_NAME = rf"""(?:{_QUOTED}|[^\s:=!<>~()\[\].{{}},+*\/%&|^#;?"'\\])+"""
_SLICES = r"(?:\[[^\]]*\])"
_KEY = rf"(?:{_NAME}){_SLICES}*(?:\.(?:(?:{_NAME}){_SLICES}*|{_SLICES}+))*"

_WORDS = rf"""
KEY.2: /{_KEY}/
CALL.3: /(?:{_KEY}\.)?\**(?:{_NAME})\(/
MORE.3: /\.\**(?:{_NAME})\(/
CHUNK: /(?:{_QUOTED}|[^,()"'\\\s])(?:{_QUOTED}|[^,()"'\\])*/

calls: CALL arguments ")" (MORE arguments ")")*
arguments: [argument ("," argument)*]
argument: (CHUNK | nested)+
nested: "(" (CHUNK | nested | COMMA)* ")"
COMMA: ","
%ignore /\s+/
"""

_FILTER = rf"""
start: [group]
group: disjunction+
disjunction: conjunction (_OR conjunction)*
conjunction: factor (_AND factor)*
factor: _NOT term -> negated
      | term
?term: "(" group ")"
     | MINUS plain -> negated
     | plain
?plain: left OPERATOR operand -> comparison
      | calls -> called
      | (KEY | BARE) -> anywhere
left: KEY | SELF | calls
operand: OPERAND
       | "(" (ITEM | COMMA)* ")" -> operands

_AND.4: /AND(?=[\s(]|$)/
_OR.4: /OR(?=[\s(]|$)/
_NOT.4: /NOT(?=[\s(]|$)/
MINUS.4: "-"
SELF.3: /\.(?=[:=!<>~])/
BARE: /[\[\].{{}},+*\/%&|^#;?](?:{_QUOTED}|[^\s:=!<>~()"'\\])*/
OPERATOR.2: /[:=!<>~]{{1,2}}/
OPERAND: /(?:{_QUOTED}|[^\s()"'\\])+/
ITEM: /(?:{_QUOTED}|[^\s,()"'\\])+/
{_WORDS}
"""

_PROJECTION = rf"""
start: clause*
?clause: KIND -> kind
       | "[" attribute ("," attribute)* "]" -> attributes
       | fields
       | ":" fields -> defaults
fields: "(" [field ("," field)*] ")"
field: place (":" setting)*
?place: KEY -> key
      | SELF -> whole
      | SELF? calls -> transformed
attribute: ATTRIBUTE ["=" VALUE?]
setting: SETTING ["=" WORTH?]

KIND: /[A-Za-z]+/
SELF.1: "."
ATTRIBUTE: /[^=,\]\s]+/
VALUE: /(?:{_QUOTED}|[^,\]\s"'\\])+/
SETTING: /[^=:,)\s]+/
WORTH: /(?:{_QUOTED}|[^:,)\s"'\\])+/
{_WORDS}
"""

_KEYS = rf"""
start: KEY | SELF
SELF: "."
KEY: /{_KEY}/
%ignore /\s+/
"""

_GRAMMARS = {"filter": _FILTER, "projection": _PROJECTION, "key": _KEYS}
_ACCEPTED = {
    "filter": "name:my-topic*, labels.env=(prod test) AND NOT topic~^projects/other/ is accepted",
    "projection": "table(name.basename():label=TOPIC, labels.env) or value[separator=','](name) is "
    "accepted",
    "key": "a dotted path is accepted, such as message.attributes.carrier",
}


def parse(what: str, text: str, field: str) -> Tree[Any]:
    """Parse a filter, projection or key; InvalidArgument names the column of an error.

    >>> parse("filter", "name:(a b)", "filter").pretty().split()[0]
    'start'
    """
    from lark.exceptions import UnexpectedInput, UnexpectedToken

    try:
        return _parser(what).parse(text)
    except UnexpectedInput as error:
        ended = isinstance(error, UnexpectedToken) and error.token.type == "$END"
        at = len(text) if ended or error.pos_in_stream is None else error.pos_in_stream
    came = f"column {at + 1} is not expected: {text[at : at + 20]!r}"
    raise syntax_error(field, text, came if at < len(text) else "it ends too early", what)


TOO_DEEP = "its parentheses are nested too deeply"
"""The error of text with too many levels of parentheses."""


def syntax_error(field: str, text: str, why: str, what: str) -> InvalidArgument:
    """Return the error of an invalid filter, projection or key."""
    return InvalidArgument(f"{field}: {text!r}: {why}; {_ACCEPTED[what]}")


def unquoted(text: str) -> str:
    r"""Remove the quotes of a word; a backslash escapes a quote or itself.

    >>> unquoted("'my topic'"), unquoted('"pr"od'), unquoted(r"it\'s"), unquoted(r"a\d")
    ('my topic', 'prod', "it's", 'a\\d')
    """
    if not any(mark in text for mark in "\\\"'"):
        return text
    word, quote, at = [], "", 0
    while at < len(text):
        each = text[at]
        if each == "\\" and at + 1 < len(text):
            at += 1
            following = text[at]
            escaped = following in ("\\", quote) or (not quote and following in "\"'")
            word.append(following if escaped else each + following)
        elif each == quote:
            quote = ""
        elif not quote and each in "\"'":
            quote = each
        else:
            word.append(each)
        at += 1
    return "".join(word)


def small_number(text: str) -> int | None:
    """Return a whole number of up to six digits, as a width or a place has; None otherwise.

    A wider column would fill the memory, and Python reads no number of thousands of digits.

    >>> small_number("20"), small_number("²"), small_number("-1"), small_number("1000000")
    (20, None, None, None)
    """
    return int(text) if re.fullmatch("[0-9]{1,6}", text) else None


@cache
def _parser(what: str) -> Lark:
    from lark import Lark  # takes longer to import than most commands take

    return Lark(_GRAMMARS[what], parser="lalr", maybe_placeholders=False)
