"""Seeded bugs of ``server/push_endpoint.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_push_endpoint.py",
    "tests/unit/test_server_name_lookups.py",
    "tests/unit/test_server_push.py",
)

BUGS = (
    Bug(
        "path-of-an-endpoint-cut",
        "What follows a semicolon in the path of an endpoint is left out.",
        "address = httpcore.URL(scheme=parts.scheme, host=name, port=parts.port, target=target)",
        "address = httpcore.URL(url)",
    ),
    Bug(
        "answer-before-its-request",
        "A second answer to a request is taken for that of the next one.",
        'if first is None or not (int(first[1]) == status or first[1].startswith(b"1")):',
        'if first is not None and first[1] == b"999":',
    ),
    Bug(
        "answer-on-a-new-connection",
        "What a new connection brings before its request is taken for the answer.",
        'if self._is_new and self._stream.get_extra_info("is_readable"):',
        'if not self._is_new and self._stream.get_extra_info("is_readable"):',
    ),
    Bug(
        "question-mark-cut",
        "The question mark at the end of an endpoint is left out.",
        'if "?" in url else',
        "if parts.query else",
    ),
    Bug(
        "endless-head",
        "Interim answers are read as long as an endpoint sends them.",
        "        self._head_left -= len(data)\n",
        "        self._head_left -= 0\n",
    ),
    Bug(
        "what-follows-an-answer",
        "What follows an answer to a push is taken for the beginning of the next answer.",
        'if info == "is_readable" and has_rest:',
        'if info == "has_rest" and has_rest:',
    ),
    Bug(
        "closed-while-it-was-kept",
        "A push on a kept connection that the endpoint has closed is a failed delivery.",
        "        except _ClosedWhileKept:\n            await self._exchange(url, request, codes)\n",
        "        except _ClosedWhileKept:\n            raise\n",
    ),
    Bug(
        "lookups-in-a-pool",
        "Names that are not found in time hold up the pushes to all endpoints.",
        "        return await self._lookups.addresses(host)\n",
        "        found = await asyncio.get_running_loop().getaddrinfo(host, None)\n"
        "        return [str(each[4][0]) for each in found]\n",
    ),
    Bug(
        "accepted-and-given-back",
        "A push that was accepted comes again after a server has ended, as its answer did not end.",
        "            if not codes:\n                raise\n",
        "            raise\n",
    ),
    Bug(
        "a-slow-body-is-a-nack",
        "A push that was answered by 200 comes again if the rest of the answer is slow.",
        "            return codes[0] if codes else DEADLINE_EXCEEDED",
        "            return DEADLINE_EXCEEDED",
    ),
    Bug(
        "a-connection-remembers-its-first-response",
        "Another response on the same connection of push is compared with the first one.",
        'self._begun, self._head_left = b"", _MAX_HEAD_READ\n',
        "self._head_left = _MAX_HEAD_READ\n",
    ),
    Bug(
        "an-endpoint-without-a-path",
        "A push to an endpoint without a path and a query has an empty target.",
        'if "?" in url else parts.path or "/"',
        'if "?" in url else parts.path',
    ),
    Bug(
        "push-host-leaves-out-other-ports",
        "The Host header leaves out port 443 of an http URL, and 80 of an https one.",
        'parts.port in (None, {"http": 80, "https": 443}.get(parts.scheme))',
        "parts.port in (None, 80, 443)",
    ),
    Bug(
        "broken-body-is-no-answer",
        "A success whose body breaks off counts as no response.",
        "            return codes[0] if codes else UNREACHABLE",
        "            return UNREACHABLE",
    ),
    Bug(
        "handshake-in-vain-keeps-its-connection",
        "A connection whose handshake takes too long stays open.",
        "        except BaseException:  # httpcore keeps",
        "        except OSError:  # httpcore keeps",
    ),
)
