"""Bugs of what trials of killed JVMs, slow jobs and settings of Spark sessions found."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_SPARK_SESSIONS = (
    Bug(
        "lease-outlives-the-jvm",
        "The lease of a micro-batch is extended for ever after its JVM was killed.",
        "streaming.py",
        "        except Exception:  # each way to lose a JVM has an error of its own",
        "        except NotImplementedError:",
    ),
)
