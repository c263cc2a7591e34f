"""Seeded bugs of ``policy/outstanding.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_suspended_processes.py",
    "tests/unit/test_outstanding.py",
    "tests/unit/test_moved_deadlines.py",
    "tests/unit/test_server_leaser.py",
    "tests/unit/test_server_leases.py",
    "tests/unit/test_callbacks.py",
    "tests/unit/test_lease_lengths.py",
)

BUGS = (
    Bug(
        "held-beyond-a-seek",
        "What consumers have counts against them though another process has sought.",
        "if each < response.first_lease_id]",
        "if each < 0]",
    ),
    Bug(
        "lost-lease-fails-a-turn",
        "A lease of which nothing is left breaks the request that finds it out.",
        "if lease is not None and not lease.read and not lease.unread:",
        "assert lease is not None\n        if not lease.read and not lease.unread:",
    ),
    Bug(
        "followers-given-away",
        "What returned to the store with a nack of its key is read and given to a consumer.",
        " or delivery.key in lease.returned_keys:",
        ":",
    ),
    Bug(
        "clients-lose-their-deadlines",
        "What clients have is leased for no longer than what waits.",
        "elif end is not None and end > now + self.length:",
        "elif False:",
    ),
    Bug(
        "nack-returns-the-earlier-ones",
        "A nack ends the lease of the earlier messages of its key, too.",
        "followers = [each for each in of_key if each.position > delivery.position]",
        "followers = [each for each in of_key if each.position != delivery.position]",
    ),
    Bug(
        "lease-shorter-than-its-client-has-it",
        "A lease ends up to ten seconds before the deadline that a client has for its message.",
        "deadline = -((now - end) // _STEP) * _STEP",
        "deadline = ((end - now) // _STEP) * _STEP",
    ),
    Bug(
        "a-lease-is-noted-by-its-longest-extension",
        "Where one client has a long deadline, the other messages of the lease are not extended.",
        "min(deadlines, default=lease.length)",
        "max(deadlines, default=lease.length)",
    ),
    Bug(
        "lost-messages-are-still-read",
        "Messages whose lease was lost before they were read reach the callback.",
        "        lease.unread -= positions\n        lost = self._of(",
        "        lost = self._of(",
    ),
    Bug(
        "earlier-deadline-is-not-extended",
        "A subscriber does not extend a message that was given an earlier deadline.",
        "        self._note_earlier_ends(request, now)\n",
        "",
    ),
    Bug(
        "own-extensions-seem-to-be-others",
        "A server takes its own extension of a lease for a new deadline of the client.",
        "                    delivery.leased_until = now + deadline\n",
        "                    pass\n",
    ),
    Bug(
        "moved-deliveries-are-released",
        "What another server was given a later deadline for is taken from its client here.",
        "failed = [delivery for delivery in expired if delivery not in moved]",
        "failed = expired",
    ),
    Bug(
        "acks-of-the-expired-are-lost",
        "A delivery that has expired, and was acknowledged meanwhile, is failed once more.",
        "        self.expired.pop(delivery.place, None)\n",
        "",
    ),
    Bug(
        "last-leases-in-whole-seconds",
        "At the end of a server a lease ends before the deadline that its consumer was given.",
        "max(-((now - end) // _SECOND), 1)",
        "max((end - now) // _SECOND, 1)",
    ),
    Bug(
        "stopping-server-nacks-the-overdue",
        "At its end a server nacks what is at its deadline: zero seconds.",
        "max(-((now - end) // _SECOND), 1)",
        "max(-((now - end) // _SECOND), 0)",
    ),
    Bug(
        "last-lease-ends-too-soon",
        "The last lease of a message ends up to a second before its client's deadline.",
        "by_end.setdefault(delivery.deadline, [])",
        "by_end.setdefault(delivery.deadline and delivery.deadline.replace(microsecond=0), [])",
    ),
    Bug(
        "sent-after-its-lease",
        "A server that was stopped sends what is leased no more, as its deadline has not passed.",
        "for end in (self.deadline, self.leased_until))",
        "for end in (self.deadline,))",
    ),
    Bug(
        "an-extension-of-an-earlier-request",
        "A lease is taken for longer than it is, by what only an earlier request asked for.",
        "        self._extending.clear()\n",
        "",
    ),
    Bug(
        "the-last-extension-is-a-second-short",
        "A message that a client has is leased for a second less than the client was told.",
        "deadline = max(-((now - end) // _SECOND), 1) * _SECOND",
        "deadline = max((end - now) // _SECOND, 1) * _SECOND",
    ),
)
