"""Seeded bugs of ``tables/lanes/spark/columns.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ()

BUGS = (
    Bug(
        "frame-with-a-reserved-key",
        "A DataFrame publishes an attribute whose key begins with GOOG.",
        "NOT startswith(lower({same_key}), '{rules.RESERVED_PREFIX}')",
        "NOT startswith({same_key}, '{rules.RESERVED_PREFIX}')",
        needs_spark=("tests/delta/test_publish.py",),
    ),
    Bug(
        "attempts-of-another-span",
        "In a DataFrame of several spans each message has the attempt of the span before.",
        'F.element_at(F.array(*map(F.lit, values)), F.col("span") + 1)',
        'F.element_at(F.array(*map(F.lit, values)), F.greatest(F.col("span"), F.lit(1)))',
        needs_spark=("tests/spark_lane/test_frames.py",),
    ),
    Bug(
        "null-data-by-spark",
        "Messages whose data another writer has stored as null are read by Spark as null.",
        'return F.coalesce(name, F.lit(b"")).alias(name)',
        "return F.col(name)",
        needs_spark=("tests/spark_lane/test_frames.py",),
    ),
    Bug(
        "keys-weigh-nothing",
        "The bytes of ordering keys do not count where Spark measures a topic.",
        'parts = ("length(data)", texts, "octet_length(ordering_key)")',
        'parts = ("length(data)", texts)',
        needs_spark=(
            "tests/spark_lane/test_frames.py::test_scans_answer_by_window_filter_and_key",
        ),
    ),
    Bug(
        "absent-is-not-unequal",
        "By Spark NOT attributes.a = 'x' leaves out messages without the attribute.",
        "return F.coalesce(_attribute(key) == F.lit(value), F.lit(False))",
        "return _attribute(key) == F.lit(value)",
        needs_spark=(
            "tests/delta/test_filters.py::test_both_evaluators_agree_with_the_table_of_cases",
        ),
    ),
    Bug(
        "before-a-time-and-not-at-it",
        "A message that was published at the last moment of a window is left out by Spark.",
        'tests.append(f"publish_time <= {sql_instant(latest)}")',
        'tests.append(f"publish_time < {sql_instant(latest)}")',
        needs_spark=(
            "tests/spark_lane/test_frames.py::test_scans_answer_by_window_filter_and_key",
            "tests/spark_lane/test_frames.py::test_a_topic_is_read_as_of_a_version_and_as_a_stream_with_ids",
        ),
    ),
    Bug(
        "an-empty-attribute-key",
        "A DataFrame publishes an attribute whose key is empty.",
        "return ~F.octet_length(key).between(1, rules.MAX_KEY_BYTES) | reserved",
        "return ~F.octet_length(key).between(0, rules.MAX_KEY_BYTES) | reserved",
        needs_spark=(
            "tests/delta/test_publish.py::test_the_two_evaluators_of_the_message_rules_agree",
        ),
    ),
    Bug(
        "key-that-another-tool-made-null-stays",
        "A key that another tool has made null is null in DataFrames, and empty elsewhere.",
        'return F.coalesce(name, F.lit("")).alias(name)',
        "return F.col(name)",
        needs_spark=(
            "tests/delta/test_pull.py::test_a_key_that_another_tool_has_made_null_is_the_empty_one",
        ),
    ),
)
