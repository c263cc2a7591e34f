"""Page tokens of listings: opaque text that names the last resource of the page before."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from typing import Protocol, TypeVar

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy.arguments import is_whole
from pubsub_delta.resources import Page

_PREFIX = b"after:"
_NUMBER = re.compile(r"-?[0-9]{1,18}")


class _HasName(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=_HasName)
T = TypeVar("T")


def page(
    items: Sequence[N], page_size: int | None, page_token: str | None, collection: str = ""
) -> Page[N]:
    """Return the page that follows a token, ordered by name; no size means all remaining items.

    ``collection``: what all names have in common, as ``projects/p/topics/``. The token of another
    listing is refused.
    """
    _check_size(page_size)
    after = _read(page_token) if page_token else ""
    if page_token and collection not in after:
        raise _no_token(page_token)
    rest = sorted((item for item in items if item.name > after), key=lambda item: item.name)
    shown = rest[:page_size]
    return Page(shown, _write(shown[-1].name) if len(shown) < len(rest) else "")


def page_in_order(
    items: Sequence[tuple[int, T]], page_size: int | None, page_token: str | None
) -> Page[T]:
    """Return the page that follows a token, of items with rising, permanent numbers.

    >>> first = page_in_order([(-2, "c"), (-1, "b"), (0, "a")], 2, None)
    >>> first, page_in_order([(-2, "c"), (0, "a")], 2, first.next_page_token)
    (['c', 'b'], ['a'])
    """
    _check_size(page_size)
    rest = list(items)
    if page_token:
        after = _read(page_token)
        if not _NUMBER.fullmatch(after):
            raise _no_token(page_token)
        rest = [item for item in items if item[0] > int(after)]
    shown = rest[:page_size]
    token = _write(str(shown[-1][0])) if rest[len(shown) :] else ""
    return Page((item for _, item in shown), token)


def _check_size(page_size: int | None) -> None:
    if page_size is not None and (not is_whole(page_size) or page_size < 1):
        raise InvalidArgument(f"page_size: {page_size!r} is out of range; 1 or more is accepted")


def _write(name: str) -> str:
    return base64.urlsafe_b64encode(_PREFIX + name.encode()).decode()


def _read(token: str) -> str:
    try:
        text = base64.b64decode(token.encode(), altchars=b"-_", validate=True)
        if text.startswith(_PREFIX):
            return text[len(_PREFIX) :].decode()
    except (AttributeError, UnicodeError, binascii.Error):
        pass
    raise _no_token(token)


def _no_token(token: object) -> InvalidArgument:
    return InvalidArgument(
        f"page_token: {token!r} is not a page token of this listing; "
        "pass the next_page_token of the page before, or none for the first page"
    )
