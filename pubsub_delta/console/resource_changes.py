"""Creating, editing and deleting: what topics, subscriptions and snapshots share.

An edit is refused if another writer changed the resource after the form was shown. A deletion is
done after its page has listed the consequences and the reader has typed the ID.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from fastapi import Request, Response

from pubsub_delta.console.context import address, console_of
from pubsub_delta.console.error_texts import readable
from pubsub_delta.console.forms import Form, with_kept
from pubsub_delta.console.responses import failure_page, redirect_with_flash, render, run_job
from pubsub_delta.errors import Aborted, PubSubError
from pubsub_delta.resources import Snapshot, Subscription, Topic, own_fields

R = TypeVar("R", Topic, Subscription, Snapshot)

DELETE_CONFLICT = (
    "Somebody changed it, or deleted it and created it again, after this page was shown. Nothing "
    "was deleted. Below stands what goes now."
)
EDIT_CONFLICT = (
    "Somebody changed it while you were editing. Nothing was saved. The stored values are above "
    "the form, and your values are still in it: compare them, then save again or cancel."
)


def fingerprint(resource: Topic | Subscription | Snapshot) -> str:
    """Return a text that changes whenever a resource is changed, or deleted and created again.

    The state of its table is none of its fields: nobody has changed the resource if that changes.
    """
    values = own_fields(resource)
    if (table := values.get("table_config")) is not None:
        values["table_config"] = replace(table, state=None)
    text = repr([(n, sorted(v.items()) if n == "labels" else v) for n, v in values.items()])
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]


def has_conflict(form: Form, stored: Topic | Subscription | Snapshot) -> bool:
    """Return whether the resource differs from the one that the form showed, and warn of it."""
    if form["fingerprint"] == fingerprint(stored):
        return False
    form.values["fingerprint"] = fingerprint(stored)
    form.warning = EDIT_CONFLICT
    return True


def on_conflict(
    form: Form,
    read: Callable[[], R],
    conflict: Callable[[Request, R], Response],
    on_error: Callable[[Request, PubSubError], Response],
) -> Callable[[Request, PubSubError], Response]:
    """Return an error handler for an update that checks for changes by others.

    If another writer came between the check of the form and the update, ``conflict`` makes the
    response from the stored resource. ``on_error`` makes it from any other error.
    """

    def handle(request: Request, error: PubSubError) -> Response:
        if isinstance(error, Aborted):
            stored = read()
            if has_conflict(form, stored) or form.warning:  # the page may be requested again
                return conflict(request, stored)
        return on_error(request, error)

    return handle


def edited_fields(edited: Mapping[str, Any], shown: Mapping[str, Any], stored: R) -> dict[str, Any]:
    """Return the fields that differ from what the form showed; labels that it cannot show stay."""
    changed = {name: value for name, value in edited.items() if value != shown[name]}
    if changed.get("labels") is not None:
        changed["labels"] = with_kept(changed["labels"], stored.labels)
    return changed


def create_resource(
    request: Request,
    word: str,
    name: str,
    create: Callable[[], R],
    failed: Callable[[Request, PubSubError], Response],
) -> Response:
    """Create a resource, and lead to its page; ``failed`` makes the response from an error."""
    return run_job(
        request,
        f"Creating the {word} {name}",
        create,
        lambda asked, made: redirect_with_flash(
            asked, f"The {word} was created.", f"{word}s", console_of(asked).short(made.name)
        ),
        failed,
    )


def update_resource(
    request: Request,
    form: Form,
    word: str,
    id_: str,
    *,
    read: Callable[[str], R],
    changed_fields: Callable[[R], dict[str, Any]],
    update: Callable[[R, dict[str, Any]], object],
    form_page: Callable[..., Response],
    on_error: Callable[[Request, PubSubError], Response],
) -> Response:
    """Update the fields that a form changes, unless another writer has changed the resource.

    Args:
        request: the request that carries the form.
        form: the form; errors are added to it.
        word: ``topic``, ``subscription`` or ``snapshot``.
        id_: the ID of the resource.
        read: returns the stored resource.
        changed_fields: returns the fields whose values differ from the stored ones.
        update: writes these fields if the resource is still the stored one.
        form_page: renders the form again after errors in it, or a conflict; called with the
            request, the form, the ID, and then the status and the stored resource.
        on_error: makes the response from an error of the library.
    """
    stored = read(id_)

    def conflict(asked: Request, found: R) -> Response:
        return form_page(asked, form, id_, 409, found)

    if has_conflict(form, stored):
        return conflict(request, stored)
    fields = changed_fields(stored)
    if form.has_errors:
        return form_page(request, form, id_)
    note = f"The {word} was updated." if fields else "Nothing was changed."
    return run_job(
        request,
        f"Updating the {word} {id_}",
        lambda: update(stored, fields) if fields else None,
        lambda asked, _: redirect_with_flash(asked, note, f"{word}s", id_),
        on_conflict(form, partial(read, id_), conflict, on_error),
    )


@dataclass(frozen=True)
class Deletion:
    """A resource that is to be deleted, as its page shows it.

    ``word``: ``topic``, ``subscription`` or ``snapshot``. ``resource``: as it was read.
    ``consequences``: sentences.
    ``blockers``: subscriptions that must be changed first, and ``blocked_because`` says why.
    """

    word: str
    id: str
    resource: Topic | Subscription | Snapshot
    consequences: Sequence[str]
    blockers: Sequence[str] = ()
    blocked_because: str = ""

    @property
    def kind(self) -> str:
        """The first part of the address (``topics``)."""
        return f"{self.word}s"

    @property
    def at(self) -> str:
        """The address of the resource."""
        return address(self.kind, self.id)


def consequence(measured: Callable[[], str]) -> str:
    """Return a sentence on what goes with a resource, or why that is not known.

    A resource that cannot be read can be deleted, too.
    """
    try:
        return measured()
    except PubSubError as error:
        return f"How many messages go with it is not known: {readable(str(error))}."


def confirm_page(request: Request, deletion: Deletion, form: Form | None = None) -> Response:
    """Render the page that asks for the ID of a resource before it is deleted."""
    form = Form() if form is None else form
    form.values["fingerprint"] = fingerprint(deletion.resource)
    status = 409 if form.warning else 400 if form.has_errors else 200
    return render(request, "confirm.html", status, it=deletion, form=form)


def delete_resource(
    request: Request,
    form: Form,
    word: str,
    id_: str,
    *,
    read: Callable[[str], R],
    deletion: Callable[[], Deletion],
    delete: Callable[[str, R], object],
) -> Response:
    """Delete a resource if its ID was typed; else render the page that asks for the ID.

    So does a resource that is not the one that the page showed. ``delete`` deletes it if it is
    still stored as it was read; Aborted otherwise.
    """

    def conflict(asked: Request) -> Response:
        form.warning, form.values["name"] = DELETE_CONFLICT, ""
        return confirm_page(asked, deletion(), form)

    def failed(asked: Request, error: PubSubError) -> Response:
        is_other = isinstance(error, Aborted) and form["fingerprint"] != fingerprint(read(id_))
        # The page may be requested again: then its form has the fingerprint of the stored one.
        return conflict(asked) if is_other or form.warning else failure_page(asked, error)

    if form.text("name") != id_:
        form.errors["name"] = f"{form.text('name')!r} is not its ID; type {id_}"
        return confirm_page(request, deletion(), form)
    stored = read(id_)
    if form["fingerprint"] != fingerprint(stored):
        return conflict(request)
    return run_job(
        request,
        f"Deleting the {word} {id_}",
        lambda: delete(id_, stored),
        lambda asked, _: redirect_with_flash(asked, f"The {word} {id_} was deleted.", f"{word}s"),
        failed,
    )
