"""Bugs of what a second round of trials of ``docs/guarantees.md`` found."""

from __future__ import annotations

from tests.mutations.bug import Bug

_COMMITS = "tables/lanes/direct/commits.py"

BUGS_OF_TRIALS_OF_PROMISES = (
    Bug(
        "any-clock",
        "A clock of the year 1 or 9999 ends in an OverflowError.",
        "clock.py",
        "if not _CLOCK_FROM <= time < _CLOCK_UNTIL:",
        "if time is None:",
    ),
    Bug(
        "any-clock-deletes-a-subscription",
        "By a clock of the year 1 a subscription is deleted.",
        "methods/subscriptions.py",
        "    self._clock.check()\n",
        "",
    ),
    Bug(
        "any-clock-deletes-a-schema",
        "By a clock of the year 1 a schema is deleted, and its topics take nothing any more.",
        "methods/schemas.py",
        "    self._clock.check()\n    schemas.delete_schema(",
        "    schemas.delete_schema(",
    ),
    Bug(
        "any-clock-ends-connections",
        "A server whose clock tells the year 1969 closes every connection of REST without a reply.",
        "server/rest/connection.py",
        "except FailedPrecondition:",
        "except OverflowError:",
    ),
    Bug(
        "column-of-others-stops-publishing",
        "Nobody can publish to a topic whose table another program gave a column.",
        "tables/lanes/direct/tables.py",
        "with_columns_of(opened, rows),",
        "rows,",
    ),
    Bug(
        "column-of-others-stops-creating",
        "No topic can be created after another program gave the registry a column.",
        "tables/lanes/direct/merging.py",
        "completed(new, old.schema)",
        "new.select(old.column_names).cast(old.schema)",
    ),
    Bug(
        "column-of-others-stops-leasing",
        "Nobody can pull from a subscription whose ack state another program gave a column.",
        _COMMITS,
        "written = completed(rows, pa.schema(opened.schema().to_arrow()))",
        "written = rows.select(pa.schema(opened.schema().to_arrow()).names)",
    ),
    Bug(
        "column-that-is-gone-is-left-out",
        "A publish to a table without the columns of messages succeeds without them.",
        _COMMITS,
        "if lacking:",
        "if not columns.names:",
    ),
    Bug(
        "cancelled-write-taken-for-written",
        "A write that was cancelled passes for one that landed, and its messages are lost.",
        "tables/lanes/direct/targets.py",
        "last == _identity(metadata)",
        "last is not None",
    ),
    Bug(
        "dead-letters-again-after-a-cut",
        "Dead letters come twice where the log has forgotten that they landed.",
        "delivery/dead_letters.py",
        "return not history.has_all_commits() and messages.was_last_of(transaction)",
        "return False",
    ),
    Bug(
        "new-endpoint-waits-for-the-old-one",
        "A new push endpoint gets nothing while requests to the old one are open, or it pauses.",
        "server/pushing.py",
        "if running.pushes_to(subscription.push_config):",
        "if subscription.push_config is not None:",
    ),
    Bug(
        "tokens-of-removed-keys",
        "Tokens are sent whose key was removed, so that no receiver can verify them.",
        "server/push_tokens.py",
        "if each[1].kid in kids]",
        "if kids is not None]",
    ),
    Bug(
        "removed-keys-sign-on",
        "The keys of a file that was removed sign until the server ends.",
        "server/push_keys.py",
        "self._keys, self._last_stamp = (), None",
        "self._last_stamp = None",
    ),
)
