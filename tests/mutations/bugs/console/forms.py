"""Seeded bugs of ``console/forms.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_form_values.py",
    "tests/unit/test_console_forms.py",
    "tests/unit/test_console_security.py",
    "tests/unit/test_console_whole_pages.py",
)

BUGS = (
    Bug(
        "form-as-large-as-allowed",
        "A form of exactly the largest size is refused.",
        "if len(body) > LARGEST_FORM:",
        "if len(body) >= LARGEST_FORM:",
    ),
    Bug(
        "stale-form-is-obeyed",
        "A form that was not written for a session is obeyed.",
        "        raise InvalidCsrfToken(form)\n",
        "        pass\n",
    ),
    Bug(
        "console-hours-of-half-a-day",
        "A form shows a retention of 18 hours as one of 6.",
        "minutes // 60 % 24",
        "minutes // 60 % 12",
    ),
    Bug(
        "console-local-times",
        "A form shows a time as it is on some machine, and reads it as UTC.",
        "    in_utc = time.astimezone(UTC)\n",
        "    in_utc = time\n",
    ),
    Bug(
        "labels-end-with-a-carriage-return",
        "Labels that were typed into a form of the console end with an invisible character.",
        'form.values[name] = value.replace("\\r\\n", "\\n")',
        "form.values[name] = value",
    ),
    Bug(
        "the-last-error-of-a-field",
        "A field of a form shows its last error, and not its first.",
        "self.errors.setdefault(target, readable(text.removeprefix(beginning).strip()))",
        "self.errors[target] = readable(text.removeprefix(beginning).strip())",
    ),
    Bug(
        "labels-that-no-line-holds-dropped",
        "An edit of a label in the console drops those that its lines cannot hold.",
        "return {**kept, **edited}",
        "return dict(edited)",
    ),
    Bug(
        "a-label-of-two-lines-hinders-edits",
        "No field of a resource can be edited in the console that has a label of two lines.",
        "and NOT_IN_LINES.isdisjoint(key + value)",
        "and NOT_IN_LINES.isdisjoint(key)",
    ),
)
