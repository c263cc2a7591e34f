"""``--endpoint``: the commands of google.pubsub.v1, answered by a running server. No Spark."""
