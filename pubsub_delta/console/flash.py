"""Flash messages: what was done just before. A page shows one once, and not after a reload."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict

MOST = 1_000
"""So many notes wait for their page at most; the oldest go first."""


class FlashMessages:
    """Messages that a page shows once, by the key in the address of that page.

    >>> notes = FlashMessages()
    >>> key = notes.add("The topic was created.")
    >>> notes.take(key), notes.take(key)
    ('The topic was created.', '')
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._texts: OrderedDict[str, str] = OrderedDict()

    def add(self, text: str) -> str:
        """Keep a note until its page is shown; return its key."""
        key = secrets.token_urlsafe(8)
        with self._lock:
            self._texts[key] = text
            while len(self._texts) > MOST:
                self._texts.popitem(last=False)
        return key

    def take(self, key: str) -> str:
        """Return a note, which is then forgotten; nothing where it was shown before."""
        with self._lock:
            return self._texts.pop(key, "")
