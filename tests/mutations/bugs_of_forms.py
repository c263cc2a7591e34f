"""Bugs that a reader found who asked what a browser sends from each form and page."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_FORMS = (
    Bug(
        "kept-for-another-topic",
        "A page of a former dead-letter topic creates a subscription to the present one.",
        "console/dead_letters.py",
        'if policy is None or policy.dead_letter_topic != form["dead_letter_topic"]:',
        "if policy is None:",
    ),
    Bug(
        "table-that-comes-is-a-change",
        "A form is refused as its table has come, or gone, though nobody has changed anything.",
        "console/resource_changes.py",
        "replace(table, state=None)",
        "table",
    ),
    Bug(
        "topic-called-new",
        "The page of the topic new is the form that creates one.",
        "console/topic_edit.py",
        '@router.get("/topics/_new")',
        '@router.get("/topics/new")\n@router.get("/topics/_new")',
    ),
    Bug(
        "blanks-are-not-looked-for",
        "A search for an ordering key with a blank finds the messages of another key.",
        "console/search_form.py",
        "given[name] if name in _EXACT else given.text(name)",
        "given.text(name)",
    ),
    Bug(
        "second-ends-as-it-begins",
        "A search until a second leaves out what its pages show as published in it.",
        "console/search_form.py",
        "    return time.replace(microsecond=999_999)\n",
        "    return time\n",
    ),
    Bug(
        "steps-of-another-project",
        "The first steps on the page of an empty project put a message into another one.",
        "console/overview.py",
        'if console.project != "local" else []',
        "if False else []",
    ),
    Bug(
        "lease-from-the-look",
        "The countdown of leases that were kept longer begins when the page is looked at.",
        "console/pulling.py",
        "until=until if counts",
        "until=console.at_present() + timedelta(seconds=longest) if counts",
    ),
)
