"""Bugs of a tenth outsider, which the tests near them did not notice."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_A_TENTH_OUTSIDER = (
    Bug(
        "a-number-instead-that-is-given-again",
        "A lease gets the number that a forwarding was given after a restore.",
        "policy/redelivery.py",
        "next_lease_id=higher + 1)",
        "next_lease_id=higher)",
    ),
    Bug(
        "decided-deliveries-not-counted",
        "A dead letter tells one delivery where the policy has changed since it was decided.",
        "policy/redelivery.py",
        "span if _decided(span) else replace(span, delivery_attempt=1)",
        "replace(span, delivery_attempt=1)",
    ),
    Bug(
        "a-nack-told-as-the-ack-after-it",
        "Who waits for a nack is told the outcome of a later ack.",
        "policy/ack_buffer.py",
        """.get(position, NACK):
            del""",
        """.get(position, None) is not None:
            del""",
    ),
    Bug(
        "a-moved-deadline-with-a-known-end",
        "A client's new deadline gives way to that of another process.",
        "policy/ack_buffer.py",
        "_some(_without(named, modified)) for end",
        "_some(dict(named)) for end",
    ),
    Bug(
        "unbounded-acks-of-failed-requests",
        "While the store cannot be written, a client can send any number of acks.",
        "policy/ack_buffer.py",
        "len(self._sent or ()) + len(self._next)",
        "len(self._next)",
    ),
    Bug(
        "acks-held-back-are-subtracted",
        "Acks that wait for a seek to end make room for others.",
        "policy/ack_buffer.py",
        "+ len(self._held_back)",
        "- len(self._held_back)",
    ),
    Bug(
        "keep-alives-for-old-clients",
        "The server answers an empty request of a client that knows no keep-alive.",
        "server/streams.py",
        "first.protocol_version >= KEEP_ALIVE and not",
        "not",
    ),
    Bug(
        "two-appends-of-a-topic-at-a-time",
        "A publish to another topic lets two appends of a topic run at a time.",
        "server/hub.py",
        "for name, known in self._batchers.items() if known.is_idle]",
        "for name, known in self._batchers.items()]",
    ),
    Bug(
        "a-long-journal-written-anew-for-ever",
        "A journal that was long once is written anew for each delivery.",
        "server/lease_journals.py",
        """        self._size = 0
        self._file = new""",
        "        self._file = new",
    ),
    Bug(
        "given-back-after-an-idle-minute",
        "After a minute without messages a busy client's messages are leased again and again.",
        "server/dispatcher.py",
        """        if not self.leaser.waiting:
            self._waits_since = now
""",
        "",
    ),
    Bug(
        "a-list-without-states-of-tables",
        "A list of subscriptions tells every table as active.",
        "operations/administer.py",
        "with_states = (table_writes.with_state(tables, each) for each in found)",
        "with_states = iter(found)",
    ),
    Bug(
        "one-noted-seek-too-many",
        "An ack state has one noted seek more than is permitted.",
        "operations/seek.py",
        ">= replay.MAX_NOTED_SEEKS",
        "> replay.MAX_NOTED_SEEKS",
    ),
    Bug(
        "a-deletion-that-cannot-see-slow-publishers",
        "Retention deletes a slow publisher's messages where the log was cut meanwhile.",
        "tables/messages/messages.py",
        """            if not late.is_complete:
                return False
""",
        "",
    ),
    Bug(
        "a-void-announcement-counts",
        "A seek leaves out messages that an operator has restored.",
        "tables/messages/commits.py",
        "since = takewhile(lambda each: not each.restores, self.commits)",
        "since = iter(self.commits)",
    ),
    Bug(
        "a-snapshot-whose-commits-are-gone",
        "Retention deletes what a snapshot holds where another tool has cut the log.",
        "delivery/discard.py",
        "            if not following.is_complete:",
        "            if False:",
    ),
    Bug(
        "positions-beyond-the-last",
        "A publish gets positions beyond the last one.",
        "tables/messages/position_allocator.py",
        "if first + count > END_OF_POSITIONS:",
        "if first > END_OF_POSITIONS:",
    ),
    Bug(
        "a-lane-that-must-not-write",
        "The lane that may not write on S3 writes there.",
        "tables/lanes/locks.py",
        """        refusal = None if self._refusal is None else self._refusal()
""",
        """        refusal = None
""",
    ),
    Bug(
        "a-range-below-zero",
        "A range of positions that ends below zero is an error.",
        "policy/positions.py",
        "bitmap.remove_range(max(last, -1) + 1, self.max + 1)",
        "bitmap.remove_range(last + 1, self.max + 1)",
    ),
    Bug(
        "writes-counted-by-spans",
        "A write of many messages counts as one acknowledgement.",
        "policy/table_writes.py",
        "count = counters.success + sum(map(len, spans))",
        "count = counters.success + len(spans)",
    ),
    Bug(
        "attempts-without-a-policy",
        "Deliveries tell an attempt though there is no dead-letter policy.",
        "delivery/leases.py",
        "_Attempts(self.spans if self._counted else ())",
        "_Attempts(self.spans)",
    ),
    Bug(
        "a-lease-of-another-counts",
        "Messages that another consumer has acknowledged are told as lost.",
        "delivery/leases.py",
        "held = union(each for each in state.spans if each.lease_id == lease.lease_id)",
        "held = union(state.spans)",
    ),
)
