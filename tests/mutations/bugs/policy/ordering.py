"""Seeded bugs of ``policy/ordering.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_ordering.py",
    "tests/unit/test_delivery_order.py",
    "tests/lanes/test_table_writes.py",
)

BUGS = (
    Bug(
        "key-goes-on-in-backoff",
        "An ordering key goes on while one of its messages backs off.",
        "if span.state in (State.LEASED, State.BACKING_OFF, State.WRITING)",
        "if span.state in (State.LEASED, State.WRITING)",
    ),
    Bug(
        "key-goes-on-before-forwarding",
        "An ordering key goes on before its exhausted message is forwarded.",
        " or is_exhausted(span, subscription)\n    ]",
        "\n    ]",
    ),
    Bug(
        "ordered-pull-of-all",
        "An ordered pull without a limit gives messages of keys that others hold.",
        "return free - keys.of_same_keys(holding_up, open_)",
        "return free",
    ),
    Bug(
        "ordered-pull-of-more",
        "An ordered pull gives more than max_messages, where some keys are held.",
        "return chosen.first(count), passed_over",
        "return chosen, passed_over",
    ),
    Bug(
        "poison-starves",
        "A message that failed comes before those that were not tried.",
        "untried = [span for span in open_ if span.failed_lease_id is None]",
        "untried = open_",
    ),
    Bug(
        "failed-last-comes-first",
        "Of what failed, the latest comes first, and so again and again.",
        "return [group for _, group in sorted(failed.items())]",
        "return [group for _, group in sorted(failed.items(), reverse=True)]",
    ),
    Bug(
        "key-overtakes-its-failed-message",
        "The later messages of an ordering key come before the one that failed.",
        "before = [*holding_up, *chain(*failed)]",
        "before = holding_up",
    ),
    Bug(
        "key-without-its-followers",
        "An ordering key whose first message failed gives that one alone.",
        "wanted = union(first) | keys.of_same_keys(first, among)",
        "wanted = union(first)",
    ),
    Bug(
        "key-by-its-first-failure",
        "An ordering key with several failed messages comes with the one that failed first.",
        "wanted -= keys.of_same_keys(later, among)",
        "wanted -= Positions()",
    ),
    Bug(
        "failed-key-is-held",
        "Of what failed, a pull gives messages of keys that others hold.",
        "among = spans_within(among, union(among) - keys.of_same_keys(holding_up, among))",
        "among = spans_within(among, union(among))",
    ),
    Bug(
        "key-goes-on-while-it-is-written",
        "An ordering key goes on while one of its messages is on its way to the table.",
        "(State.LEASED, State.BACKING_OFF, State.WRITING)",
        "(State.LEASED, State.BACKING_OFF)",
    ),
    Bug(
        "a-drain-takes-one-more",
        "A run with availableNow takes a message that was published after its start.",
        "union(open_).within(0, below - 1)",
        "union(open_).within(0, below)",
    ),
    Bug(
        "passed-over-in-the-last-window",
        "Of messages whose key has failed, only those of the last window come with it.",
        "chosen, passed_over = chosen | (window - held), passed_over | held",
        "chosen, passed_over = chosen | (window - held), held",
    ),
    Bug(
        "held-keys-among-the-failed",
        "A failed message comes although an earlier one of its key is outstanding.",
        "union(among) - keys.of_same_keys(holding_up, among))",
        "union(among) - union(holding_up))",
    ),
    Bug(
        "as-many-failed-ones-again",
        "A pull with failed messages returns more than it was asked for.",
        "_first_keys(failed, among, keys, max_messages - len(chosen))",
        "_first_keys(failed, among, keys, max_messages)",
    ),
)
