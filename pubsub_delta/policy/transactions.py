"""Application ids of Delta transactions, by which an append lands once.

Those of the library begin with ``OWN``, and no publisher may have one of these: what it published
under a high version would keep the library's own appends from landing.
"""

from __future__ import annotations

OWN = "pubsub_delta."


def application_of(subscription_uid: str) -> str:
    """Return the application id of what is appended for a subscription.

    >>> application_of("0a")
    'pubsub_delta.0a'
    """
    return f"{OWN}{subscription_uid}"
