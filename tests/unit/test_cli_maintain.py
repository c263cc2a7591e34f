"""``maintain``: what it asks the store for, whole, for each of its options."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("click")

from pubsub_delta.operations.maintain import MaintenanceReport
from tests.unit.test_cli_arguments import Noting, run

NONE = {"log_retention": None, "exact": False, "dry_run": False}


def asked_for(*args: str) -> dict[str, Any]:
    store = Noting(maintain=MaintenanceReport())
    result = run(store, "maintain", *args)
    assert (result.exit_code, result.stdout) == (0, "nothing to do\n"), result.output
    ((name, plain, named),) = store.calls
    assert (name, plain) == ("maintain", ())
    return named


USUAL = ("tables", "dead_letters", "expiration", "retention")
DUTIES = (*USUAL, "optimize", "vacuum")


@pytest.mark.parametrize(
    ("args", "changed"),
    [
        ([], {}),
        (["--exact"], {"exact": True}),
        (["--exact=false"], {}),
        (["--no-exact"], {}),
        (["--dry-run"], {"dry_run": True}),
        (["--no-dry-run"], {}),
        (["--exact", "--dry-run"], {"exact": True, "dry_run": True}),
        (["--log-retention=6h"], {"log_retention": "6h"}),
    ],
)
def test_the_usual_duties_are_done_unless_some_are_named(
    args: list[str], changed: dict[str, Any]
) -> None:
    duties = {each: each in USUAL for each in DUTIES}
    assert asked_for(*args) == {**duties, **NONE, **changed}


@pytest.mark.parametrize("duty", DUTIES)
def test_only_the_named_duties_are_done(duty: str) -> None:
    shown = duty.replace("_", "-")
    others = dict.fromkeys(DUTIES, False)
    assert asked_for(f"--duties={shown}", "--exact") == {
        **others,
        duty: True,
        **NONE,
        "exact": True,
    }


def test_help_tells_both_forms_of_a_switch_and_what_it_does() -> None:
    shown = " ".join(run(Noting(), "maintain", "--help").stdout.split())
    assert "--[no-]exact Delete to the message, not only whole days." in shown
    assert "--[no-]dry-run Only tell what would be done." in shown
