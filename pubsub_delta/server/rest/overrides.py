"""X-HTTP-Method-Override: a POST that means another HTTP method.

Google's APIs: who cannot send a method, or an address of more than some 2,000 characters, sends a
POST with the method in this header. Google's generated client for Java so sends PATCH, and those
for Java and Python a GET with a long query, which is then the body, as forms write it.
"""

from __future__ import annotations

from dataclasses import replace

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.server.rest.responses import RequestHead

_HEADER = "x-http-method-override"
_FORM = "application/x-www-form-urlencoded"
_LONGEST_QUERY = 32 * 1024
"""Bytes; as much as a head may have, where the query of a GET is otherwise."""


def meant(head: RequestHead) -> RequestHead:
    """Return a request with the HTTP method that it means. Only a POST can mean another one."""
    wanted = head.headers.get(_HEADER, "").strip().upper()
    return replace(head, verb=wanted) if wanted and head.verb == "POST" else head


def with_query(head: RequestHead, body: bytes) -> tuple[RequestHead, bytes]:
    """Return a request that means a GET with its query, and without the body that had it."""
    kind = head.headers.get("content-type", "").partition(";")[0].strip().lower()
    if head.verb != "GET" or kind != _FORM or _HEADER not in head.headers:
        return head, body
    if len(body) > _LONGEST_QUERY:
        raise InvalidArgument(
            f"the query in the body has {len(body):,} bytes; {_LONGEST_QUERY:,} are accepted"
        )
    form = body.decode("latin-1").strip()
    return replace(head, query="&".join(filter(None, (head.query, form)))), b""
