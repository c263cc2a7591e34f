"""Evaluates filters on the attributes of many messages, in Arrow (see ``policy.filters``)."""

from __future__ import annotations

from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from pubsub_delta.policy.filter_terms import And, Equals, Filter, Has, HasPrefix, Not, Or


def matching(filter_: Filter, attributes: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return for each message whether it passes a filter, by its map of attributes or null."""
    match filter_:
        case Has(key):
            return pc.is_valid(_looked_up(attributes, key, "all"))
        case Equals(key, value):
            return _true(pc.equal(_looked_up(attributes, key), pa.scalar(value)))
        case HasPrefix(key, value):
            return _true(pc.starts_with(_looked_up(attributes, key), pattern=value))
        case Not(term):
            return pc.invert(matching(term, attributes))
        case And(terms):
            return reduce(pc.and_, (matching(term, attributes) for term in terms))
        case Or(terms):
            return reduce(pc.or_, (matching(term, attributes) for term in terms))


def _looked_up(attributes: pa.ChunkedArray, key: str, which: str = "first") -> pa.ChunkedArray:
    return pc.map_lookup(attributes, pa.scalar(key, pa.string()), which)


def _true(found: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.fill_null(found, False)  # a missing attribute is not equal, and has no prefix
