"""Application ids of Delta transactions, by which an append lands once.

Those of the library begin with ``OWN``, and no publisher may have one of these: what it published
under a high version would keep the library's own appends from landing.
"""

from __future__ import annotations

import re

OWN = "pubsub_delta."
ANNOUNCEMENTS = f"{OWN}announcements"
"""The application id of what retention announces in the log of a topic."""

_OF_LETTERS = re.compile(r"([^.:]+)\.\d+\.[^.:]+")


def application_of(subscription_uid: str) -> str:
    """Return the application id of what is appended for a subscription.

    >>> application_of("0a")
    'pubsub_delta.0a'
    """
    return f"{OWN}{subscription_uid}"


def publish_id_of_letters(subscription_uid: str, number: int, digest: str) -> str:
    """Return the publish id of the dead letters of one forwarding.

    >>> publish_id_of_letters("0a", 3, "d1")
    '0a.3.d1'
    """
    return f"{subscription_uid}.{number}.{digest}"


def source_of_letters(publish_id: str) -> str | None:
    """Return the uid of the subscription that forwarded dead letters; None for other publishes.

    >>> source_of_letters("0a.3.d1"), source_of_letters("0b"), source_of_letters("app:7")
    ('0a', None, None)
    """
    found = _OF_LETTERS.fullmatch(publish_id)
    return None if found is None else found[1]
