"""The registry: one row per topic, per subscription and per snapshot."""

from pubsub_delta.tables.registry.registry import Registry

__all__ = ["Registry"]
