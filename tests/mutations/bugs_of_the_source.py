"""Bugs of ``format("pubsub_delta")``."""

from __future__ import annotations

from tests.mutations.bug import Bug

_COLUMNS = "datasource/columns.py"
_CONSUMER = "datasource/consumer.py"
_OFFSETS = "datasource/offsets.py"
_OPTIONS = "datasource/options.py"
_PARTS = "datasource/partitions.py"
_CHECKING = "datasource/validation.py"
_WRITING = "datasource/writing.py"
_READING = "datasource/partition_reader.py"
_FILES = ("tests/lanes/test_data_source_files.py",)

BUGS_OF_THE_SOURCE = (
    Bug(
        "subscription-of-a-typing-error",
        "A query of our own names a subscription that is not there, and gets one that is empty.",
        _OPTIONS,
        'return self.is_of_databricks and self.get("topic") is not None',
        'return self.get("topic") is not None',
    ),
    Bug(
        "columns-of-the-other-connector",
        "A query that was written for the other connector finds none of its columns.",
        _OPTIONS,
        'is_of_databricks |= name == "subscriptionId"',
        'is_of_databricks |= name == "subscription"',
    ),
    Bug(
        "root-of-the-environment",
        "The environment's store is taken although an option names another one.",
        _OPTIONS,
        'found.setdefault(name, _absolute(text) if name == "root" else text)',
        'found[name] = _absolute(text) if name == "root" else text',
    ),
    Bug(
        "root-of-the-task",
        "A task takes a relative root from its own working directory, and its file is lost.",
        _OPTIONS,
        "return root if layout.in_catalog else layout.base",
        "return root if layout.in_catalog else root.rstrip('/')",
    ),
    Bug(
        "path-with-a-slash",
        "The root and the same path with a slash or a scheme are taken for two stores.",
        _OPTIONS,
        "return (on_disk(one) or one) == (on_disk(other) or other)",
        "return one == other",
    ),
    Bug(
        "table-without-options",
        "CREATE TABLE is refused for an option that the user never gave.",
        _OPTIONS,
        'if any(key.lower() == "provider" for key in given):',
        "if False:",
    ),
    Bug(
        "files-of-another-machine",
        "A publish names files that no reader finds, and its topic cannot be read any more.",
        _WRITING,
        "if missing is not None:",
        "if False:",
    ),
    Bug(
        "drain-of-the-same-again",
        "A query that drains never ends while its messages are given back again and again.",
        "policy/available_now.py",
        "new = leased - self._offered",
        "new = leased",
    ),
    Bug(
        "reader-of-each-process",
        "A stream that is started again does not know its micro-batches any more.",
        _OFFSETS,
        "return Offset(self.subscription, self.reader or reader, self.batch + 1)",
        "return Offset(self.subscription, reader, self.batch + 1)",
    ),
    Bug(
        "checkpoint-of-another-subscription",
        "A checkpoint goes on with a new subscription of the same name.",
        _CONSUMER,
        "        self._check(start)\n        if self._drain",
        "        if self._drain",
    ),
    Bug(
        "drain-without-end",
        "A stream with the trigger availableNow takes what comes after its start.",
        _CONSUMER,
        "None if self._drain is None else self._drain.end,",
        "None,",
    ),
    Bug(
        "attempts-not-counted",
        "Delivery attempts are shown although they are not counted.",
        _COLUMNS,
        "[each.delivery_attempt if counted else None for each in spans]",
        "[each.delivery_attempt for each in spans]",
    ),
    Bug(
        "keys-torn-apart",
        "The messages of an ordered subscription are spread over parts.",
        _PARTS,
        "for positions in [every] if ordered else divide(every, files):",
        "for positions in divide(every, files):",
    ),
    Bug(
        "cut-off-end",
        "The first message of a part is in none.",
        _PARTS,
        ".max + 1 for each in range(1, pieces)]",
        ".max + 2 for each in range(1, pieces)]",
    ),
    Bug(
        "option-ignored",
        "An option that means nothing for a use is taken without a word.",
        _OPTIONS,
        "if name not in accepted:",
        "if False:",
    ),
    Bug(
        "attribute-keys-twice",
        "A task publishes a message of which an attribute appears twice.",
        _CHECKING,
        'return bool(named.group_by(["row", "key"]).aggregate([]).num_rows == named.num_rows)',
        "return True",
    ),
    Bug(
        "texts-not-checked",
        "A task publishes a text that is not UTF-8.",
        _CHECKING,
        "            column.validate(full=True)  # texts are UTF-8\n",
        "            column.validate()\n",
    ),
    Bug(
        "reservation-used-twice",
        "Two publishes have the same positions, where Spark lets a writer write twice.",
        _WRITING,
        "if messages.history.has_allocated(reserved.first_position):",
        "if False:",
        needs_spark=_FILES,
    ),
    Bug(
        "partitions-on-top-of-each-other",
        "All tasks of a write give out the same positions.",
        _WRITING,
        "first = reserved.first_position + partition * ROWS",
        "first = reserved.first_position",
        needs_spark=_FILES,
    ),
    Bug(
        "lost-message-untold",
        "A message that was leased and is not there any more is left out without a word.",
        _READING,
        "if part.ack_prefix is not None and count < leased:",
        "if False:",
        needs_spark=("tests/delta/test_data_source.py::test_a_message_that_is_gone_is_told",),
    ),
    Bug(
        "forgotten-micro-batch-again",
        "A micro-batch that is forgotten gets other messages when it is run again.",
        "policy/streams.py",
        "    if last is None or last.batch_id != batch_id:\n        return state, []\n    until",
        "    if last is None:\n        return begin(state, query_id, batch_id, None, terms, now)\n"
        "    if last.batch_id != batch_id:\n        return state, []\n    until",
    ),
    Bug(
        "milliseconds-of-a-double",
        "Times after the year 2255 end a read with the columns of the other connector.",
        _COLUMNS,
        "    micros = times.cast(WHOLE)\n",
        "    micros = times.cast(WHOLE).cast(pa.float64()).cast(WHOLE)\n",
    ),
)
