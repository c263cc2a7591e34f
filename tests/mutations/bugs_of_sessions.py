"""Bugs of which Spark is taken, which lane writes to S3, and typed views."""

from __future__ import annotations

from tests.mutations.bug import Bug

_SESSION = "session.py"
_CHOICE = "tables/lanes/choice.py"
_S3_WRITERS = "tables/lanes/s3_writers.py"
_CREDENTIALS = "tables/lanes/direct/credentials.py"
_TYPED_SQL = "tables/lanes/spark/typed_sql.py"
_TYPED_VIEWS = "tests/delta/test_typed_views.py"

BUGS_OF_SESSIONS = (
    Bug(
        "a-pair-without-jars-is-started",
        "A Spark and a Delta for which there are no JARs end in a JVM that does not start.",
        _SESSION,
        "if _line(spark_version) in LINES_OF_SPARK and",
        "if _line(spark_version) in LINES_OF_SPARK or",
    ),
    Bug(
        "an-old-spark-is-taken",
        "A session of Spark 3 is taken, and fails at the first function that it does not have.",
        _SESSION,
        'if int(release.split(".")[0]) < 4:',
        'if int(release.split(".")[0]) < 3:',
    ),
    Bug(
        "two-lanes-of-one-store-on-s3",
        "Spark's lane and the direct one write to a store on S3, and overwrite each other.",
        _S3_WRITERS,
        "    if found == own:\n",
        "    if found:\n",
    ),
    Bug(
        "direct-lane-beside-dynamodb",
        "A session whose commits go through DynamoDB takes the direct lane, which asks it nothing.",
        _CHOICE,
        'return "spark", BY_DYNAMODB',
        'return "direct", BY_DYNAMODB',
    ),
    Bug(
        "deltalake-is-asked-for-dynamodb",
        "An environment that expects commits by DynamoDB gets others without a word.",
        _CREDENTIALS,
        'if os.environ.get("AWS_S3_LOCKING_PROVIDER", "").lower() == "dynamodb":',
        'if os.environ.get("AWS_S3_LOCKING_PROVIDER", "") == "DynamoDB":',
    ),
    Bug(
        "typed-view-forgets-other-schemas",
        "A message of another schema is told as one of a revision that is gone.",
        _TYPED_SQL,
        "f\"WHEN _schema <> {name} THEN concat('it was published under ', _schema) \"",
        '""',
        needs_spark=(
            f"{_TYPED_VIEWS}::"
            "test_a_message_is_read_there_by_the_revision_that_it_was_published_under",
        ),
    ),
    Bug(
        "reserved-words-as-columns",
        "By the Spark lane a session that reserves words makes no table with a column `filter`.",
        "tables/lanes/spark/types.py",
        '    return f"`{column}`"',
        "    return column",
    ),
    Bug(
        "rows-of-no-batch",
        "Rows whose value of `--batch-by` is no UTF-8 are in no batch, and nobody is told.",
        "jobs/publish.py",
        "        written = F.lit(None if text is None else text.decode())\n",
        '        written = F.lit(None if text is None else text.decode(errors="replace"))\n',
    ),
)
