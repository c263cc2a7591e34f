"""Why an ack id is named in an error, in words that clients read: the beginning says what to do."""

from __future__ import annotations

INVALID_ACK_ID = "PERMANENT_FAILURE_INVALID_ACK_ID"
"""Pub/Sub: with exactly-once delivery, why an ack id failed; trying again cannot help."""
TRANSIENT = "TRANSIENT_FAILURE_NOT_WRITTEN"
"""Nothing was written for an ack id; trying again may help."""
SUCCEEDED = "TRANSIENT_FAILURE_OF_OTHERS"
"""An ack id succeeded, which cannot be told beside the failure of others: it is to be tried again,
and succeeds at once."""
