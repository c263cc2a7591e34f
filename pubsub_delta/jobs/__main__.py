"""Tell where the jobs are, for spark-submit.

The wheel brings ``spark-defaults.conf`` beside them:

    jobs=$(python -m pubsub_delta.jobs)
    spark-submit --properties-file $jobs/spark-defaults.conf $jobs/publish.py --help
"""

from pathlib import Path

print(Path(__file__).resolve().parent)
