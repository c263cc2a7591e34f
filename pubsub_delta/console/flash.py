"""Flash messages: the outcome of the last change, which the next page shows once."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass

MOST = 1_000
"""The largest number of waiting messages; the oldest are dropped first."""


@dataclass(frozen=True)
class Flash:
    """A message for the next page. ``is_problem``: whether it reports a failure."""

    text: str
    is_problem: bool = False


class FlashMessages:
    """Messages that a page shows once, by the key in the address of that page.

    >>> flashes = FlashMessages()
    >>> key = flashes.add(Flash("The topic was created."))
    >>> flashes.take(key), flashes.take(key)
    (Flash(text='The topic was created.', is_problem=False), None)
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_key: OrderedDict[str, Flash] = OrderedDict()

    def add(self, flash: Flash) -> str:
        """Keep a message until its page is shown; return its key."""
        key = secrets.token_urlsafe(8)
        with self._lock:
            self._by_key[key] = flash
            while len(self._by_key) > MOST:
                self._by_key.popitem(last=False)
        return key

    def take(self, key: str) -> Flash | None:
        """Return a message, which is then forgotten; None if it was shown before."""
        with self._lock:
            return self._by_key.pop(key, None)
