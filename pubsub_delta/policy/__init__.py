"""What should happen: pure functions from one state to the next. No Spark, no clock, no I/O."""
