"""Who answers commands: a store, in this process or by Spark Connect, or a running server.

What all of them can do is what the type checker lets a command call: the verbs of ``PubSub``
(``pubsub_delta.client``) that are in the table of ``endpoint.client``, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:  # a command imports the one that answers it
    from pubsub_delta.batches import PulledBatch
    from pubsub_delta.cli.endpoint.client import EndpointClient, PulledMessages
    from pubsub_delta.client import PubSub

Service: TypeAlias = "PubSub | EndpointClient"
"""Answers for the methods of google.pubsub.v1. Names are full names."""

Batch: TypeAlias = "PulledBatch | PulledMessages"
"""What a pull returns: it iterates, and is acknowledged as a whole."""
