"""The benchmark suite: the store against the physical floor, the obvious design, and Kafka."""
