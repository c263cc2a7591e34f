"""Seeded bugs of ``console/subscription_edit.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_deletions.py",
    "tests/unit/test_console_forms.py",
    "tests/unit/test_console_dead_letter_subscriptions.py",
    "tests/unit/test_console_security.py",
    "tests/unit/test_console_form_values.py",
    "tests/unit/test_console_whole_pages.py",
)

BUGS = (
    Bug(
        "a-wrong-id-told-too-late",
        "A form creates its subscription before it finds out that the ID of the one for its dead "
        "letters is wrong.",
        "    _check_dead_letter_subscription(console, form, name)\n",
        "",
    ),
    Bug(
        "a-tick-that-does-nothing",
        "An edit that only asks for a subscription for the dead letters creates none.",
        'fields.setdefault("dead_letter_policy", stored.dead_letter_policy)',
        "pass",
    ),
    Bug(
        "form-creates-topic-again",
        "After an error of the second step, the form creates its new topic again, and "
        "fails with AlreadyExists for ever.",
        "        form.values[name] = console.short(created.name)\n",
        "        console.short(created.name)\n",
    ),
    Bug(
        "reader-is-asked-to-delete",
        "A console that may change nothing offers to delete a subscription.",
        "def delete_form(request: Request, id_: str, _: RequiresWrite)",
        "def delete_form(request: Request, id_: str)",
    ),
    Bug(
        "topic-of-a-box-that-is-not-checked",
        "A form without a dead-letter policy creates a topic for dead letters.",
        'if form[name] != NEW_TOPIC or (name == "dead_letter_topic" and letters is None):',
        "if form[name] != NEW_TOPIC:",
    ),
    Bug(
        "letters-to-a-name-that-is-taken",
        "A form does not see that a subscription for dead letters has a name that is taken.",
        "    elif field not in form.errors:\n        _check_free(console, form, name, field)",
        "    elif field not in form.errors:\n        pass",
    ),
    Bug(
        "letters-of-the-topic",
        "The subscription for dead letters is one of the subscription's own topic.",
        "console.store.create_subscription(name, letters.dead_letter_topic)",
        "console.store.create_subscription(name, subscription.topic)",
    ),
    Bug(
        "no-more-than-a-week-in-the-menu",
        "The console offers no retention of more than a week.",
        "longest_days=MAX_SUBSCRIPTION_RETENTION.days",
        "longest_days=7",
    ),
    Bug(
        "detached-subscription-is-measured",
        "The page that deletes a detached subscription is an error.",
        "        if subscription.detached:\n            return",
        "        if not subscription.topic:\n            return",
    ),
)
