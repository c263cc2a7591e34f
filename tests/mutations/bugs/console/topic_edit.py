"""Seeded bugs of ``console/topic_edit.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_form_values.py",
    "tests/unit/test_console_hostile.py",
    "tests/unit/test_console_forms.py",
    "tests/unit/test_console_flows.py",
    "tests/unit/test_console_jobs.py",
    "tests/unit/test_console_whole_pages.py",
)

BUGS = (
    Bug(
        "five-subscriptions-and-others",
        "The page that deletes a topic with five subscriptions tells of others.",
        "len(attached) > 5)",
        "len(attached) >= 5)",
    ),
    Bug(
        "taken-topic-id-is-no-error-of-the-field",
        "The form of a new topic shows a taken ID above the form, and not at the field.",
        '    if error.code == "ALREADY_EXISTS":\n        fields[""] = "id"\n',
        "",
    ),
    Bug(
        "wrong-id-of-a-topic-told-later",
        "The form of a topic tells a wrong id only once nothing else is wrong.",
        'form.text("id")\n'
        "    form.validate(lambda: topic_name(name, console.project), ERROR_FIELDS)\n",
        'form.text("id")\n',
    ),
    Bug(
        "topic-called-new",
        "The page of the topic new is the form that creates one.",
        '@router.get("/topics/_new")',
        '@router.get("/topics/new")\n@router.get("/topics/_new")',
    ),
)
