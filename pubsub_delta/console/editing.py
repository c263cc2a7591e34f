"""Editing what somebody else may be editing: told, not overwritten."""

from __future__ import annotations

import hashlib
from dataclasses import fields

from pubsub_delta.resources import Snapshot, Subscription, Topic

CHANGED_MEANWHILE = (
    "Somebody changed it while you were editing. Nothing was saved. What is stored now stands "
    "above the form, and what you typed is still in it: look at both, then save again, or cancel."
)

_OF_OTHERS = frozenset({"topic_message_retention_duration", "retained_from"})
"""Fields that change with something else than the resource."""


def state_of(resource: Topic | Subscription | Snapshot) -> str:
    """Return a short text that is another one as soon as any field of a resource is.

    Its uid is part of it: a resource that was deleted and created anew is another one.
    """
    values = (
        (each.name, getattr(resource, each.name))
        for each in fields(resource)
        if each.name not in _OF_OTHERS
    )
    text = repr([(n, sorted(v.items()) if n == "labels" else v) for n, v in values])
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]
