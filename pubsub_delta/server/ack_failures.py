"""The reasons of failed ack ids, as clients parse them: the beginning says whether to try again."""

from __future__ import annotations

INVALID_ACK_ID = "PERMANENT_FAILURE_INVALID_ACK_ID"
"""Pub/Sub: with exactly-once delivery, why an ack id failed; trying again cannot help."""
TRANSIENT = "TRANSIENT_FAILURE_NOT_WRITTEN"
"""Nothing was written for an ack id; trying again can help."""
OF_OTHERS = "TRANSIENT_FAILURE_OF_OTHERS"
"""An ack id succeeded, which a response cannot say beside the failure of others, or it was not
written, as others failed. The client must try it again.
"""
