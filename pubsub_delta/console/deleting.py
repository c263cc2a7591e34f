"""Deleting something: a page says what goes with it, and asks for its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import Request, Response

from pubsub_delta.console.forms import Form
from pubsub_delta.console.pages import address, page


@dataclass(frozen=True)
class Deletion:
    """What is to be deleted. ``kind``: as in its address (``topics``), ``word``: as one says it.

    ``consequences``: what goes with it. ``hindrances``: names of what must be changed first, and
    ``hindered_by`` says how they stand in the way.
    """

    kind: str
    word: str
    id: str
    consequences: Sequence[str]
    hindrances: Sequence[str] = ()
    hindered_by: str = ""

    @property
    def at(self) -> str:
        """The address of what is to be deleted."""
        return address(self.kind, self.id)


def confirm_page(request: Request, deletion: Deletion, form: Form | None = None) -> Response:
    """Ask whether it is to be deleted."""
    form = Form() if form is None else form
    return page(request, "confirm.html", 400 if form.is_wrong else 200, it=deletion, form=form)


def is_confirmed(form: Form, id_: str) -> bool:
    """Tell whether the name was typed; the form then says what is wrong otherwise."""
    if form.text("name") == id_:
        return True
    form.errors["name"] = f"{form.text('name')!r} is not its ID; type {id_}"
    return False
