"""Programs for spark-submit, ``python -m`` and schedulers: each module with a command is one."""
