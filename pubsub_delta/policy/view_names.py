"""The names and the comments of views of topics and subscriptions, as every catalog takes them."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Mapping

from pubsub_delta.errors import InvalidArgument

LONGEST = 128
"""The most letters of the name of a view: Hive's metastore accepts no more in some databases."""

LONGEST_COMMENT = 256
"""The most letters of the comment of a column: Hive's metastore accepts no more."""

_PREFIX = re.compile(r"[A-Za-z0-9_]{0,64}")


def check_prefix(prefix: str) -> str:
    """Return the checked beginning of all names of views; InvalidArgument."""
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix):
        raise InvalidArgument(
            f"prefix: {prefix!r}; up to 64 letters, digits and '_' are accepted, or none"
        )
    return prefix


def topic_view(topic: str) -> str:
    """Return the name of the view of a topic's messages.

    >>> topic_view("web-orders")
    'web_orders'
    """
    return re.sub(r"[^A-Za-z0-9_]", "_", topic)


def typed_view(topic: str) -> str:
    """Return the name of the view of a topic's messages with their fields.

    >>> typed_view("web-orders")
    'web_orders_typed'
    """
    return f"{topic_view(topic)}_typed"


def backlog_view(topic: str | None, subscription: str) -> str:
    """Return the name of the view of a subscription's backlog. ``topic``: None if it was deleted.

    >>> backlog_view("orders", "billing"), backlog_view(None, "billing")
    ('orders_billing_backlog', 'billing_backlog')
    """
    parts = [topic, subscription] if topic is not None else [subscription]
    return "_".join([*map(topic_view, parts), "backlog"])


def distinct(
    wanted: Mapping[str, str], prefix: str = "", reserved: Collection[str] = ()
) -> dict[str, str]:
    """Return distinct names of views by resource, in any case of their letters.

    A name that two resources would share, or that is reserved or too long, ends with a digest of
    the resource's name. Neither of the two keeps the plain name, so that a reader never gets the
    messages of another topic by it. Nor does a resource whose plain name is one with a digest.

    >>> distinct({"topics/a-b": "a_b", "topics/c": "c"})
    {'topics/a-b': 'a_b', 'topics/c': 'c'}
    >>> distinct({"topics/a-b": "a_b", "topics/A.b": "A_b"})
    {'topics/a-b': 'a_b_9f85cc5b', 'topics/A.b': 'A_b_28678a32'}
    """
    plain = {resource: f"{prefix}{name}" for resource, name in wanted.items()}
    taken = {name.casefold() for name in reserved}
    found = dict(plain)
    while True:
        count = Counter(name.casefold() for name in found.values())
        clashing = [
            resource
            for resource, name in plain.items()
            if found[resource] == name
            and (count[name.casefold()] > 1 or name.casefold() in taken or len(name) > LONGEST)
        ]
        if not clashing:
            return found
        for resource in clashing:
            digest = hashlib.sha256(resource.encode()).hexdigest()[:8]
            found[resource] = f"{plain[resource][: LONGEST - 9]}_{digest}"


def comment(identity: Mapping[str, str]) -> str:
    """Return the comment that identifies a view: the end of its resource's name, if not all fits.

    ``identity``: with the resource's name as ``of``; the rest has fewer letters than fit.
    """
    text = f"pubsub_delta {json.dumps(identity)}"
    over = max(0, len(text) - LONGEST_COMMENT)
    return f"pubsub_delta {json.dumps({**identity, 'of': identity['of'][over:]})}"
