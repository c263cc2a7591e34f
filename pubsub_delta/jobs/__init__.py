"""Jobs for spark-submit, ``python -m`` and schedulers: one in each module with a command."""
