"""Tell where the jobs are, for spark-submit.

The wheel brings this directory as ``pubsub_delta/jobs``, with ``spark-defaults.conf`` in it:

    jobs=$(python -m pubsub_delta.jobs)
    spark-submit --properties-file $jobs/spark-defaults.conf $jobs/publish.py --help
"""

from pathlib import Path

print(Path(__file__).resolve().parent)
