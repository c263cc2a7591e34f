"""Editing what somebody else may be editing: told, not overwritten."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from fastapi import Request, Response

from pubsub_delta.console.forms import Form
from pubsub_delta.errors import Aborted, PubSubError
from pubsub_delta.policy.preconditions import R
from pubsub_delta.resources import Snapshot, Subscription, Topic, own_fields

CHANGED_MEANWHILE = (
    "Somebody changed it while you were editing. Nothing was saved. What is stored now stands "
    "above the form, and what you typed is still in it: look at both, then save again, or cancel."
)


def state_of(resource: Topic | Subscription | Snapshot) -> str:
    """Return a short text that is another one as soon as a resource is changed or made anew."""
    values = own_fields(resource)
    text = repr([(n, sorted(v.items()) if n == "labels" else v) for n, v in values.items()])
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]


def is_outdated(form: Form, stored: Topic | Subscription | Snapshot) -> bool:
    """Tell whether something else is stored than a form has shown; the form then warns of it."""
    if form["shown"] == state_of(stored):
        return False
    form.values["shown"] = state_of(stored)
    form.warning = CHANGED_MEANWHILE
    return True


def unless_crossed(
    form: Form,
    read: Callable[[], R],
    crossed: Callable[[Request, R], Response],
    failed: Callable[[Request, PubSubError], Response],
) -> Callable[[Request, PubSubError], Response]:
    """Return what answers for a change that failed.

    Where somebody else wrote after the form was compared, ``crossed`` answers with what is stored
    now, otherwise ``failed`` with the error.
    """

    def answer(request: Request, error: PubSubError) -> Response:
        if isinstance(error, Aborted):
            stored = read()
            if is_outdated(form, stored) or form.warning:  # the answer may be asked for again
                return crossed(request, stored)
        return failed(request, error)

    return answer
