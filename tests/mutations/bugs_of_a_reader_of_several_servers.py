"""Bugs where several servers of a store, or one over its whole life, would break a promise."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_A_READER_OF_SEVERAL_SERVERS = (
    Bug(
        "sent-after-a-suspension",
        "A server that was stopped sends what another has delivered and acknowledged meanwhile.",
        "server/response_queue.py",
        "if held and self._may_send(delivery):",
        "if held:",
    ),
    Bug(
        "sent-after-its-lease",
        "A server that was stopped sends what is leased no more, as its deadline has not passed.",
        "policy/outstanding.py",
        "for end in (self.deadline, self.leased_until))",
        "for end in (self.deadline,))",
    ),
    Bug(
        "pushed-after-a-suspension",
        "What another can have since its token was asked for is pushed.",
        "server/pushing.py",
        "is_held = delivery.is_outstanding and self.dispatcher.may_send(delivery)",
        "is_held = delivery.is_outstanding",
    ),
    Bug(
        "called-after-a-suspension",
        "A program that was stopped calls its callback with what another has acknowledged.",
        "callbacks.py",
        "if not call.may_be_sent(self._now()):",
        "if False:",
    ),
    Bug(
        "looked-for-before-it-was-deleted",
        "What is published to a topic that was created anew goes to the one before.",
        "server/publishing.py",
        """\
            await self._gathered(expected)
            batch = self._take()
            try:
                append = await self._blocking(self._publisher)
""",
        """\
            append = await self._blocking(self._publisher)
            await self._gathered(expected)
            batch = self._take()
            try:
""",
    ),
    Bug(
        "published-for-who-left-during-the-look",
        "What waits for a topic that another process writes is published though its client left.",
        "server/publishing.py",
        "batch = [request for request in batch if not request.done.done()]",
        "pass",
    ),
    Bug(
        "traceback-of-an-orderly-end",
        "A server that ends in order while another looks for it is told as a failure.",
        "server/lease_journals.py",
        "own.iterdir() if own.exists() else ()",
        "own.iterdir()",
    ),
    Bug(
        "nothing-is-left-to-give-back",
        "A subscription hangs when a server gives back what a nack elsewhere has let return.",
        "tables/messages/stored.py",
        """\
        if not of or not among:
            return Positions()
        scans = self._lanes.scans(self._table, sum(map(len, (*of, *among))))
        return scans.followers(""",
        """\
        scans = self._lanes.scans(self._table, sum(map(len, (*of, *among))))
        return scans.followers(""",
    ),
    Bug(
        "nothing-holds-up-a-key",
        "A question for the messages of the keys of nothing is an unexpected failure.",
        "tables/messages/stored.py",
        """\
        if not of or not among:
            return Positions()
        scans = self._lanes.scans(self._table, sum(map(len, (*of, *among))))
        return scans.of_same_keys(""",
        """\
        scans = self._lanes.scans(self._table, sum(map(len, (*of, *among))))
        return scans.of_same_keys(""",
    ),
    Bug(
        "streams-beside-pushes",
        "Streams of a server without keys go on when another server is to push with a token.",
        "server/pushing.py",
        "                streaming.end(cannot_pull(subscription))",
        "                pass",
    ),
    Bug(
        "kept-though-deleted-elsewhere",
        "A server keeps something of every subscription that another process has deleted.",
        "server/dispatcher.py",
        "self.is_over = not self.leaser.has_confirmations",
        "pass",
    ),
    Bug(
        "forgotten-though-not-told",
        "An ack whose success was not told fails when it is repeated after a minute of rest.",
        "server/dispatcher.py",
        "self.is_over = not self.leaser.has_confirmations",
        "self.is_over = True",
    ),
    Bug(
        "woken-for-nobody",
        "A publish costs the more, the more subscriptions have been served and left.",
        "server/dispatcher.py",
        "        if self._receivers or not self.leaser.is_empty:\n            self._woken.set()",
        "        self._woken.set()",
    ),
    Bug(
        "failed-at-the-next-server",
        "An ack that succeeded beside one that failed is told as failed by another server.",
        "server/subscriber_service.py",
        "together = can_name_all(request.ack_ids)",
        "together = False",
    ),
    Bug(
        "unwritten-is-a-success",
        "An ack that was not written passes for written where exactly-once was turned off since.",
        "server/subscriber_service.py",
        "if {TRANSIENT, OF_OTHERS} & set(future.failures.values()):",
        "if {TRANSIENT} & set(future.failures.values()):",
    ),
    Bug(
        "written-beside-what-is-no-ack-id",
        "An ack that succeeded beside what is no ack id is told as failed by another server.",
        "server/leaser.py",
        "places.append((0, 0))  # it fails",
        "pass",
    ),
    Bug(
        "unwritten-and-not-named",
        "Java's client takes an ack for written that is not, as the error had no room to name it.",
        "server/subscriber_service.py",
        "together = can_name_all(request.ack_ids)",
        "together = True",
    ),
    Bug(
        "postponed-for-good",
        "An ack that was not written beside one that failed is told as failed for good.",
        "policy/ack_buffer.py",
        'outcome = "postponed"',
        "pass",
    ),
    Bug(
        "postponed-beside-a-success",
        "An ack waits to be repeated, as another one of its call had succeeded before.",
        "server/leaser.py",
        """\
                self.acks.acknowledge_again(place, (ack_id, future))
""",
        """\
                self.acks.acknowledge_again(place, (ack_id, future))
                places.append(place)
""",
    ),
)
