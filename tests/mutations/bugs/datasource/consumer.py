"""Seeded bugs of ``datasource/consumer.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_older_checkpoints.py",
    "tests/unit/test_data_source_consumer.py",
    "tests/unit/test_data_source_parts.py",
    "tests/unit/test_data_source_subscribing.py",
    "tests/unit/test_missing_statistics.py",
)

BUGS = (
    Bug(
        "checkpoint-of-another-subscription",
        "A checkpoint goes on with a new subscription of the same name.",
        "        self._check(start)\n        if self._drain",
        "        if self._drain",
    ),
    Bug(
        "drain-without-end",
        "A stream with the trigger availableNow takes what comes after its start.",
        "None if self._drain is None else self._drain.end,",
        "None,",
    ),
    Bug(
        "older-checkpoint-skips-its-numbers",
        "New messages go to a micro-batch that the sink skips, with an older copy of a checkpoint.",
        "if given.lease is None and not again:",
        "if given.lease is None:",
    ),
    Bug(
        "older-checkpoint-is-idle",
        "A query with an older copy of its checkpoint does not know that it has had its number.",
        "return given, last is not None and last.batch_id >= offset.batch",
        "return given, last is not None and last.batch_id > offset.batch",
    ),
    Bug(
        "source-parts-of-another",
        "A repeated micro-batch gets the messages of the present one.",
        "        if self._current is None or self._current[0] != end:\n",
        "        if self._current is None:\n",
    ),
    Bug(
        "two-queries-subscribe",
        "Of two queries that create one subscription the slower fails.",
        "with suppress(AlreadyExists):  # by another",
        "with suppress(FailedPrecondition):  # by another",
    ),
    Bug(
        "drain-of-a-new-subscription",
        "A query that creates its subscription and drains it takes what comes later, without end.",
        "            self._drains_from_the_start = True\n            return\n",
        "            return\n",
    ),
    Bug(
        "an-earlier-micro-batch-stays-leased",
        "The lease of an earlier micro-batch is extended as long as the query runs.",
        "            self.leave()\n            given = pull.resume_micro_batch(",
        "            given = pull.resume_micro_batch(",
    ),
    Bug(
        "drain-of-a-created-one-forgotten",
        "A stream with availableNow that creates its subscription never ends.",
        "        if self._drains_from_the_start:\n            self.drain()\n",
        "",
    ),
    Bug(
        "finished-drain-leases-more",
        "A drain that only waits for its last batches leases messages of other consumers' nacks.",
        "0 if finishing else max_messages",
        "max_messages",
    ),
    Bug(
        "small-limit-of-bytes-is-none",
        "A stream whose limit of bytes is below one message takes none for ever.",
        "max(1, size * rows // stored)",
        "size * rows // stored",
    ),
    Bug(
        "a-planned-micro-batch-goes-on-under-another-subscription",
        "A planned micro-batch is run though its subscription was created anew.",
        "            return []\n        self._check(end)\n",
        "            return []\n",
    ),
    Bug(
        "later-micro-batch-is-news",
        "A number that the reader has used before a later one is taken for a new micro-batch.",
        "last.batch_id >= offset.batch",
        "last.batch_id == offset.batch",
    ),
    Bug(
        "another-topic-after-a-restart",
        "A query that goes on with its checkpoint consumes another topic than its option names.",
        "offset.subscription)\n        self._check_topic(subscribed.topic)\n",
        "offset.subscription)\n",
    ),
    Bug(
        "bytes-of-files-without-rows",
        "maxBytesPerTrigger counts files whose number of messages is unknown.",
        "stored = sum(each.size for each in counted)",
        "stored = sum(each.size for each in files)",
    ),
)
