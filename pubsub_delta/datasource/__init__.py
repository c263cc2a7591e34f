"""``format("pubsub_delta")``: the store as a data source of Spark, by the direct lane alone.

Spark calls it in Python processes without a session: one for each plan, one that lives as long as a
streaming query, and those of the tasks. Spark finds ``source``.
"""
