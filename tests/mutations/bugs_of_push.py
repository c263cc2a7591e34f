"""Bugs of push, and of what people look at without a lease."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_PUSH = (
    Bug(
        "window-does-not-shrink",
        "A failure leaves the push window as large as it was.",
        "policy/push_window.py",
        "size = max(self.size / 2, 1)",
        "size = max(self.size, 1)",
    ),
    Bug(
        "every-failure-of-a-round-counts",
        "Each failed request of a round begins a longer pause.",
        "policy/push_window.py",
        "sent <= self.halved_at <= now:",
        "sent < self.halved_at - LONGEST_PAUSE:",
    ),
    Bug(
        "push-with-a-password",
        "The URL of an endpoint may have a user name and a password.",
        "policy/push_configs.py",
        'if "@" in parts.netloc:',
        'if "@@" in parts.netloc:',
    ),
    Bug(
        "retained-counted-as-unacked",
        "Acknowledged messages that are kept are counted as not acknowledged.",
        "delivery/surveys.py",
        "for s in self.spans if s.state not in acknowledged)",
        "for s in self.spans)",
    ),
    Bug(
        "waiting-messages-of-an-earlier-subscription-pushed",
        "Messages that wait for a stream are pushed for a later subscription of the name.",
        "server/hub.py",
        "            await self._refresh(running)\n"
        "        found = await self.dispatcher(name)\n"
        "        if found.leaser.uid != uid:\n"
        "            raise replaced(name)\n",
        "            pass\n        found = await self.dispatcher(name)\n",
    ),
    Bug(
        "endpoint-of-an-earlier-subscription",
        "A subscription is pushed to the endpoint of one that was found under its name before.",
        "server/hub.py",
        "        if found.leaser.uid != uid:\n            raise replaced(name)\n",
        "",
    ),
    Bug(
        "path-of-an-endpoint-cut",
        "What follows a semicolon in the path of an endpoint is left out.",
        "server/push_endpoint.py",
        "address = httpcore.URL(scheme=parts.scheme, host=name, port=parts.port, target=target)",
        "address = httpcore.URL(url)",
    ),
    Bug(
        "answer-before-its-request",
        "A second answer to a request is taken for that of the next one.",
        "server/push_endpoint.py",
        'if first is None or not (int(first[1]) == status or first[1].startswith(b"1")):',
        'if first is not None and first[1] == b"999":',
    ),
    Bug(
        "answer-on-a-new-connection",
        "What a new connection brings before its request is taken for the answer.",
        "server/push_endpoint.py",
        'if self._is_new and self._stream.get_extra_info("is_readable"):',
        'if not self._is_new and self._stream.get_extra_info("is_readable"):',
    ),
    Bug(
        "question-mark-cut",
        "The question mark at the end of an endpoint is left out.",
        "server/push_endpoint.py",
        'if "?" in url else',
        "if parts.query else",
    ),
    Bug(
        "endless-head",
        "Interim answers are read as long as an endpoint sends them.",
        "server/push_endpoint.py",
        "        self._head_left -= len(data)\n",
        "        self._head_left -= 0\n",
    ),
    Bug(
        "what-follows-an-answer",
        "What follows an answer to a push is taken for the beginning of the next answer.",
        "server/push_endpoint.py",
        'if info == "is_readable" and has_rest:',
        'if info == "has_rest" and has_rest:',
    ),
    Bug(
        "closed-while-it-was-kept",
        "A push on a kept connection that the endpoint has closed is a failed delivery.",
        "server/push_endpoint.py",
        "        except _ClosedWhileKept:\n            await self._exchange(url, request, codes)\n",
        "        except _ClosedWhileKept:\n            raise\n",
    ),
    Bug(
        "lookups-in-a-pool",
        "Names that are not found in time hold up the pushes to all endpoints.",
        "server/push_endpoint.py",
        "        return await self._lookups.addresses(host)\n",
        "        found = await asyncio.get_running_loop().getaddrinfo(host, None)\n"
        "        return [str(each[4][0]) for each in found]\n",
    ),
    Bug(
        "accepted-and-given-back",
        "A push that was accepted comes again after a server has ended, as its answer did not end.",
        "server/push_endpoint.py",
        "            if not codes:\n                raise\n",
        "            raise\n",
    ),
    Bug(
        "signed-for-an-earlier-endpoint",
        "What waits for its token is pushed to the endpoint that was there before.",
        "server/pushing.py",
        "if self.is_over or not is_held:",
        "if not is_held:",
    ),
    Bug(
        "header-with-an-underscore",
        "An attribute passes for metadata if it is written with underscores.",
        "server/push_requests.py",
        'if not _RESERVED.fullmatch(name.replace("_", "-"))',
        "if not _RESERVED.fullmatch(name)",
    ),
    Bug(
        "updates-used-in-any-order",
        "Of two updates at a time the one that was stored first is used for ten seconds.",
        "server/subscriber_service.py",
        "        async with lock:\n            changed",
        "        if lock:\n            changed",
    ),
)
