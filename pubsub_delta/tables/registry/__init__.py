"""The registry: one row per topic, per subscription, per snapshot and per schema."""

from pubsub_delta.tables.registry.registry import EVERY_MESSAGE, Registry

__all__ = ["EVERY_MESSAGE", "Registry"]
