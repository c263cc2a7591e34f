"""Print the directory of the jobs, for spark-submit.

In the wheel it has ``spark-defaults.conf``, too:

    jobs=$(python -m pubsub_delta.jobs)
    spark-submit --properties-file $jobs/spark-defaults.conf $jobs/publish.py --help
"""

from pathlib import Path

print(Path(__file__).resolve().parent)
