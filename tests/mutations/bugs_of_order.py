"""Bugs of the order in which messages come: what failed comes after what was not tried."""

from __future__ import annotations

from tests.mutations.bug import Bug

_ORDERING = "policy/ordering.py"
_SPANS = "policy/spans.py"
_ACK_STATE = "policy/ack_state.py"

BUGS_OF_ORDER = (
    Bug(
        "poison-starves",
        "A message that failed comes before those that were not tried.",
        _ORDERING,
        "untried = [span for span in open_ if span.failed_lease_id is None]",
        "untried = open_",
    ),
    Bug(
        "failure-not-noted",
        "It is not noted that a delivery failed, unless a policy counts failures.",
        "policy/redelivery.py",
        "again = replace(again, failed_lease_id=span.lease_id)",
        "again = replace(again, failed_lease_id=None)",
    ),
    Bug(
        "failed-last-comes-first",
        "Of what failed, the latest comes first, and so again and again.",
        _ORDERING,
        "return [group for _, group in sorted(failed.items())]",
        "return [group for _, group in sorted(failed.items(), reverse=True)]",
    ),
    Bug(
        "key-overtakes-its-failed-message",
        "The later messages of an ordering key come before the one that failed.",
        _ORDERING,
        "before = [*holding_up, *chain(*failed)]",
        "before = holding_up",
    ),
    Bug(
        "key-without-its-followers",
        "An ordering key whose first message failed gives that one alone.",
        _ORDERING,
        "wanted = union(first) | keys.of_same_keys(first, among)",
        "wanted = union(first)",
    ),
    Bug(
        "key-by-its-first-failure",
        "An ordering key with several failed messages comes with the one that failed first.",
        _ORDERING,
        "wanted -= keys.of_same_keys(later, among)",
        "wanted -= Positions()",
    ),
    Bug(
        "failed-key-is-held",
        "Of what failed, a pull gives messages of keys that others hold.",
        _ORDERING,
        "among = _parts(among, union(among) - keys.of_same_keys(holding_up, among))",
        "among = _parts(among, union(among))",
    ),
    Bug(
        "given-back-goes-first",
        "A message that failed and is given back counts as not tried.",
        _ACK_STATE,
        "failed = None if self.failed_lease_id is None else lease_id",
        "failed = None",
    ),
    Bug(
        "given-back-has-failed",
        "A message that is given back unseen comes after those that were not tried.",
        _ACK_STATE,
        "failed = None if self.failed_lease_id is None else lease_id",
        "failed = lease_id",
    ),
    Bug(
        "seek-keeps-the-order-of-failures",
        "What a seek makes available still comes after what was not tried.",
        _ACK_STATE,
        "failures=0, delivery_attempt=1, failed_lease_id=None)",
        "failures=0, delivery_attempt=1)",
    ),
    Bug(
        "united-failed-earlier",
        "Spans that are united have failed at the earlier of their two failures.",
        _ACK_STATE,
        "failed_lease_id=max(failed, default=None),",
        "failed_lease_id=min(failed, default=None),",
    ),
    Bug(
        "failed-under-another-lease",
        "Messages that failed under different leases are united, and come together.",
        _SPANS,
        "key = (key, span.failed_lease_id)",
        "key = (key,)",
    ),
    Bug(
        "latest-joins-the-first",
        "Where too many leases failed, the latest failure joins the first, and overtakes others.",
        _SPANS,
        "joined, newest = numbers[MAX_FAILED_LEASES - 1], numbers[-1]",
        "joined, newest = numbers[0], numbers[0]",
    ),
    Bug(
        "failed-spans-without-end",
        "What failed one by one is a span each.",
        _SPANS,
        "if len(numbers) <= MAX_FAILED_LEASES:",
        "if numbers:",
    ),
    Bug(
        "failure-not-stored",
        "Which delivery failed is forgotten when the ack state is stored.",
        "tables/ack_state/rows.py",
        'failed_lease_id=row["failed_lease_id"],',
        "failed_lease_id=None,",
    ),
)
