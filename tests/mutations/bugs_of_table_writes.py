"""Bugs of subscriptions that are written to tables."""

from __future__ import annotations

from tests.mutations.bug import Bug

_STEPS = "policy/table_writes.py"
_WRITES = "delivery/table_writes.py"
_RUNS = "delivery/table_subscriptions.py"

BUGS_OF_TABLE_WRITES = (
    Bug(
        "cancelled-without-a-commit",
        "What cannot be written any more is given back while another process may still write it.",
        _WRITES,
        "            target.cancel(key, write_id)\n",
        "            pass\n",
    ),
    Bug(
        "landed-rows-are-given-back",
        "After a crash, rows that have landed are delivered and written once more.",
        _WRITES,
        "    if outcome is Outcome.WRITTEN:\n        return written",
        "    if outcome is Outcome.WRITTEN:\n        return table_writes.given_back",
    ),
    Bug(
        "rows-of-other-messages",
        "Rows are written that were made of other messages than those that are acknowledged.",
        _WRITES,
        "prepared is not None and prepared.positions == union(spans)",
        "prepared is not None",
    ),
    Bug(
        "another-write-is-taken-for-this-one",
        "A number that another write has taken counts as landed, and messages are lost.",
        _WRITES,
        "return table_writes.given_back if cancelled else table_writes.renumbered",
        "return table_writes.given_back if cancelled else written",
    ),
    Bug(
        "wrong-columns-blame-the-message-of-no-table",
        "Dead letters of a table that is gone tell nothing of why they did not fit.",
        _WRITES,
        "if why.state is not TableState.SCHEMA_MISMATCH:",
        "if why.state is TableState.SCHEMA_MISMATCH:",
    ),
    Bug(
        "write-takes-what-it-lost",
        "A write takes messages whose lease is over, and which somebody else has.",
        _STEPS,
        "if s.lease_id == lease_id]",
        "if s.lease_id]",
    ),
    Bug(
        "written-is-forgotten-not-retained",
        "What was written cannot be sought back, though acknowledged messages are retained.",
        _STEPS,
        "*(span.retained() for span in spans if retain)",
        "*(span.retained() for span in spans if not retain)",
    ),
    Bug(
        "unfit-is-acknowledged",
        "A message that does not fit its table is given back, and never fails.",
        _RUNS,
        "state = self._settle(lease, fitting, looked_at - fitting, now)",
        "state = self._settle(lease, fitting, Positions(), now)",
    ),
    Bug(
        "leased-without-a-table",
        "Where the columns do not do and nothing is forwarded, messages are leased and fail.",
        _RUNS,
        "            if not self.may_be_forwarded:\n                raise\n",
        "",
    ),
    Bug(
        "tables-can-be-pulled",
        "Messages that are written to a table can be pulled, too.",
        "delivery/consuming.py",
        "if leases and found.subscription.table_config is not None:",
        "if leases and found.subscription.table_config is not None and not name:",
    ),
    Bug(
        "write-of-one-slice-is-endless",
        "A run that was asked for one slice writes everything that there is.",
        "delivery/table_subscriptions.py",
        "while slices is None or done < slices:",
        "while slices is None or done >= 0:",
    ),
    Bug(
        "tables-of-the-store-are-targets",
        "A subscription may be written to the tables of the store itself.",
        "tables/targets.py",
        "if self._is_of_the_store(path):",
        "if self._is_of_the_store(table):",
    ),
    Bug(
        "links-to-the-tables-of-the-store",
        "A subscription may be written to the tables of the store by a link.",
        "tables/targets.py",
        "path, store = os.path.realpath(path), os.path.realpath(store)",
        "path, store = os.path.abspath(path), os.path.abspath(store)",
    ),
    Bug(
        "a-path-beside-the-root",
        "A table beside the allowed directory, whose name begins like it, may be written.",
        "tables/targets.py",
        'if not path.startswith(f"{self.root}/") or not all(names) or',
        "if not path.startswith(self.root) or",
    ),
    Bug(
        "push-and-table-at-once",
        "A subscription may push its messages and have them written to a table.",
        "policy/table_configs.py",
        "    if push_config is not None:",
        "    if push_config is not None and enable_exactly_once_delivery:",
    ),
    Bug(
        "unknown-members-are-dropped",
        "Members of JSON without a column are left out, whatever was asked for.",
        "tables/target_rows.py",
        "elif not self._config.drop_unknown_fields:",
        "elif not self._config.use_table_schema:",
    ),
    Bug(
        "json-numbers-are-rounded",
        "A decimal number with more digits than its column has room for is rounded.",
        "tables/json_values.py",
        "    if exact != number:\n        raise ValueError(value)\n    return exact",
        "    return exact",
    ),
    Bug(
        "key-goes-on-while-it-is-written",
        "An ordering key goes on while one of its messages is on its way to the table.",
        "policy/ordering.py",
        "(State.LEASED, State.BACKING_OFF, State.WRITING)",
        "(State.LEASED, State.BACKING_OFF)",
    ),
    Bug(
        "writes-are-left-by-a-pull",
        "What was on its way to a table that is no longer wanted is never pulled.",
        "delivery/consuming.py",
        "    if decision.state.in_state(State.WRITING):",
        "    if decision.state.in_state(State.WRITING) and not decision.leased:",
    ),
    Bug(
        "a-failure-is-no-pause",
        "A server tries to write to a table that is gone again and again, without a pause.",
        "server/table_writing.py",
        "wait = min(SHORTEST_PAUSE * 2**self._failures, LONGEST_PAUSE)",
        "wait = min(SHORTEST_PAUSE, LONGEST_PAUSE)",
    ),
    Bug(
        "rows-of-a-subscription-that-has-ended",
        "What is published after a subscription was deleted or given another table is written.",
        "delivery/table_writes.py",
        "subscription = source_again(tables, name, source.uid).subscription",
        "subscription = source.subscription",
    ),
    Bug(
        "earlier-table-that-is-not-asked",
        "What has landed in the earlier table comes into the later one, too.",
        "delivery/table_writes.py",
        "target = tables.target(table, takes_rows=is_wanted)",
        "target = tables.target(table)",
    ),
    Bug(
        "earlier-table-that-is-waited-for",
        "An earlier table that may not be written any more keeps the later one waiting for ever.",
        "delivery/table_writes.py",
        "        except Unwritable:\n            if is_wanted:\n                raise\n"
        "        return table_writes.given_back\n    target.append",
        "        except Unwritable:\n            raise\n"
        "        return table_writes.given_back\n    target.append",
    ),
    Bug(
        "own-table-by-another-url",
        "A subscription writes rows into a topic, where the root is written in another way.",
        "tables/lanes/direct/targets.py",
        "if is_of_a_store(self.columns.names, ",
        "if is_of_a_store(self.columns.names[1:], ",
    ),
    Bug(
        "pull-fails-by-an-earlier-table",
        "A pull fails after its commit where an earlier table of the subscription is away.",
        _WRITES,
        "    except Exception as problem:\n        return Finished(count, problem)\n",
        "    except Unwritable as problem:\n        return Finished(count, problem)\n",
    ),
)
