"""The service behind commands: a store, in this process or by Spark Connect, or a server.

The type checker lets commands call what both have: the methods of ``PubSub`` that
``endpoint.client`` has, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:  # a command imports the one that it uses
    from pubsub_delta.batches import PulledBatch
    from pubsub_delta.cli.endpoint.client import EndpointClient, PulledMessages
    from pubsub_delta.client import PubSub

Service: TypeAlias = "PubSub | EndpointClient"
"""Has the methods of google.pubsub.v1. Names are full names."""

Batch: TypeAlias = "PulledBatch | PulledMessages"
"""The messages of a pull, which are acknowledged together."""
