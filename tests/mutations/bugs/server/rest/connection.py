"""Seeded bugs of ``server/rest/connection.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_rest_connection.py",
    "tests/unit/test_rest_frameworks.py",
    "tests/unit/test_server_rest.py",
    "tests/unit/test_server_odd_calls.py",
    "tests/unit/test_rest_transcripts.py",
)

BUGS = (
    Bug(
        "chunked-body-without-end",
        "A body in chunks may be of any size.",
        "if max(sent, len(body)) > self._limits.body_size:",
        "if max(sent, len(body)) > self._limits.body_size * 1_000_000:",
    ),
    Bug(
        "large-bodies-all-at-once",
        "Any number of large bodies is held at a time.",
        "await self._large.acquire()",
        "self._large._value -= 1",
    ),
    Bug(
        "large-body-held-for-ever",
        "A large body that was answered keeps its place.",
        "                self._large.release()\n",
        "",
    ),
    Bug(
        "head-without-end",
        "A head that comes byte by byte is waited for without end.",
        "event = await _in_time(self._next_event(), self._limits.head)",
        "event = await self._next_event()",
    ),
    Bug(
        "body-without-end",
        "A body that stops is waited for without end.",
        "event = await _in_time(self._next_event(), self._limits.pause)",
        "event = await self._next_event()",
    ),
    Bug(
        "slow-body-without-end",
        "A body that comes byte by byte is waited for without end.",
        "body = await _in_time(self._body(head), self._limits.whole_body)",
        "body = await self._body(head)",
    ),
    Bug(
        "refused-body-unread",
        "A connection is closed on a body that was refused, so that its client reads no reason.",
        "            await self._drop_the_rest()",
        "            self._writer.transport.abort()",
    ),
    Bug(
        "pull-of-nobody",
        "A pull goes on though its client has gone away, and takes messages.",
        "await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)",
        "await asyncio.wait({work})",
    ),
    Bug(
        "reply-lost-at-the-end",
        "A request that is under way when the server ends gets no reply.",
        "            await asyncio.wait(tasks, timeout=grace)",
        "            [each.cancel() for each in tasks]",
    ),
    Bug(
        "last-request-waits-for-its-client",
        "Who asks once, by HTTP/1.0, keeps a connection that is of no use any more.",
        "return self._http.their_state in (h11.DONE, h11.MUST_CLOSE)",
        "return self._http.their_state is h11.DONE",
    ),
    Bug(
        "body-as-long-as-allowed",
        "A request whose Content-Length is exactly the limit is refused.",
        'if int(head.headers.get("content-length", 0)) > self._limits.body_size:',
        'if int(head.headers.get("content-length", 0)) >= self._limits.body_size:',
    ),
    Bug(
        "chunks-as-long-as-allowed",
        "A body in chunks of exactly the limit is refused.",
        "if max(sent, len(body)) > self._limits.body_size:",
        "if max(sent, len(body)) >= self._limits.body_size:",
    ),
    Bug(
        "any-clock-ends-connections",
        "A server whose clock tells the year 1969 closes every connection of REST without a reply.",
        "except FailedPrecondition:",
        "except OverflowError:",
    ),
    Bug(
        "place-of-a-large-body-given-back-twice",
        "Later requests of a connection give back a place for large bodies that they do not hold.",
        "                self._large.release()\n                self._holds_large = False\n",
        "                self._large.release()\n",
    ),
    Bug(
        "continued-without-asking",
        "A client that waits for 100-continue times out.",
        '            self._writer.write(self._http.send(ahead) or b"")\n',
        "            self._http.send(ahead)\n",
    ),
    Bug(
        "body-of-a-head",
        "The response to HEAD has a body.",
        '*([] if self._verb == b"HEAD" else [h11.Data(data=reply.body)])',
        "h11.Data(data=reply.body)",
    ),
    Bug(
        "repeated-header-replaces",
        "Of a repeated header the last value counts alone.",
        'headers[key] = f"{headers[key]}, {text}" if key in headers else text',
        "headers[key] = text",
    ),
    Bug(
        "pipelined-bytes-are-lost",
        "The beginning of a request that came during the one before is lost.",
        "            self._http.receive_data(part)\n            await asyncio.Event().wait()",
        "            await asyncio.Event().wait()",
    ),
    Bug(
        "traceback-of-broken-tls",
        "Whoever breaks the TLS of a connection writes tracebacks into the log.",
        "_BROKEN = (OSError, asyncio.TimeoutError, asyncio.IncompleteReadError)",
        "_BROKEN = (ConnectionError, asyncio.TimeoutError, asyncio.IncompleteReadError)",
    ),
    Bug(
        "gzip-of-any-size",
        "A body in gzip has no limit but that of the bytes that are sent.",
        "if max(sent, len(body)) > self._limits.body_size:",
        "if sent > self._limits.body_size:",
    ),
    Bug(
        "gzip-of-nothing-without-end",
        "A body in gzip that holds nothing may be of any size.",
        "if max(sent, len(body)) > self._limits.body_size:",
        "if len(body) > self._limits.body_size:",
    ),
    Bug(
        "gzip-cut-off",
        "A body in gzip that is cut off is read as if it were whole.",
        "                encoded.check_end()\n",
        "",
    ),
)
