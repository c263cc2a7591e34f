"""Bugs of what only Spark exercises: DataFrames, streams, the data source and views."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_AN_EIGHTH_OUTSIDER_BY_SPARK = (
    Bug(
        "stopped-while-it-leases",
        "What a query leases while it is stopped stays leased, where the stop hides the answer.",
        "streaming.py",
        "            if not self.is_active():\n                self._give_back(batch_id)\n",
        "",
    ),
    Bug(
        "a-condition-of-another-frame-fails-in-spark",
        "A condition on another DataFrame is refused by Spark, which names neither it nor a way.",
        "tables/lanes/spark/frames.py",
        "    except AnalysisException as error:",
        "    except ArithmeticError as error:",
        needs_spark=("tests/delta/test_batches.py",),
    ),
    Bug(
        "ack-ids-of-a-stream",
        "A streaming DataFrame of ack ids is refused by Spark, in its own words.",
        "operations/acknowledge.py",
        "    if frame.isStreaming:",
        "    if frame is None:",
        needs_spark=("tests/delta/test_batches.py",),
    ),
    Bug(
        "a-look-that-is-cached",
        "A topic is read as it was when the session cached an earlier look at it.",
        "tables/lanes/spark/frames.py",
        "return _all_columns(newest(spark, table)) if is_cached(rows) else rows",
        "return rows",
        needs_spark=(
            "tests/delta/test_pull.py::test_a_topic_is_read_anew_though_an_earlier_look_at_it_is_cached",
        ),
    ),
    Bug(
        "backlog-counts-without-a-policy",
        "A backlog shows delivery attempts where there is no dead-letter policy.",
        "operations/read.py",
        "counted = found.subscription.dead_letter_policy is not None",
        "counted = True",
        needs_spark=("tests/delta/test_batches.py::test_a_backlog_has_the_rows_that_a_pull_gives",),
    ),
    Bug(
        "ack-ids-in-two-columns",
        "A DataFrame with two columns of ack ids ends in an error of Spark's.",
        "tables/lanes/spark/frames.py",
        "return len(given) == 1 and isinstance(given[0], StringType)",
        "return len(given) >= 1 and isinstance(given[0], StringType)",
        needs_spark=(
            "tests/delta/test_hostile_input.py::test_a_dataframe_needs_one_column_of_ack_ids",
        ),
    ),
    Bug(
        "keys-weigh-nothing",
        "The bytes of ordering keys do not count where Spark measures a topic.",
        "tables/lanes/spark/columns.py",
        'parts = ("length(data)", texts, "octet_length(ordering_key)")',
        'parts = ("length(data)", texts)',
        needs_spark=(
            "tests/spark_lane/test_frames.py::test_scans_answer_by_window_filter_and_key",
        ),
    ),
    Bug(
        "absent-is-not-unequal",
        "By Spark NOT attributes.a = 'x' leaves out messages without the attribute.",
        "tables/lanes/spark/columns.py",
        "return F.coalesce(_attribute(key) == F.lit(value), F.lit(False))",
        "return _attribute(key) == F.lit(value)",
        needs_spark=(
            "tests/delta/test_filters.py::test_both_evaluators_agree_with_the_table_of_cases",
        ),
    ),
    Bug(
        "before-a-time-and-not-at-it",
        "A message that was published at the last moment of a window is left out by Spark.",
        "tables/lanes/spark/columns.py",
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
        "tables/lanes/spark/columns.py",
        "return ~F.octet_length(key).between(1, rules.MAX_KEY_BYTES) | reserved",
        "return ~F.octet_length(key).between(0, rules.MAX_KEY_BYTES) | reserved",
        needs_spark=(
            "tests/delta/test_publish.py::test_the_two_evaluators_of_the_message_rules_agree",
        ),
    ),
    Bug(
        "ordered-by-data-of-numbers",
        "A column of numbers is taken as data where the rows are ordered by it.",
        "tables/lanes/spark/publishing.py",
        "if name in (*_IGNORED, order_by) and name not in _ACCEPTED:",
        "if name in (*_IGNORED, order_by):",
        needs_spark=("tests/delta/test_ordering.py::test_an_order_column_must_be_one",),
    ),
    Bug(
        "arrays-of-maps-have-an-order",
        "order_by a column of arrays of maps ends in an error of Spark's.",
        "tables/lanes/spark/publishing.py",
        "        return _has_an_order(type_.elementType)\n",
        "        return True\n",
        needs_spark=(
            "tests/delta/test_publish_frames.py::test_a_column_without_an_order_orders_nothing",
        ),
    ),
    Bug(
        "nothing-is-no-column",
        "A column of nulls without a type is refused.",
        "tables/lanes/spark/publishing.py",
        "return isinstance(given, NullType) or given == accepted",
        "return given == accepted",
        needs_spark=(
            "tests/delta/test_publish.py::test_wrong_columns_and_types_are_refused",
            "tests/delta/test_publish.py::test_a_message_of_a_dataframe_without_a_key_has_the_empty_one",
        ),
    ),
    Bug(
        "writes-are-shuffled",
        "A DataFrame is shuffled when it is written, where the session optimizes writes.",
        "tables/lanes/spark/lane.py",
        '"optimizeWrite": "false"',
        '"optimizeWrite": "true"',
        needs_spark=(
            "tests/delta/test_publish_frames.py::test_a_dataframe_is_published_in_one_pass_without_a_shuffle",
        ),
    ),
    Bug(
        "a-source-that-is-gone-is-the-topic",
        "A DataFrame whose own table is gone is told as a topic that is gone.",
        "tables/lanes/spark/lane.py",
        "with translating_errors(table, of_others=of_others):",
        "with translating_errors(table):",
        needs_spark=(
            "tests/spark_lane/test_frames.py::test_what_is_wrong_with_the_callers_own_data_is_not_ours",
        ),
    ),
    Bug(
        "views-of-another-project",
        "create_views drops the views of another project.",
        "tables/lanes/spark/views.py",
        'for key in ("view", "store", "project")',
        'for key in ("view", "store")',
        needs_spark=("tests/delta/test_views.py::test_projects_have_views_of_their_own",),
    ),
    Bug(
        "one-piece-too-few",
        "A backlog of as many pieces as a view may have is refused.",
        "tables/lanes/spark/views.py",
        "        if left < 0:\n",
        "        if left <= 0:\n",
        needs_spark=("tests/delta/test_views.py::test_a_backlog_in_too_many_pieces_is_told",),
    ),
    Bug(
        "view-of-a-null-key",
        "A view shows null for the key of a message that has none.",
        "tables/lanes/spark/views.py",
        '"ordering_key": "coalesce(ordering_key, \'\')"',
        '"ordering_key": "ordering_key"',
        needs_spark=(
            "tests/spark_lane/test_frames.py::test_null_data_and_attributes_of_other_writers_are_empty",
        ),
    ),
    Bug(
        "detached-is-shown",
        "create_views makes a view of a detached subscription.",
        "operations/views.py",
        "        if topic_uid is None or subscription.detached:\n",
        "        if topic_uid is None:\n",
        needs_spark=(
            "tests/delta/test_views.py::test_views_follow_what_is_created_deleted_and_created_anew",
        ),
    ),
    Bug(
        "another-topic-after-a-restart",
        "A query that goes on with its checkpoint consumes another topic than its option names.",
        "datasource/consumer.py",
        "offset.subscription)\n        self._check_topic(subscribed.topic)\n",
        "offset.subscription)\n",
    ),
    Bug(
        "later-than-is-from",
        "A pushed filter publish_time > t returns messages that were published at t.",
        "datasource/batch_reader.py",
        "self._between(time + _MICROSECOND, None)",
        "self._between(time, None)",
    ),
    Bug(
        "ids-with-zeros",
        "A pushed filter finds message 17 under the id 017.",
        "datasource/batch_reader.py",
        " for text, number in named if str(number) == text",
        " for _, number in named",
    ),
    Bug(
        "no-key-is-not-the-empty-one",
        "A pushed condition on the empty key misses messages without a key.",
        "datasource/partition_reader.py",
        'found = pc.fill_null(rows.column("ordering_key"), "")',
        'found = rows.column("ordering_key")',
    ),
    Bug(
        "kilobytes-are-bytes",
        "maxBytesPerTrigger of 64k means 64 bytes.",
        "datasource/options.py",
        '_FACTORS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}',
        '_FACTORS = {"": 0, "k": 0, "m": 20, "g": 30, "t": 40}',
    ),
    Bug(
        "the-first-two-parts-are-one",
        "A partition of the data source is larger than it should be.",
        "datasource/partitions.py",
        "bounds = [0, *sorted(set(ends)), 2**63]",
        "bounds = [0, *sorted(set(ends))[1:], 2**63]",
    ),
    Bug(
        "columns-of-any-type",
        "A schema with another type for a column of the data source is taken.",
        "datasource/source.py",
        "if field.name not in accepted.names or accepted[field.name].dataType != field.dataType:",
        "if field.name not in accepted.names:",
    ),
    Bug(
        "key-that-another-tool-made-null-stays",
        "A key that another tool has made null is null in DataFrames, and empty elsewhere.",
        "tables/lanes/spark/columns.py",
        'return F.coalesce(name, F.lit("")).alias(name)',
        "return F.col(name)",
        needs_spark=(
            "tests/delta/test_pull.py::test_a_key_that_another_tool_has_made_null_is_the_empty_one",
        ),
    ),
)
