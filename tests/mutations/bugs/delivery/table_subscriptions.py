"""Seeded bugs of ``delivery/table_subscriptions.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug
from tests.mutations.groups import TABLE_WRITES

NEAREST = TABLE_WRITES

BUGS = (
    Bug(
        "unfit-is-acknowledged",
        "A message that does not fit its table is given back, and never fails.",
        "state = self._settle(lease, fitting, looked_at - fitting, now)",
        "state = self._settle(lease, fitting, Positions(), now)",
    ),
    Bug(
        "leased-without-a-table",
        "Where the columns do not do and nothing is forwarded, messages are leased and fail.",
        "            if not self.may_be_forwarded:\n                raise\n",
        "",
    ),
    Bug(
        "write-of-one-slice-is-endless",
        "A run that was asked for one slice writes everything that there is.",
        "while slices is None or done < slices:",
        "while slices is None or done >= 0:",
    ),
    Bug(
        "rest-of-a-slice-stays-leased",
        "Messages beyond the bytes of a slice wait for the end of its lease.",
        "            following = delivery.give_back(following, {held: rest}, terms, now)\n",
        "",
    ),
    Bug(
        "a-slice-has-the-shorter-lease",
        "Deliveries of a slice fail that takes more than ten seconds to write.",
        "deadline = max(SHORTEST_LEASE, timedelta(seconds=seconds))",
        "deadline = min(SHORTEST_LEASE, timedelta(seconds=seconds))",
    ),
    Bug(
        "writer-gives-up-beside-rows",
        "A slice with one message that does not fit ends the writing, though others fit.",
        "gives_up = unfit > 0 and not count and not writing.may_be_forwarded",
        "gives_up = unfit > 0 and not writing.may_be_forwarded",
    ),
    Bug(
        "rest-of-a-slice-fails",
        "Messages of a slice that were not looked at count as failed deliveries.",
        "            following = delivery.give_back(following, {held: rest}, terms, now)\n",
        "            following, _ = delivery.modify_ack_deadline(following, {held: "
        "rest}, terms, now, nacked)\n",
    ),
    Bug(
        "unwritable-forgets-what-was-written",
        "maintain reports no rows of a table that went away after some slices.",
        "return TableWrites(written, failed, problem.state, str(problem))",
        "return TableWrites(0, 0, problem.state, str(problem))",
    ),
    Bug(
        "a-lease-beside-a-problem",
        "Messages stay leased for a minute where an earlier write to the table fails.",
        "            if result.lease is not None:\n"
        "                self._settle(result.lease, Positions(), Positions(), clock())\n",
        "",
    ),
    Bug(
        "a-slice-over-before-it-is-leased",
        "A writer that has waited for a minute writes a slice without a lease.",
        "table_writes.SLICE_MESSAGES, terms, clock(), deadline)",
        "table_writes.SLICE_MESSAGES, terms, begun, deadline)\n\n        begun = clock()",
    ),
)
