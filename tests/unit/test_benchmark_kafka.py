"""What the benchmark of Kafka reads from its tools: the samples are output of Kafka 4.1.2."""

from __future__ import annotations

import pytest

from benchmarks.kafka import (
    KafkaFigures,
    Rate,
    Run,
    parse_consumer,
    parse_producer,
    parse_share_consumer,
    parse_start_offsets,
    report,
)
from benchmarks.kafka_broker import KafkaFailed, class_path

PRODUCER = """\
268329 records sent, 52459.2 records/sec (3.20 MB/sec), 468.5 ms avg latency, 1495.0 ms max latency.
759686 records sent, 150911.0 records/sec (9.21 MB/sec), 2533.0 ms avg latency, 3225.0 ms max \
latency.
2000000 records sent, 162839.9 records/sec (9.94 MB/sec), 2448.49 ms avg latency, 3658.00 ms max \
latency, 2632 ms 50th, 3496 ms 95th, 3628 ms 99th, 3649 ms 99.9th.
"""
CONSUMER = """\
start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, \
rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec
2026-11-22 02:50:15:625, 2026-11-22 02:50:21:924, 122.0703, 19.3793, 2000000, 317510.7160, \
2667, 3632, 33.6097, 550660.7930
"""
SHARE_HEAD = """\
start.time, end.time, data.consumed.in.MB, MB.sec, nMsg.sec, data.consumed.in.nMsg, fetch.time.ms
"""
SHARE_CONSUMER = f"""{SHARE_HEAD}\
2026-11-22 02:55:47:602, 2026-11-22 02:56:00:494, 122.0703, 9.4687, 155134.9674, 2000000, 12892
"""
SHARE_CONSUMER_OUT_OF_TIME = f"""{SHARE_HEAD}\
WARNING: Exiting before consuming the expected number of messages: timeout (10000 ms) exceeded. \
You can use the --timeout option to increase the timeout.
2026-11-22 02:50:23:859, 2026-11-22 02:50:34:073, 7.2985, 0.7146, 11707.2645, 119578, 10214
"""
START_OFFSETS = """
GROUP           TOPIC           PARTITION  START-OFFSET
g1795316297     b3              0          1487317
g1795316297     b3              1          1495411
"""
# Not output: how a partition is listed that has no start offset yet.
NOT_STARTED = """
GROUP           TOPIC           PARTITION  START-OFFSET
g1795316297     b3              0          -
g1795316297     b3              1          1495411
"""
# The end of what spark-submit prints, shortened.
SUBMITTED = """\
(spark.submit.deployMode,client)
Classpath elements:
file:///home/u/.ivy2.5.2/jars/org.apache.kafka_kafka_2.13-4.1.2.jar
file:///home/u/.ivy2.5.2/jars/org.apache.kafka_kafka-tools-4.1.2.jar


"""


def test_the_producer_counts_by_the_total_and_not_by_its_progress() -> None:
    run = parse_producer(PRODUCER, 14.7)
    assert run.messages == 2_000_000
    assert run.per_second == pytest.approx(162_839.9)
    assert run.seconds == pytest.approx(12.282, abs=0.001)
    assert run.wall_seconds == 14.7


def test_the_consumer_counts_without_joining_its_group() -> None:
    run = parse_consumer(CONSUMER, 7.8)
    assert (run.messages, run.joining_seconds) == (2_000_000, 2.667)
    assert run.seconds == pytest.approx(6.299)  # from start.time to end.time
    assert run.per_second == pytest.approx(550_660.793)  # fetch.nMsg.sec


def test_the_share_consumer_counts_by_the_columns_as_its_header_orders_them() -> None:
    run = parse_share_consumer(SHARE_CONSUMER, 14.4)
    assert (run.messages, run.seconds) == (2_000_000, 12.892)
    assert run.per_second == pytest.approx(155_134.9674)


def test_a_share_consumer_out_of_time_tells_how_far_it_came() -> None:
    run = parse_share_consumer(SHARE_CONSUMER_OUT_OF_TIME, 11.6)
    assert (run.messages, run.seconds) == (119_578, 10.214)


def test_acknowledged_is_the_sum_of_the_start_offsets() -> None:
    assert parse_start_offsets(START_OFFSETS) == 1_487_317 + 1_495_411


def test_a_partition_that_was_not_started_has_nothing_acknowledged() -> None:
    assert parse_start_offsets(NOT_STARTED) == 1_495_411


@pytest.mark.parametrize(
    ("parse", "told"),
    [
        (parse_producer, PRODUCER[: PRODUCER.index("2000000")]),
        (parse_consumer, CONSUMER.splitlines()[0]),
        (parse_share_consumer, SHARE_HEAD),
        (parse_share_consumer, ""),
    ],
)
def test_a_tool_without_a_total_has_failed(parse, told: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(KafkaFailed, match="printed no total"):
        parse(told, 1.0)


def test_offsets_that_are_not_listed_have_failed() -> None:
    with pytest.raises(KafkaFailed, match="listed no offsets"):
        parse_start_offsets("Error: Share group 'g' does not exist.")


def test_too_few_messages_have_no_rate() -> None:
    run = Run(30_000, seconds=10.374, wall_seconds=16.7, joining_seconds=13.405)
    with pytest.raises(KafkaFailed, match="30,000 messages are too few"):
        _ = run.per_second


def test_the_class_path_is_what_spark_submit_lists() -> None:
    assert class_path(SUBMITTED) == [
        "/home/u/.ivy2.5.2/jars/org.apache.kafka_kafka_2.13-4.1.2.jar",
        "/home/u/.ivy2.5.2/jars/org.apache.kafka_kafka-tools-4.1.2.jar",
    ]
    assert class_path("Error: Failed to load class") == []


def test_the_report_has_medians_and_what_was_acknowledged() -> None:
    fast, slow = Run(1000, 1.0, 2.0), Run(1000, 4.0, 5.0)
    shared = Rate((Run(1000, 3.0, 5.0, joining_seconds=1.0, acknowledged=990),))
    figures = KafkaFigures(1000, 64, 2, "1", Rate((slow, fast, fast)), Rate((fast,)), shared)
    lines = report([figures]).splitlines()
    assert lines[2] == "| producer | 2 | 1,000 | 250 | 1,000 | 1.00 | 0.00 | 2.00 |  |"
    assert lines[4] == "| share consumer | 2 | 500 | 500 | 500 | 3.00 | 1.00 | 5.00 | 990 |"
