"""Bugs of what trials of checkpoints, views and streams by Spark found."""

from __future__ import annotations

from tests.mutations.bug import Bug

_VIEWS = ("tests/delta/test_views.py",)

BUGS_OF_CHECKPOINTS = (
    Bug(
        "older-checkpoint-skips-its-numbers",
        "New messages go to a micro-batch that the sink skips, with an older copy of a checkpoint.",
        "datasource/consumer.py",
        "if given.lease is None and not again:",
        "if given.lease is None:",
    ),
    Bug(
        "older-checkpoint-is-idle",
        "A query with an older copy of its checkpoint does not know that it has had its number.",
        "datasource/consumer.py",
        "return given, last is not None and last.batch_id >= offset.batch",
        "return given, last is not None and last.batch_id > offset.batch",
    ),
    Bug(
        "older-checkpoint-publishes-nothing",
        "A query that publishes skips new rows, with an older copy of its checkpoint.",
        "operations/publish.py",
        "if last is not None and last > batch_id:",
        "if last is None:",
    ),
    Bug(
        "older-checkpoint-in-a-catalog",
        "The same in a catalog, where no transaction can be read.",
        "tables/messages/messages.py",
        "return self.history.last_version_of(application) if known is None else known",
        "return known",
    ),
    Bug(
        "older-checkpoint-of-another-query",
        "A query is refused for the micro-batches of another one.",
        "tables/messages/commits.py",
        "for name, _, number in named if name == application]",
        "for name, _, number in named if name]",
    ),
    Bug(
        "older-checkpoint-writes-nothing",
        "The same by format('pubsub_delta').",
        "datasource/writing.py",
        "check_is_last(messages, reserved.topic_name, *transaction)",
        "pass",
    ),
    Bug(
        "available-now-ends-early",
        "A run with availableNow leaves what was published since the query had pulled last.",
        "streaming.py",
        "end = pull.newest_position(self._tables, self._name, self._clock.now())",
        "end = self._tables.ack_states.read(self._uid).absorbed_below",
        needs_spark=("tests/delta/test_streaming.py",),
    ),
    Bug(
        "view-without-rows-of-nothing",
        "A backlog that was empty is shown when its subscription is gone.",
        "tables/lanes/spark/views.py",
        "WHERE if(position > 0, false, {failing})",
        "WHERE if(position > 0, false, false)",
        needs_spark=_VIEWS,
    ),
    Bug(
        "views-end-at-a-lost-ack-state",
        "One ack state that is gone ends create_views, and no view is made.",
        "operations/views.py",
        "        except DataLoss as why:\n            if subscription.uid",
        "        except NotFound as why:\n            if subscription.uid",
        needs_spark=_VIEWS,
    ),
    Bug(
        "views-end-at-a-lost-topic",
        "One topic whose messages are gone ends create_views before all views are made.",
        "operations/views.py",
        "except DataLoss as why:  # the table",
        "except NotFound as why:  #",
        needs_spark=_VIEWS,
    ),
    Bug(
        "view-of-a-table-of-the-store",
        "A topic called schemas has no view in a catalog.",
        "operations/views.py",
        '"snapshots", "schemas")',
        '"snapshots")',
        needs_spark=_VIEWS,
    ),
)
