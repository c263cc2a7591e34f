"""How many writers are safe where, as the tests have tried it: the table of the documentation.

``python -m tests.storages.tried`` prints it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Tried:
    """Some writers of one storage, how many of them are safe, and the tests that have tried it."""

    storage: str
    writers: str
    safe: str
    by: tuple[str, ...] = ()


_RACES = (
    "tests/storages/test_processes.py::test_of_two_changes_of_one_ack_state_only_one_is_made",
    "tests/storages/test_processes.py::test_publishers_of_one_topic_lose_nothing",
    "tests/storages/test_retention.py::"
    "test_what_slow_publishers_commit_beside_a_deletion_is_received",
)
_FAULTS = (
    "tests/storages/test_faults.py::test_every_commit_of_an_operation_may_fail_once",
    "tests/storages/test_faults.py::test_a_process_may_be_killed_at_any_put",
)
_SERVERS = ("tests/storages/test_two_servers.py::test_a_key_keeps_its_order_over_two_servers",)

TRIED = (
    Tried(
        "a local disk",
        "both lanes",
        "any number of processes of one machine, by the lock files under `_locks`",
        (
            "tests/acceptance/test_processes.py::test_two_processes_never_hold_the_same_message",
            "tests/trials/test_crowds.py::test_no_message_is_held_twice_and_none_is_lost",
        ),
    ),
    Tried("S3", "the direct lane", "any number: a conditional put", _RACES + _FAULTS + _SERVERS),
    Tried(
        "S3",
        "the direct lane, and DataFrames by `format('pubsub_delta')`",
        "any number: both commit by the direct lane",
        (
            "tests/storages/test_data_source.py::"
            "test_a_dataframe_is_published_beside_the_direct_lane",
        ),
    ),
    Tried(
        "S3",
        "Spark's lane with Delta's default log store",
        "**one program**, which says so; any other is refused",
        (
            "tests/storages/test_spark.py::test_threads_of_one_driver_ack_every_message_once",
            "tests/storages/test_spark.py::test_a_second_driver_is_refused_before_it_writes",
        ),
    ),
    Tried(
        "S3",
        "a lane beside the other one",
        "none: who takes the one that did not create the store is refused",
        (
            "tests/storages/test_settings.py::"
            "test_a_store_that_was_created_by_the_other_lane_is_read_and_not_written",
        ),
    ),
    Tried("S3", "Spark's lane with `S3DynamoDBLogStore`", "any number, as Delta says"),
    Tried("Azure", "the direct lane", "any number: a conditional put", _RACES + _FAULTS + _SERVERS),
    Tried("Azure", "Spark's lane", "any number: an atomic rename, as Delta says"),
    Tried("Google Cloud Storage", "either lane", "any number: a conditional put, as they say"),
    Tried(
        "HDFS",
        "Spark's lane",
        "any number: a rename that fails where the commit is there already",
        (
            "tests/storages/test_spark_on_hdfs.py::"
            "test_two_drivers_create_publish_and_acknowledge_at_once",
            "tests/storages/test_spark_on_hdfs.py::test_what_a_killed_driver_held_comes_again",
        ),
    ),
    Tried("a network file system", "both lanes", "one machine: locks do not reach others"),
)


def table() -> str:
    """Return the table in Markdown."""
    lines = ["| storage | writers | how many are safe | tried by |", "|---|---|---|---|"]
    for each in TRIED:
        named = ", ".join(f"`{test.rpartition('::')[2]}`" for test in each.by) or "not tried"
        lines.append(f"| {each.storage} | {each.writers} | {each.safe} | {named} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(table())
