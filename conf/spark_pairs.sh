#!/bin/sh
# Run some tests with other pairs of Spark and Delta than the tests run with, each pair in an
# environment of its own: spark_pairs.sh DIRECTORY [SPARK/DELTA ...]
# An environment takes 0.8 GB, and is kept for the next run.
set -eu

PAIRS="4.0.5/4.4.0 4.1.4/4.4.0 4.2.0/4.4.1"
# What is published, pulled and read as a DataFrame, by Spark's lane and beside the direct one; views.
TESTS="tests/delta/test_spark_of_the_pair.py tests/delta/test_publish_frames.py \
    tests/delta/test_two_lanes.py tests/delta/test_typed_views.py tests/delta/test_schemas.py \
    tests/spark_lane/test_tables.py"

directory=$(mkdir -p "$1" && cd "$1" && pwd)
shift
python=${PYTHON:-python3}
cd "$(dirname "$0")/.."
grep -v -E '^(pyspark|delta-spark|py4j|importlib-metadata)==' constraints.txt >"$directory/constraints.txt"

for pair in ${*:-$PAIRS}; do
    spark=${pair%/*} delta=${pair#*/}
    place=$directory/spark-$spark-delta-$delta
    if ! [ -e "$place/ready" ]; then
        echo "Installing Spark $spark and Delta $delta"
        "$python" -m venv "$place"
        "$place/bin/pip" install --quiet --constraint "$directory/constraints.txt" \
            --editable '.[cli,schemas]' "pyspark==$spark" "delta-spark==$delta" \
            chispa hypothesis 'pandas<3' pytest pytest-timeout
        touch "$place/ready"
    fi
    echo "Spark $spark, Delta $delta:"
    # shellcheck disable=SC2086
    PYSPARK_PYTHON="$place/bin/python" PYTHONPATH="$PWD" "$place/bin/python" -m pytest \
        -p no:cacheprovider --timeout 900 $TESTS
done
