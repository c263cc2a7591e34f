"""Filters: the messages that a subscription delivers, by their attributes (Pub/Sub: filters).

    filter  := term { AND term } | term { OR term }
    term    := [ NOT | - ] ( basic | "(" filter ")" )
    basic   := attributes ":" key | attributes "." key ("=" | "!=") string
             | hasPrefix "(" attributes "." key "," string ")"

A filter is one tree, and has three evaluators: ``matches`` here, for one message, and ``matching``
of ``tables/lanes/direct/filters`` and of ``tables/lanes/spark/columns``, for many. Absorbing new
messages calls these, by ``Scans.fold``. One table of cases in the tests holds all three together.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy.filter_terms import BLANKS, And, Equals, Filter, Has, HasPrefix, Not, Or

MAX_FILTER_BYTES = 256


def parse_filter(text: str) -> Filter | None:
    """Parse a filter; None for an empty one. InvalidArgument names the column of an error.

    >>> parse_filter('attributes.lang = "en" AND NOT attributes:test')
    And(terms=(Equals(key='lang', value='en'), Not(term=Has(key='test'))))
    """
    if not isinstance(text, str):
        raise InvalidArgument(
            f'filter: {text!r} is not a string; a filter is accepted, or "" for none'
        )
    size = len(text.encode(errors="surrogatepass"))
    if size > MAX_FILTER_BYTES:
        raise InvalidArgument(
            f"filter: {text[:40]!r}… is {size} bytes; at most {MAX_FILTER_BYTES} are accepted"
        )
    return _parse(text) if text.strip(BLANKS) else None


def matches(filter_: Filter | None, attributes: Mapping[str, str]) -> bool:
    """Return whether a message with these attributes passes a filter; True without a filter."""
    match filter_:
        case None:
            return True
        case Has(key):
            return key in attributes
        case Equals(key, value):
            return attributes.get(key) == value
        case HasPrefix(key, value):
            return key in attributes and attributes[key].startswith(value)
        case Not(term):
            return not matches(term, attributes)
        case And(terms):
            return all(matches(term, attributes) for term in terms)
        case Or(terms):
            return any(matches(term, attributes) for term in terms)


@lru_cache(maxsize=256)
def _parse(text: str) -> Filter:
    from pubsub_delta.policy.filter_grammar import parse  # lark takes long to import

    return parse(text)
