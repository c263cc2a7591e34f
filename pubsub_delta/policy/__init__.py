"""The rules: pure functions from one state to the next, without Spark, clock or I/O."""
