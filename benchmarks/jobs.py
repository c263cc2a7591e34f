"""Which Spark jobs something runs, as Spark counts them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from uuid import uuid4

from pyspark.sql import SparkSession

T = TypeVar("T")


def jobs_of(spark: SparkSession, run: Callable[[], T]) -> tuple[list[str], T]:
    """Run something; return the description of each Spark job of this thread, and the result."""
    jobs, result = _stages_of(spark, run)
    return [" + ".join(stage.name for stage in stages) for stages in jobs], result


def tasks_of(spark: SparkSession, run: Callable[[], T]) -> tuple[list[list[int]], T]:
    """Run something; return how many tasks each stage of each Spark job has, and the result."""
    jobs, result = _stages_of(spark, run)
    return [[stage.numTasks for stage in stages] for stages in jobs], result


def _stages_of(spark: SparkSession, run: Callable[[], T]) -> tuple[list[list[Any]], T]:
    group = uuid4().hex
    context = spark.sparkContext
    context.setJobGroup(group, group)
    try:
        result = run()
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
    tracker = context.statusTracker()
    jobs = []
    for job in sorted(tracker.getJobIdsForGroup(group)):
        info = tracker.getJobInfo(job)
        stages = [tracker.getStageInfo(stage) for stage in info.stageIds] if info else []
        jobs.append([stage for stage in stages if stage])
    return jobs, result
