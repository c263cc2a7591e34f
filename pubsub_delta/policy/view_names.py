"""How the views of topics and subscriptions are called: names that every catalog takes."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Mapping

from pubsub_delta.errors import InvalidArgument

LONGEST = 128
"""Letters of the name of a view: Hive's metastore takes no more in some databases."""

_PREFIX = re.compile(r"[A-Za-z0-9_]{0,64}")


def check_prefix(prefix: str) -> str:
    """Return what all views are to begin with, or raise InvalidArgument."""
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix):
        raise InvalidArgument(
            f"prefix: {prefix!r}; up to 64 letters, digits and '_' are accepted, or none"
        )
    return prefix


def topic_view(topic: str) -> str:
    """Return what the view of a topic's messages is to be called.

    >>> topic_view("web-orders")
    'web_orders'
    """
    return re.sub(r"[^A-Za-z0-9_]", "_", topic)


def typed_view(topic: str) -> str:
    """Return what the view of a topic's messages with their fields is to be called.

    >>> typed_view("web-orders")
    'web_orders_typed'
    """
    return f"{topic_view(topic)}_typed"


def backlog_view(topic: str | None, subscription: str) -> str:
    """Return what the view of a subscription's backlog is to be called.

    ``topic``: None where it was deleted.

    >>> backlog_view("orders", "billing"), backlog_view(None, "billing")
    ('orders_billing_backlog', 'billing_backlog')
    """
    parts = [topic, subscription] if topic is not None else [subscription]
    return "_".join([*map(topic_view, parts), "backlog"])


def distinct(
    wanted: Mapping[str, str], prefix: str = "", reserved: Collection[str] = ()
) -> dict[str, str]:
    """Return the names of views by resource: each is another one, in any case of its letters.

    Where two resources would have the same, or one that is reserved or too long, theirs end with a
    digest of the resource's name. Neither keeps the plain one: who reads it should notice, rather
    than get the messages of another topic one day.

    >>> distinct({"topics/a-b": "a_b", "topics/c": "c"})
    {'topics/a-b': 'a_b', 'topics/c': 'c'}
    >>> distinct({"topics/a-b": "a_b", "topics/A.b": "A_b"})
    {'topics/a-b': 'a_b_9f85cc5b', 'topics/A.b': 'A_b_28678a32'}
    """
    plain = {resource: f"{prefix}{name}" for resource, name in wanted.items()}
    count = Counter(name.casefold() for name in plain.values())
    taken = {name.casefold() for name in reserved}
    found = {}
    for resource, name in plain.items():
        if count[name.casefold()] > 1 or name.casefold() in taken or len(name) > LONGEST:
            digest = hashlib.sha256(resource.encode()).hexdigest()[:8]
            name = f"{name[: LONGEST - 9]}_{digest}"
        found[resource] = name
    return found
