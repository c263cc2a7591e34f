"""Bugs of REST, and of the port that it shares with gRPC."""

from __future__ import annotations

from tests.mutations.bug import Bug

_FRONT = "server/multiplexer.py"
_CONNECTION = "server/rest/connection.py"
_GATEWAY = "server/rest/gateway.py"
_PAYLOAD = "server/rest/payload.py"
_TRANSCODING = "server/rest/transcoding.py"

BUGS_OF_REST = (
    Bug(
        "preface-in-two-parts",
        "A preface of HTTP/2 that comes in two parts is taken for HTTP/1.1.",
        _FRONT,
        "if not is_http_2 and PREFACE.startswith(self._first):",
        "if not is_http_2 and not self._first:",
    ),
    Bug(
        "front-holds-what-nobody-reads",
        "What a client does not read, and what gRPC does not, waits in the server without end.",
        _FRONT,
        "self.peer.transport.pause_reading()",
        "pass",
    ),
    Bug(
        "connections-without-end",
        "Any number of connections is taken.",
        _FRONT,
        "has_room = count < self._most",
        "has_room = True",
    ),
    Bug(
        "connection-of-grpc-counted-for-ever",
        "A connection of gRPC that has ended takes the room of another one.",
        _FRONT,
        "outer.ends_with = lambda: self.closed(counted)",
        "outer.ends_with = lambda: None",
    ),
    Bug(
        "last-words-of-grpc-lost",
        "What gRPC says at the end, such as why a stream ends, does not reach its client.",
        _FRONT,
        "await asyncio.wait([self._emptied], timeout=DRAIN_SECONDS)",
        "[transport.abort() for transport in tuple(self._open)]  # type: ignore[attr-defined]",
    ),
    Bug(
        "reply-waits-for-a-confirmation",
        "The system holds a reply back until the client has confirmed what was sent before.",
        _FRONT,
        "        carrier.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)\n",
        "",
    ),
    Bug(
        "silent-client-waited-for",
        "A client that connects and says nothing is waited for without end.",
        _FRONT,
        "self._timeout = loop.call_later(FIRST_BYTES_SECONDS, self._transport.abort)",
        "self._timeout = loop.call_later(3600, self._transport.abort)",
    ),
    Bug(
        "json-asked-for-over-http-2",
        "With TLS, a client that offers both protocols is given the one of gRPC.",
        "server/security.py",
        '["http/1.1", "h2"]',
        '["h2", "http/1.1"]',
    ),
    Bug(
        "chunked-body-without-end",
        "A body in chunks may be of any size.",
        _CONNECTION,
        "if len(body) > self._limits.body_size:",
        "if len(body) > self._limits.body_size * 1_000_000:",
    ),
    Bug(
        "large-bodies-all-at-once",
        "Any number of large bodies is held at a time.",
        _CONNECTION,
        "await self._large.acquire()",
        "self._large._value -= 1",
    ),
    Bug(
        "large-body-held-for-ever",
        "A large body that was answered keeps its place.",
        _CONNECTION,
        "                self._large.release()\n",
        "",
    ),
    Bug(
        "head-without-end",
        "A head that comes byte by byte is waited for without end.",
        _CONNECTION,
        "event = await _in_time(self._next_event(), self._limits.head)",
        "event = await self._next_event()",
    ),
    Bug(
        "body-without-end",
        "A body that stops is waited for without end.",
        _CONNECTION,
        "event = await _in_time(self._next_event(), self._limits.pause)",
        "event = await self._next_event()",
    ),
    Bug(
        "slow-body-without-end",
        "A body that comes byte by byte is waited for without end.",
        _CONNECTION,
        "body = await _in_time(self._body(head), self._limits.whole_body)",
        "body = await self._body(head)",
    ),
    Bug(
        "refused-body-unread",
        "A connection is closed on a body that was refused, so that its client reads no reason.",
        _CONNECTION,
        "            await self._drop_the_rest()",
        "            self._writer.transport.abort()",
    ),
    Bug(
        "pull-of-nobody",
        "A pull goes on though its client has gone away, and takes messages.",
        _CONNECTION,
        "await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)",
        "await asyncio.wait({work})",
    ),
    Bug(
        "reply-lost-at-the-end",
        "A request that is under way when the server ends gets no reply.",
        _CONNECTION,
        "            await asyncio.wait(tasks, timeout=grace)",
        "            [each.cancel() for each in tasks]",
    ),
    Bug(
        "last-request-waits-for-its-client",
        "Who asks once, by HTTP/1.0, keeps a connection that is of no use any more.",
        _CONNECTION,
        "return self._http.their_state in (h11.DONE, h11.MUST_CLOSE)",
        "return self._http.their_state is h11.DONE",
    ),
    Bug(
        "body-read-without-token",
        "The token is looked at after the body was read.",
        _GATEWAY,
        "            if self._tokens is not None:\n",
        "            if False:\n",
    ),
    Bug(
        "web-page-may-publish",
        "A web page that is open on this machine may publish and pull.",
        _GATEWAY,
        'if "origin" in headers or site not in ("none", "same-origin"):',
        "if False:",
    ),
    Bug(
        "any-name-is-this-machine",
        "A name that somebody else's DNS points to this machine is taken for its own.",
        _GATEWAY,
        "if local_names_only and host and not _is_this_machine(host):",
        "if False:",
    ),
    Bug(
        "any-content-is-json",
        "A body of another type, as forms of web pages send, is read as JSON.",
        _GATEWAY,
        'if body.strip() and kind.partition(";")[0].strip().lower() != "application/json":',
        "if False:",
    ),
    Bug(
        "error-without-details",
        "The details of an error, such as the ack ids that failed, do not reach clients of REST.",
        _GATEWAY,
        "if details is not None:",
        "if details is None:",
    ),
    Bug(
        "durations-of-any-script",
        "A duration in JSON may have more decimals than are kept, or digits of another script.",
        _PAYLOAD,
        "if not _TIMES[of.name].fullmatch(given):",
        "if not given:",
    ),
    Bug(
        "no-base64-is-other-data",
        "Data that is not base64 is published as other data.",
        _PAYLOAD,
        "if field.type == FieldDescriptor.TYPE_BYTES and not _BASE64.fullmatch(given):",
        "if False:",
    ),
    Bug(
        "field-given-twice",
        "Of a field that is given by both of its names one is dropped.",
        _PAYLOAD,
        "if field.name in seen:",
        "if False:",
    ),
    Bug(
        "name-given-twice",
        "Of a name that appears twice in an object the first value is dropped.",
        _PAYLOAD,
        "if len(found) < len(pairs):",
        "if False:",
    ),
    Bug(
        "body-wins-over-path",
        "A request is about the resource that its body names, and not its path.",
        _TRANSCODING,
        "        setattr(inside, last, value)\n",
        "        setattr(inside, last, getattr(inside, last) or value)\n",
    ),
    Bug(
        "mask-in-the-query-ignored",
        "Fields in the query are ignored where there is a body, as Terraform's updateMask.",
        _TRANSCODING,
        "if fields:",
        "if fields and not body:",
    ),
    Bug(
        "enums-always-by-name",
        "Enums are names, also for clients that ask for numbers.",
        _TRANSCODING,
        "message, use_integers_for_enums=enums_as_numbers",
        "message, use_integers_for_enums=False",
    ),
)
