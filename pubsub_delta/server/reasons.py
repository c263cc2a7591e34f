"""Why an ack id failed, in words that clients read: the beginning tells whether to try again."""

from __future__ import annotations

INVALID_ACK_ID = "PERMANENT_FAILURE_INVALID_ACK_ID"
"""Pub/Sub: with exactly-once delivery, why an ack id failed; trying again cannot help."""
TRANSIENT = "TRANSIENT_FAILURE_NOT_WRITTEN"
"""Nothing was written for an ack id; trying again may help."""
