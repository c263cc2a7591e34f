"""``format("pubsub_delta")``: the store as a data source of Spark, by the direct lane alone.

Spark calls it in Python processes without a session: a short one for each plan, one that lives as
long as a streaming query, and those of the tasks. ``source`` is what Spark finds.
"""
