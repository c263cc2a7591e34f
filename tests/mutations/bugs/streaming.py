"""Seeded bugs of ``streaming.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_micro_batches.py",
    "tests/unit/test_wrong_arguments.py",
)

BUGS = (
    Bug(
        "query-that-nothing-ends-runs",
        "A query whose thread could not be started goes on when it has drained.",
        "start_threads([ending], query.stop)",
        "ending.start()",
        needs_spark=("tests/delta/test_started_queries.py",),
    ),
    Bug(
        "interval-that-spark-does-not-read",
        "An interval that Spark does not read ends with an error of Java.",
        "    except IllegalArgumentException as error:",
        "    except KeyError as error:",
        needs_spark=(
            "tests/delta/test_stream_intervals.py::test_an_interval_that_spark_does_not_read_is_refused",
        ),
    ),
    Bug(
        "messages-counted-before-they-are-processed",
        "The progress of a query counts messages of a micro-batch that fails.",
        "        try:\n            self._process(lease.df, batch_id)\n",
        "        try:\n            self._processed_count += len(lease.positions)\n"
        "            self._process(lease.df, batch_id)\n",
    ),
    Bug(
        "full-disk-of-a-checkpoint-is-an-error-of-java",
        "A query whose checkpoint cannot be written ends in an error of Java.",
        "        if isinstance(found, (Unavailable, StorageRefused)):",
        "        if isinstance(found, StorageRefused):",
    ),
    Bug(
        "available-now-waits-for-a-report",
        "A run with availableNow does not end where its session keeps no progress.",
        "        if is_told or consuming.is_past_drained:",
        "        if is_told:",
    ),
    Bug(
        "process-may-be-a-coroutine",
        "A query takes a coroutine, and acknowledges what it does not run.",
        '    process = check_function(process, "process", "a DataFrame and a number")\n',
        "",
    ),
    Bug(
        "available-now-ends-early",
        "A run with availableNow leaves what was published since the query had pulled last.",
        "end = pull.newest_position(self._tables, self._name, self._clock.now())",
        "end = self._tables.ack_states.read(self._uid).absorbed_below",
        needs_spark=("tests/delta/test_streaming.py",),
    ),
    Bug(
        "a-drain-by-a-function-has-no-end",
        "subscribe_stream with availableNow takes what is published after its start.",
        "            None if self._drain is None else self._drain.end,\n",
        "",
    ),
    Bug(
        "a-query-that-is-stopped-has-failed",
        "A query that is stopped counts a failed delivery, and one that fails counts none.",
        "batch_lease.fail(stopped=not self.is_active())",
        "batch_lease.fail(stopped=self.is_active())",
    ),
    Bug(
        "lease-outlives-the-jvm",
        "The lease of a micro-batch is extended for ever after its JVM was killed.",
        "        except Exception:  # each way to lose a JVM has an error of its own",
        "        except NotImplementedError:",
    ),
    Bug(
        "stopped-while-it-leases",
        "What a query leases while it is stopped stays leased, where the stop hides the answer.",
        "            if not self.is_active():\n                self._give_back(batch_id)\n",
        "",
    ),
    Bug(
        "exit-hangs-its-query",
        "A query whose function calls sys.exit waits for ever.",
        "            if isinstance(error, Exception):\n                raise\n",
        "            raise\n",
    ),
    Bug(
        "text-that-py4j-does-not-send",
        "A query whose error names a file that is no Unicode does not tell what has failed.",
        "            if as_utf8(told) != told:\n",
        "            if False:\n",
    ),
    Bug(
        "the-root-of-a-disk-is-a-checkpoint",
        "A checkpoint at / ends in an error of Hadoop's that names no argument.",
        'not checkpoint_location.strip(" /")',
        "not checkpoint_location.strip()",
    ),
)
