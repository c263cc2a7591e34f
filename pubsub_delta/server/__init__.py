"""A server that speaks google.pubsub.v1 on a store. It needs the extra ``server``."""
