"""Bugs of deadlines that are given to another server than the one that delivered the message."""

from __future__ import annotations

from tests.mutations.bug import Bug

_BOOK, _LEASER = "policy/outstanding.py", "server/leaser.py"

BUGS_OF_MOVED_DEADLINES = (
    Bug(
        "moved-deadlines-fail",
        "A delivery fails at the deadline that its server knows, whatever another one was given.",
        "policy/ack_requests.py",
        "moved = _moved_ends(state, request.known_ends, now)",
        "moved: dict[datetime, PositionsByLease] = {}",
    ),
    Bug(
        "extension-shortens-what-was-moved",
        "A server that extends its lease ends it before a deadline that another one was given.",
        "policy/ack_requests.py",
        "if end > now + deadline)",
        "if not deadline)",
    ),
    Bug(
        "only-later-ends-were-moved",
        "A new deadline at another server that is before the end of the lease is overlooked.",
        "policy/ack_requests.py",
        "known != span.until > now",
        "known < span.until > now",
    ),
    Bug(
        "own-extensions-seem-to-be-others",
        "A server takes its own extension of a lease for a new deadline of the client.",
        _BOOK,
        "                    delivery.leased_until = now + deadline\n",
        "                    pass\n",
    ),
    Bug(
        "moved-deliveries-are-released",
        "What another server was given a later deadline for is taken from its client here.",
        _BOOK,
        "failed = [delivery for delivery in expired if delivery not in moved]",
        "failed = expired",
    ),
    Bug(
        "moved-deadline-before-ones-own",
        "An earlier deadline at another server counts in place of a later one at this one.",
        _LEASER,
        "if delivery.deadline is None or delivery.deadline < end:",
        "if delivery.deadline != end:",
    ),
    Bug(
        "unsent-messages-wait-for-the-store",
        "What was not sent to its consumer stays in its way until the store has been asked.",
        _LEASER,
        "if delivery.is_sent:",
        "if delivery.is_outstanding:",
    ),
    Bug(
        "acks-of-the-expired-are-lost",
        "A delivery that has expired, and was acknowledged meanwhile, is failed once more.",
        _BOOK,
        "        self.expired.pop(delivery.place, None)\n",
        "",
    ),
    Bug(
        "a-seek-leaves-the-expired",
        "What has expired when a subscription is sought counts against its consumer for ever.",
        _LEASER,
        "        for delivery in self.outstanding.forget():\n",
        "        for delivery in list(self._sent._by_ack_id.values()):\n",
    ),
    Bug(
        "a-request-is-of-another-time",
        "The store counts leases from another time than the server does.",
        "server/dispatcher.py",
        "partial(self._channel.exchange, request, wanted, now, self.leaser.length)",
        "lambda: self._channel.exchange(request, wanted, self._now(), self.leaser.length)",
    ),
)
